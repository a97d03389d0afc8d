#pragma once
// Streams: queues of work on an accelerator, and events: points in this work. Each thread has a current stream for each
// device, initially the default stream. Names are those of torch.cuda.
#include <utility>

#include "tandem/base/device.h"

#pragma GCC visibility push(default)
namespace tandem {

class Event;

/// A handle of a queue of work on one device. Copies refer to the same queue, which lives as long as the process.
class Stream {
 public:
  /// The default stream of a device. It waits for the other streams of tandem only when told to.
  explicit Stream(Device device = Device(kCUDA));
  Device device() const { return device_; }
  /// Returns the driver's stream, such as a cudaStream_t.
  void* handle() const { return handle_; }
  /// Blocks the host until all work is done. Throws BackendError if any of it failed.
  void synchronize() const;
  /// Returns true if all work is done.
  bool query() const;
  /// Makes work submitted to this stream from now on wait for the event.
  void wait_event(const Event& event) const;
  /// Makes work submitted to this stream from now on wait for the work submitted to `other` so far.
  void wait_stream(const Stream& other) const;

  friend bool operator==(const Stream& a, const Stream& b) { return a.handle_ == b.handle_ && a.device_ == b.device_; }

 private:
  friend class Accelerator;
  Stream(Device device, void* handle) : device_(device), handle_(handle) {}

  Device device_;
  void* handle_;
};

/// Returns the calling thread's current stream on a device. Index -1 means the current device.
Stream current_stream(Device device = Device(kCUDA));
/// Makes a stream the calling thread's current one on its device.
void set_current_stream(const Stream& stream);
/// Returns one of 32 streams per device and priority, in round-robin order.
Stream stream_from_pool(Device device = Device(kCUDA), bool high_priority = false);

/// Makes a stream and its device current until the end of the scope.
class StreamGuard {
 public:
  [[nodiscard]] explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  int previous_device_;
  Stream previous_;
};

/// A point in the work of a stream. Created on the device of the first stream that records it.
class Event {
 public:
  /// `enable_timing` is needed for elapsed_time(), and makes the event slightly more expensive.
  explicit Event(bool enable_timing = false) : timing_(enable_timing) {}
  ~Event();
  Event(Event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), timing_(other.timing_) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(timing_, other.timing_);
    return *this;
  }

  /// Marks the end of the work submitted to the stream so far.
  void record(const Stream& stream);
  void record() { record(current_stream()); }
  /// Makes work submitted to the stream from now on wait for this event. Does nothing before the first record().
  void block(const Stream& stream) const { stream.wait_event(*this); }
  /// Returns true if the marked work is done, or nothing was recorded.
  bool query() const;
  /// Blocks the host until the marked work is done.
  void synchronize() const;
  /// Returns the milliseconds from this event to `end`. Throws StateError unless both have timing enabled and were
  /// recorded, BackendError if the marked work is not done.
  float elapsed_time(const Event& end) const;
  /// Returns the driver's event, such as a cudaEvent_t; null before the first record().
  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
  bool timing_;
};

}  // namespace tandem
#pragma GCC visibility pop
