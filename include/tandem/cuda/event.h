#pragma once
// Events: points in a stream's work that the host and other streams can wait for.
#include "tandem/cuda/stream.h"

#pragma GCC visibility push(default)
namespace tandem::cuda {

/// A point in the work of a stream. Created on the device of the first stream that records it.
class Event {
 public:
  /// `enable_timing` is needed for elapsed_time(), and makes the event slightly more expensive.
  explicit Event(bool enable_timing = false) : timing_(enable_timing) {}
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

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
  /// Returns the driver's cudaEvent_t; null before the first record().
  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
  bool timing_;
};

}  // namespace tandem::cuda
#pragma GCC visibility pop
