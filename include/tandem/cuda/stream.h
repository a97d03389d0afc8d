#pragma once
// Streams: queues of work on a CUDA device. Each thread has a current stream for each device, at first the default one.
// Named as in torch.cuda.
#include "tandem/base/device.h"

namespace tandem::cuda {

class Event;

/// A queue of work on one device. A handle: copies stand for the same queue, which lives as long as the process.
class Stream {
 public:
  /// The default stream of a device, which waits for the other streams of tandem only when told to.
  explicit Stream(Device device = Device(kCUDA));
  Device device() const { return device_; }
  /// The driver's cudaStream_t.
  void* handle() const { return handle_; }
  /// Waits on the host until all work is done. Throws BackendError when some of it failed.
  void synchronize() const;
  /// True when all work is done.
  bool query() const;
  /// Work given to this stream from now on waits for the event.
  void wait_event(const Event& event) const;
  /// Work given to this stream from now on waits for what `other` has been given so far.
  void wait_stream(const Stream& other) const;

  friend bool operator==(const Stream& a, const Stream& b) { return a.handle_ == b.handle_ && a.device_ == b.device_; }

 private:
  friend Stream stream_from_pool(Device device, bool high_priority);
  friend Stream current_stream(Device device);
  Stream(Device device, void* handle) : device_(device), handle_(handle) {}

  Device device_;
  void* handle_;
};

/// The stream that the calling thread's work on a device goes to. Index -1: the current device.
Stream current_stream(Device device = Device(kCUDA));
void set_current_stream(const Stream& stream);
/// One of 32 streams of a device, handed out in turn.
Stream stream_from_pool(Device device = Device(kCUDA), bool high_priority = false);

/// Makes a stream the current one, and its device, until the end of the scope.
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
