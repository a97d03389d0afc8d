#pragma once
// Process and thread state of the CUDA backend: devices, current streams, allocators. Internal.
#include "kernels/cuda/driver.h"
#include "tandem/base/dtype.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/stream.h"

namespace tandem::cuda {

/// The index of a CUDA device; -1 means the current one.
int index_of(Device device);
/// Throws NotImplementedError if the device has no instructions that multiply matrices of this dtype.
void check_multiplies(DType dtype, Device device);
/// The driver's handle of the calling thread's current stream on the current device.
cudaStream_t current_handle();
/// True if TANDEM_SYNC=1 is set in the environment: every launch is followed by a wait, so that errors are reported by
/// the op that caused them. False during a capture, where waiting is impossible.
bool is_synchronous();
/// True while the current stream is captured into a graph, by tandem or by the program itself: then waiting and
/// querying events are not allowed.
bool is_capturing();

/// Records that work submitted to `stream` so far uses the page-locked block that contains `address`: once freed, the
/// block is reused only when that work is done. Does nothing for other addresses.
void record_pinned(const void* address, const Stream& stream);

/// During its lifetime, this thread may make calls that a capture on any thread forbids. For calls that no graph needs
/// to repeat.
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

// Events of the memory caches. They are queried while other threads capture, and from destructors: these functions
// never throw.

/// Records the event after the current work of the stream, on the current device; creates the event if it is null. If
/// the driver fails, waits for the stream instead.
void record_or_wait(cudaEvent_t& event, cudaStream_t stream) noexcept;
/// True if the work before the event is done, and for null. False on errors, which say nothing about the work.
bool is_done(cudaEvent_t event) noexcept;

}  // namespace tandem::cuda
