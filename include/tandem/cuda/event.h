#pragma once
// Events: points in a stream's work that the host and other streams can wait for.
#include "tandem/cuda/stream.h"

namespace tandem::cuda {

/// A point in the work of a stream. Made on the device of the stream that records it first.
class Event {
 public:
  /// `enable_timing`: for elapsed_time(); costs a little more.
  explicit Event(bool enable_timing = false) : timing_(enable_timing) {}
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  /// Marks what the stream has been given so far.
  void record(const Stream& stream);
  void record() { record(current_stream()); }
  /// Work given to the stream from now on waits for this event; nothing happens before the first record().
  void block(const Stream& stream) const { stream.wait_event(*this); }
  /// True when the marked work is done, or nothing was recorded.
  bool query() const;
  /// Waits on the host for the marked work.
  void synchronize() const;
  /// Milliseconds between two events, both recorded with timing and done. Throws StateError otherwise.
  float elapsed_time(const Event& end) const;
  /// The driver's cudaEvent_t; null before the first record().
  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
  bool timing_;
};

}  // namespace tandem::cuda
