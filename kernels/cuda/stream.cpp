// Streams and events, and the current stream of each thread.
#include "tandem/cuda/stream.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/cuda/runtime.h"
#include "tandem/base/check.h"
#include "tandem/cuda/capture.h"
#include "tandem/cuda/event.h"

namespace tandem::cuda {
namespace {

constexpr size_t kPoolSize = 32;
constexpr const char* kWaitOutside = "do it before the capture or after a replay";

cudaStream_t raw(const Stream& stream) { return static_cast<cudaStream_t>(stream.handle()); }
cudaEvent_t raw(const Event& event) { return static_cast<cudaEvent_t>(event.handle()); }

/// The current stream on each device of the calling thread; missing entries mean the default stream.
std::vector<void*>& current_streams() {
  static thread_local std::vector<void*> streams;
  return streams;
}

void*& current_of(int device) {
  std::vector<void*>& streams = current_streams();
  if (streams.size() <= static_cast<size_t>(device)) streams.resize(static_cast<size_t>(device) + 1, nullptr);
  return streams[static_cast<size_t>(device)];
}

}  // namespace

Stream::Stream(Device device) : device_(kCUDA, index_of(device)), handle_(nullptr) {}

void Stream::synchronize() const {
  const OpScope op("Stream::synchronize");
  check_not_capturing("waiting for the device is impossible", kWaitOutside);
  const DeviceGuard on(device_);
  TANDEM_CUDA(cudaStreamSynchronize, raw(*this));
}

bool Stream::query() const {
  const OpScope op("Stream::query");
  check_not_capturing("querying the device's progress is impossible", kWaitOutside);
  const DeviceGuard on(device_);
  const cudaError_t code = driver().cudaStreamQuery(raw(*this));
  if (code == cudaErrorNotReady) {
    driver().cudaGetLastError();
    return false;
  }
  check("cudaStreamQuery", code);
  return true;
}

void Stream::wait_event(const Event& event) const {
  if (!event.handle()) return;
  const DeviceGuard on(device_);
  TANDEM_CUDA(cudaStreamWaitEvent, raw(*this), raw(event), 0u);
}

void Stream::wait_stream(const Stream& other) const {
  Event event;
  event.record(other);
  wait_event(event);
}

Stream current_stream(Device device) {
  const int index = index_of(device);
  return Stream(Device(kCUDA, index), current_of(index));
}

void set_current_stream(const Stream& stream) { current_of(stream.device().index()) = stream.handle(); }

cudaStream_t current_handle() { return static_cast<cudaStream_t>(current_of(current_device())); }

bool is_capturing() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  TANDEM_CUDA(cudaStreamIsCapturing, current_handle(), &status);
  return status != cudaStreamCaptureStatusNone;
}

bool is_synchronous() {
  static const bool on = [] {
    const char* text = std::getenv("TANDEM_SYNC");
    return text && *text && std::string(text) != "0";
  }();
  return on && !current_capture();
}

Stream stream_from_pool(Device device, bool high_priority) {
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
  return Stream(Device(kCUDA, index), stream);
}

StreamGuard::StreamGuard(const Stream& stream)
    : previous_(current_stream(stream.device())), previous_device_(current_device()) {
  if (previous_device_ != stream.device().index()) set_device(stream.device().index());
  set_current_stream(stream);
}

StreamGuard::~StreamGuard() {
  current_of(previous_.device().index()) = previous_.handle();
  driver().cudaSetDevice(previous_device_);
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

Event::~Event() {
  if (handle_) driver().cudaEventDestroy(raw(*this));
}

Event::Event(Event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), timing_(other.timing_) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(timing_, other.timing_);
  return *this;
}

void Event::record(const Stream& stream) {
  const DeviceGuard on(stream.device());
  if (!handle_) {
    cudaEvent_t event = nullptr;
    TANDEM_CUDA(cudaEventCreateWithFlags, &event, timing_ ? cudaEventDefault : cudaEventDisableTiming);
    handle_ = event;
  }
  TANDEM_CUDA(cudaEventRecord, raw(*this), raw(stream));
}

bool Event::query() const {
  const OpScope op("Event::query");
  if (!handle_) return true;
  check_not_capturing("querying the device's progress is impossible", kWaitOutside);
  const cudaError_t code = driver().cudaEventQuery(raw(*this));
  if (code == cudaErrorNotReady) {
    driver().cudaGetLastError();
    return false;
  }
  check("cudaEventQuery", code);
  return true;
}

void Event::synchronize() const {
  const OpScope op("Event::synchronize");
  check_not_capturing("waiting for the device is impossible", kWaitOutside);
  if (handle_) TANDEM_CUDA(cudaEventSynchronize, raw(*this));
}

float Event::elapsed_time(const Event& end) const {
  const OpScope op("elapsed_time");
  TANDEM_CHECK(timing_ && end.timing_ && handle_ && end.handle_, StateError,
               "both events must be created with enable_timing = true and recorded");
  float milliseconds = 0;
  TANDEM_CUDA(cudaEventElapsedTime, &milliseconds, raw(*this), raw(end));
  return milliseconds;
}

}  // namespace tandem::cuda
