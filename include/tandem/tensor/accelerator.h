#pragma once
// Accelerator: what code outside kernels/ asks of the accelerator, besides kernels (backend.h): devices, memory,
// streams and events. Internal: programs use the functions of tandem/cuda.
#include <cstddef>
#include <exception>
#include <memory>
#include <string>

#include "tandem/base/device.h"

#pragma GCC visibility push(default)
namespace tandem {

struct Backend;
class Stream;
class Tensor;

/// The services of one type of device other than the CPU. A device index of -1 means the current device. Modelled on
/// c10::impl::DeviceGuardImplInterface and at::AcceleratorHooksInterface.
class Accelerator {
 public:
  /// The kernels.
  virtual const Backend& backend() const = 0;

  // ---- devices
  /// Returns true if the build supports the accelerator and a usable device is present.
  virtual bool is_available() const = 0;
  /// Returns one sentence that says why no device is available. Empty when one is.
  virtual const std::string& unavailable_reason() const = 0;
  /// Throws DeviceError, which says why there is no device.
  [[noreturn]] void throw_unavailable() const;
  /// Calls throw_unavailable unless a device is available.
  void check_available() const {
    if (!is_available()) throw_unavailable();
  }
  /// The number of devices; 0 if none is available.
  virtual int device_count() const = 0;
  /// Returns the index of the calling thread's current device. Throws DeviceError if no device is available.
  virtual int current_device() const = 0;
  /// Sets the calling thread's current device, and returns the previous one. Throws DeviceError if there is no device
  /// with this index.
  virtual int exchange_device(int device) const = 0;
  /// Sets the current device to an index from exchange_device().
  virtual void restore_device(int device) const noexcept = 0;

  /// Makes all later waits of the host for a device throw `error`, because results on the devices are undefined: a
  /// communication between them was aborted. Null ends that.
  virtual void fail(std::exception_ptr error) const noexcept = 0;

  // ---- memory
  /// Allocates at least `bytes` bytes on the current device, aligned to 512 bytes, for work on the current stream. If
  /// that fails, returns cached blocks to the driver and tries again. Throws OutOfMemoryError with the requested, free,
  /// reserved and allocated bytes.
  virtual void* allocate(size_t bytes) const = 0;
  /// Frees a block that allocate() returned for `device`. Work on the stream that it was allocated for may still use
  /// it.
  virtual void deallocate(void* block, Device device) const noexcept = 0;
  /// Records that `stream` also uses a block of `device`: after deallocate(), the block is reused only when that work
  /// is done.
  virtual void record_stream(void* block, Device device, const Stream& stream) const = 0;
  /// Allocates page-locked host memory from a cache. Copies from and to it can run asynchronously to the host. Throws
  /// OutOfMemoryError.
  virtual std::shared_ptr<void> allocate_pinned(size_t bytes) const = 0;
  /// Returns true for an address in a block of allocate_pinned().
  virtual bool is_pinned(const void* address) const = 0;
  /// Copies the elements of a contiguous tensor to page-locked memory, on the current stream of its device and without
  /// waiting: record an event after it to learn when they have arrived. The block may be freed before that.
  virtual void copy_to_pinned(void* pinned, const Tensor& source) const = 0;

  // ---- streams and events. tensor/stream.h documents them; an event is a handle of the driver, never null.
  /// The default stream of a device, and the calling thread's current one.
  virtual Stream default_stream(Device device) const = 0;
  virtual Stream current_stream(Device device) const = 0;
  /// Makes a stream current on its device, and returns the previous one.
  virtual Stream exchange_stream(const Stream& stream) const = 0;
  /// The functions of Stream and Event that have these names.
  virtual Stream stream_from_pool(Device device, bool high_priority) const = 0;
  virtual void synchronize_stream(const Stream& stream) const = 0;
  virtual bool query_stream(const Stream& stream) const = 0;
  virtual void wait_event(const Stream& stream, void* event) const = 0;
  virtual void* create_event(Device device, bool enable_timing) const = 0;
  virtual void destroy_event(void* event) const noexcept = 0;
  virtual void record_event(void* event, const Stream& stream) const = 0;
  virtual bool query_event(void* event) const = 0;
  virtual void synchronize_event(void* event) const = 0;
  virtual float elapsed_time(void* start, void* end) const = 0;

 protected:
  // Not virtual, so that the objects need no destruction: static tensors may be freed after them.
  ~Accelerator() = default;
  /// A stream of the driver on a device whose index is given.
  static Stream make_stream(Device device, void* handle);
};

/// Returns the accelerator of this build. kernels/cuda defines it, or kernels/none in a build without CUDA.
const Accelerator& accelerator();

}  // namespace tandem
#pragma GCC visibility pop
