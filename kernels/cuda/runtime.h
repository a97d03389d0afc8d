#pragma once
// What the CUDA backend keeps for a process and a thread: devices, current streams, the allocators. Internal.
#include "kernels/cuda/driver.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/stream.h"

namespace tandem::cuda {

/// The index of a CUDA device, with -1 as the current one.
int index_of(Device device);
/// The driver's handle of the calling thread's current stream on the current device.
cudaStream_t current_handle();
/// True with TANDEM_SYNC=1 in the environment: every launch is followed by a wait, so that an error is reported by the
/// op at fault. False while a graph is captured, where nothing can be waited for.
bool is_synchronous();
/// True while the current stream is captured into a graph, by tandem or by the program itself: then nothing may be
/// waited for, and no event be asked.
bool is_capturing();

/// While it lives, calls that a capture on any thread forbids are allowed on this one: for those that no graph is to
/// repeat.
class [[nodiscard]] RelaxedCapture {
 public:
  RelaxedCapture() { driver().cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { driver().cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// A DeviceGuard that does not throw.
class [[nodiscard]] QuietDeviceGuard {
 public:
  explicit QuietDeviceGuard(int device) : device_(device) {
    driver().cudaGetDevice(&previous_);
    if (previous_ != device_) driver().cudaSetDevice(device_);
  }
  ~QuietDeviceGuard() {
    if (previous_ != device_) driver().cudaSetDevice(previous_);
  }
  QuietDeviceGuard(const QuietDeviceGuard&) = delete;
  QuietDeviceGuard& operator=(const QuietDeviceGuard&) = delete;

 private:
  int device_, previous_ = 0;
};

// Events of the caches of memory. They are asked while other threads capture, and from destructors: these never throw.

/// Puts the event behind what the stream of the current device has been given; makes it when it is null. Where the
/// driver cannot, the host waits for the stream instead.
void record_or_wait(cudaEvent_t& event, cudaStream_t stream) noexcept;
/// True when the work before the event is done, and for null. An error says nothing of the work: false.
bool is_done(cudaEvent_t event) noexcept;

}  // namespace tandem::cuda
