// Devices: the available ones, and the current one of each thread.
#include "tandem/cuda/device.h"

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/cuda/accelerator.h"
#include "kernels/cuda/failure.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/runtime.h"
#include "tandem/base/check.h"
#include "tandem/tensor/current_capture.h"

namespace tandem::cuda {
namespace {

struct Devices {
  std::vector<DeviceProperties> all;
  std::vector<int> threads;           ///< the maximum number of resident threads per device
  std::vector<std::string> refusals;  ///< per device: why this build has no code for it. Empty: it has
  std::string reason;                 ///< why no device can be used
};

std::string version(int v) { return fmt::format("{}.{}", v / 1000, v % 1000 / 10); }

std::string refusal_of(const DeviceProperties& p) {
  const int least = driver().least_architecture;
  if (p.major * 10 + p.minor >= least) return "";
  return fmt::format("{} has compute capability {}.{}, but this build has code for {}.{} and above", p.name, p.major,
                     p.minor, least / 10, least % 10);
}

/// Finds the devices. If none can be used, there are none, and `reason` says why.
Devices find_devices() {
  Devices devices;
  int driver_version = 0, runtime_version = 0, count = 0;
  driver().cudaDriverGetVersion(&driver_version);
  driver().cudaRuntimeGetVersion(&runtime_version);
  if (driver_version == 0) {
    devices.reason = "no NVIDIA driver is installed";
    return devices;
  }
  if (driver_version / 1000 < runtime_version / 1000) {
    devices.reason = fmt::format("the NVIDIA driver supports CUDA {}, but this build needs {}; update the driver",
                                 version(driver_version), version(runtime_version));
    return devices;
  }
  const cudaError_t code = driver().cudaGetDeviceCount(&count);
  if (code != cudaSuccess || count == 0) {
    driver().cudaGetLastError();
    devices.reason = code == cudaSuccess || code == cudaErrorNoDevice
                         ? std::string("no CUDA device is present or visible (CUDA_VISIBLE_DEVICES)")
                         : fmt::format("the CUDA runtime found no device: {} ({})", ::cudaGetErrorName(code),
                                       ::cudaGetErrorString(code));
    return devices;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p{};
    TANDEM_CUDA(cudaGetDeviceProperties, &p, i);
    devices.all.push_back({p.name, p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem});
    devices.threads.push_back(p.multiProcessorCount * p.maxThreadsPerMultiProcessor);
    devices.refusals.push_back(refusal_of(devices.all.back()));
  }
  if (std::ranges::none_of(devices.refusals, &std::string::empty)) {
    devices.reason = devices.refusals[0];
    devices.all.clear();
  }
  return devices;
}

const Devices& devices() {
  static const Devices found = find_devices();
  return found;
}

const Devices& present() {
  if (devices().all.empty()) accelerator().throw_unavailable();
  return devices();
}

int checked_index(const char* call, int device) {
  const auto count = static_cast<int>(present().all.size());
  const OpScope op(call);
  TANDEM_CHECK(device >= 0 && device < count, DeviceError, "there is no CUDA device {}; use one in [0, {}]", device,
               count - 1);
  return device;
}

/// The index of a device for which this build has code.
int usable_index(const char* call, int device) {
  const std::string& refusal = devices().refusals[static_cast<size_t>(checked_index(call, device))];
  if (refusal.empty()) return device;
  const OpScope op(call);
  TANDEM_THROW(DeviceError, "cuda:{} cannot be used: {}; use another device, or hide this one by CUDA_VISIBLE_DEVICES",
               device, refusal);
}

}  // namespace

bool is_available() { return !devices().all.empty(); }
const std::string& unavailable_reason() { return devices().reason; }
int device_count() { return static_cast<int>(devices().all.size()); }

int current_device() {
  present();
  int device = 0;
  TANDEM_CUDA(cudaGetDevice, &device);
  return device;
}

void set_device(int device) { TANDEM_CUDA(cudaSetDevice, usable_index("set_device", device)); }

void synchronize() {
  const OpScope op("synchronize");
  present();
  check_not_capturing("waiting for the device is impossible", "do it before the capture or after a replay");
  TANDEM_CUDA(cudaDeviceSynchronize);
  throw_if_failed();
}

const DeviceProperties& get_device_properties(int device) {
  return devices().all[static_cast<size_t>(checked_index("get_device_properties", device))];
}

int index_of(Device device) { return usable_index("Device", device.index() >= 0 ? device.index() : current_device()); }

void check_multiplies(DType dtype, Device device) {
  if (dtype != kBFloat16) return;
  const DeviceProperties& p = devices().all[static_cast<size_t>(index_of(device))];
  TANDEM_CHECK(p.major >= 8, NotImplementedError,
               "products and convolutions of bf16 need compute capability 8.0, and {} has {}.{}; use f16, which is "
               "AutocastGuard's default on CUDA, with a GradScaler",
               p.name, p.major, p.minor);
}

int resident_blocks(int threads_per_block) {
  return devices().threads[static_cast<size_t>(current_device())] / threads_per_block;
}

int CudaAccelerator::exchange_device(int device) const {
  const int previous = cuda::current_device();
  if (previous != device) set_device(device);
  return previous;
}

void CudaAccelerator::restore_device(int device) const noexcept { driver().cudaSetDevice(device); }

}  // namespace tandem::cuda

namespace tandem {

const Accelerator& accelerator() {
  static constinit const cuda::CudaAccelerator instance{};
  return instance;
}

}  // namespace tandem
