#pragma once
// Device: where a tensor's memory is and where its kernels run.
#include <cstddef>
#include <cstdint>
#include <string>

#pragma GCC visibility push(default)
namespace tandem {

/// The kinds of devices.
enum class DeviceType : int8_t { CPU, CUDA };
/// The number of DeviceType values, for arrays.
inline constexpr int kNumDeviceTypes = 2;
/// libtorch's names for the device types.
inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kCUDA = DeviceType::CUDA;

/// "cpu" or "cuda".
constexpr const char* name(DeviceType t) { return t == DeviceType::CPU ? "cpu" : "cuda"; }

/// libtorch's name for the type of an index.
using DeviceIndex = int8_t;

/// A device type and a device index; index -1 means the current device of that type.
class Device {
 public:
  constexpr Device() = default;
  /// Throws DeviceError for an index outside [-1, 127].
  constexpr Device(DeviceType type, int index = -1) : type_(type), index_(static_cast<int8_t>(index)) {
    if (index < -1 || index > 127) throw_bad_index(index);
  }
  /// Parses "cpu", "cuda" or a name with an index such as "cuda:1". Throws DeviceError for anything else.
  Device(const std::string& text);
  Device(const char* text) : Device(std::string(text)) {}

  constexpr DeviceType type() const { return type_; }
  constexpr int index() const { return index_; }
  constexpr bool has_index() const { return index_ != -1; }
  /// Throws DeviceError for an index outside [-1, 127].
  constexpr void set_index(int index) { *this = Device(type_, index); }
  constexpr bool is_cpu() const { return type_ == DeviceType::CPU; }
  constexpr bool is_cuda() const { return type_ == DeviceType::CUDA; }
  /// The name, with the index unless that is -1: "cpu", "cuda:0".
  std::string str() const;

  /// CPU devices are equal whatever their indices. CUDA devices are equal if their indices are; -1 equals only -1.
  friend constexpr bool operator==(const Device& a, const Device& b) {
    return a.type_ == b.type_ && (a.type_ == DeviceType::CPU || a.index_ == b.index_);
  }

 private:
  [[noreturn]] static void throw_bad_index(int index);

  DeviceType type_ = DeviceType::CPU;
  int8_t index_ = -1;
};

}  // namespace tandem

template <>
struct std::hash<tandem::Device> {
  size_t operator()(const tandem::Device& device) const noexcept {
    return device.is_cpu() ? 0 : static_cast<size_t>(device.index() + 2);
  }
};
#pragma GCC visibility pop
