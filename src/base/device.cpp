// Names of devices.
#include "tandem/base/device.h"

#include "tandem/base/check.h"

namespace tandem {

Device::Device(const std::string& text) {
  const OpScope op("Device");
  const size_t colon = text.find(':');
  const std::string type = text.substr(0, colon);
  bool good = type == "cpu" || type == "cuda";
  if (colon != std::string::npos) {
    const std::string digits = text.substr(colon + 1);
    good = good && !digits.empty() && digits.size() <= 3 && digits.find_first_not_of("0123456789") == std::string::npos;
    const int index = good ? std::stoi(digits) : 0;
    good = good && index <= 127;
    index_ = static_cast<int8_t>(index);
  }
  TANDEM_CHECK(good, DeviceError, "'{}' is not a device; use \"cpu\", \"cuda\" or \"cuda:N\" with N up to 127", text);
  type_ = type == "cuda" ? DeviceType::CUDA : DeviceType::CPU;
}

void Device::throw_bad_index(int index) {
  const OpScope op("Device");
  TANDEM_THROW(DeviceError, "index {} is out of range; use one in [0, 127], or -1 for the current device", index);
}

std::string Device::str() const {
  return index_ < 0 ? std::string(name(type_)) : fmt::format("{}:{}", name(type_), index_);
}

}  // namespace tandem
