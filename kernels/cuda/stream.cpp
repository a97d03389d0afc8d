// Streams and events, and the current stream of each thread.
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/cuda/accelerator.h"
#include "kernels/cuda/environment.h"
#include "kernels/cuda/failure.h"
#include "kernels/cuda/runtime.h"
#include "tandem/base/check.h"
#include "tandem/base/of_thread.h"
#include "tandem/tensor/current_capture.h"

namespace tandem::cuda {
namespace {

constexpr size_t kPoolSize = 32;

cudaStream_t raw(const Stream& stream) { return static_cast<cudaStream_t>(stream.handle()); }
cudaEvent_t raw(void* event) { return static_cast<cudaEvent_t>(event); }

/// The current stream on each device of the calling thread; missing entries mean the default stream.
std::vector<void*>& current_streams() {
  return tandem::detail::of_thread([] { return std::vector<void*>(); });
}

void*& current_of(int device) {
  std::vector<void*>& streams = current_streams();
  if (streams.size() <= static_cast<size_t>(device)) streams.resize(static_cast<size_t>(device) + 1, nullptr);
  return streams[static_cast<size_t>(device)];
}

/// The answer of a query that returned `code`.
bool is_ready(const char* call, cudaError_t code) {
  if (code == cudaErrorNotReady) {
    driver().cudaGetLastError();
    return false;
  }
  check(call, code);
  throw_if_failed();
  return true;
}

/// Throws DeviceError for the code of a call whose event, stream or second event belongs to another device.
template <class... A>
void check_same_device(cudaError_t code, fmt::format_string<A...> text, A&&... values) {
  if (code != cudaErrorInvalidResourceHandle) return;
  driver().cudaGetLastError();
  TANDEM_THROW(DeviceError, text, std::forward<A>(values)...);
}

}  // namespace

// ---- streams

Stream CudaAccelerator::default_stream(Device device) const {
  return make_stream(Device(kCUDA, index_of(device)), nullptr);
}

Stream CudaAccelerator::current_stream(Device device) const {
  const int index = index_of(device);
  return make_stream(Device(kCUDA, index), current_of(index));
}

Stream CudaAccelerator::exchange_stream(const Stream& stream) const {
  return make_stream(stream.device(), std::exchange(current_of(stream.device().index()), stream.handle()));
}

void CudaAccelerator::synchronize_stream(const Stream& stream) const {
  const DeviceGuard on(stream.device());
  TANDEM_CUDA(cudaStreamSynchronize, raw(stream));
  throw_if_failed();
}

bool CudaAccelerator::query_stream(const Stream& stream) const {
  const DeviceGuard on(stream.device());
  return is_ready("cudaStreamQuery", driver().cudaStreamQuery(raw(stream)));
}

cudaStream_t current_handle() { return static_cast<cudaStream_t>(current_of(current_device())); }

bool is_capturing() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  TANDEM_CUDA(cudaStreamIsCapturing, current_handle(), &status);
  return status != cudaStreamCaptureStatusNone;
}

bool is_synchronous() {
  static const bool on = is_switched_on("TANDEM_SYNC");
  return on && !current_capture();
}

Stream CudaAccelerator::stream_from_pool(Device device, bool high_priority) const {
  struct Pool {
    std::array<cudaStream_t, kPoolSize> streams{};
    size_t next = 0;
  };
  static std::mutex mutex;
  static std::map<std::pair<int, bool>, Pool> pools;
  const int index = index_of(device);
  const DeviceGuard on(index);
  const std::lock_guard lock(mutex);
  Pool& pool = pools[{index, high_priority}];
  cudaStream_t& stream = pool.streams[pool.next++ % kPoolSize];
  if (!stream) TANDEM_CUDA(cudaStreamCreateWithPriority, &stream, cudaStreamNonBlocking, high_priority ? -1 : 0);
  return make_stream(Device(kCUDA, index), stream);
}

// ---- events

void record_or_wait(cudaEvent_t& event, cudaStream_t stream) noexcept {
  const Driver& d = driver();
  cudaEvent_t made = event;
  const bool there = event || d.cudaEventCreateWithFlags(&made, cudaEventDisableTiming) == cudaSuccess;
  if (there) event = made;
  if (there && d.cudaEventRecord(event, stream) == cudaSuccess) return;
  d.cudaGetLastError();
  const RelaxedCapture relaxed;
  d.cudaStreamSynchronize(stream);
}

bool is_done(cudaEvent_t event) noexcept {
  if (!event) return true;
  const RelaxedCapture relaxed;
  const cudaError_t code = driver().cudaEventQuery(event);
  if (code != cudaSuccess) driver().cudaGetLastError();
  return code == cudaSuccess;
}

void CudaAccelerator::wait_event(const Stream& stream, void* event) const {
  const DeviceGuard on(stream.device());
  TANDEM_CUDA(cudaStreamWaitEvent, raw(stream), raw(event), 0u);
}

void* CudaAccelerator::create_event(Device device, bool enable_timing) const {
  const DeviceGuard on(device);
  cudaEvent_t event = nullptr;
  TANDEM_CUDA(cudaEventCreateWithFlags, &event, enable_timing ? cudaEventDefault : cudaEventDisableTiming);
  return event;
}

void CudaAccelerator::destroy_event(void* event) const noexcept { driver().cudaEventDestroy(raw(event)); }

void CudaAccelerator::record_event(void* event, const Stream& stream) const {
  const DeviceGuard on(stream.device());
  const cudaError_t code = driver().cudaEventRecord(raw(event), raw(stream));
  check_same_device(code,
                    "the event was first recorded on another device than the stream's, {}; use one event per device",
                    stream.device().str());
  check("cudaEventRecord", code);
}

bool CudaAccelerator::query_event(void* event) const {
  return is_ready("cudaEventQuery", driver().cudaEventQuery(raw(event)));
}

void CudaAccelerator::synchronize_event(void* event) const {
  TANDEM_CUDA(cudaEventSynchronize, raw(event));
  throw_if_failed();
}

float CudaAccelerator::elapsed_time(void* start, void* end) const {
  float milliseconds = 0;
  const cudaError_t code = driver().cudaEventElapsedTime(&milliseconds, raw(start), raw(end));
  check_same_device(code, "the events belong to different devices; use two of the same device");
  check("cudaEventElapsedTime", code);
  return milliseconds;
}

}  // namespace tandem::cuda
