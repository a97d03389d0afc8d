#pragma once
// Streams: queues of work on a CUDA device. Each thread has a current stream for each device, initially the default
// stream. Names are those of torch.cuda.
#include "tandem/base/device.h"

#pragma GCC visibility push(default)
namespace tandem::cuda {

class Event;

/// A handle of a queue of work on one device. Copies refer to the same queue, which lives as long as the process.
class Stream {
 public:
  /// The default stream of a device. It waits for the other streams of tandem only when told to.
  explicit Stream(Device device = Device(kCUDA));
  Device device() const { return device_; }
  /// Returns the driver's cudaStream_t.
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
  friend Stream stream_from_pool(Device device, bool high_priority);
  friend Stream current_stream(Device device);
  Stream(Device device, void* handle) : device_(device), handle_(handle) {}

  Device device_;
  void* handle_;
};

/// Returns the calling thread's current stream on a device. Index -1 means the current device.
Stream current_stream(Device device = Device(kCUDA));
void set_current_stream(const Stream& stream);
/// Returns one of 32 streams per device and priority, in round-robin order.
Stream stream_from_pool(Device device = Device(kCUDA), bool high_priority = false);

/// Makes a stream and its device current until the end of the scope.
class [[nodiscard]] StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Stream previous_;
  int previous_device_;
};

}  // namespace tandem::cuda
#pragma GCC visibility pop
