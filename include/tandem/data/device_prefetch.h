#pragma once
// DevicePrefetch: moves the tensors of a data loader's batches to a CUDA device. They are copied from page-locked
// memory on a separate stream, concurrently with the kernels of the previous step.
#include <memory>

#include "tandem/base/device.h"
#include "tandem/data/data_loader_options.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::data::detail {

/// Page-locks the tensors of batches and, if requested, copies them to a device.
class DevicePrefetch {
 public:
  /// Returns null if the options request neither prefetch_to a CUDA device nor pin_memory, or only pin_memory and no
  /// CUDA device is available. Throws DeviceError if the device of prefetch_to does not exist.
  static std::unique_ptr<DevicePrefetch> make(const DataLoaderOptions& options);
  ~DevicePrefetch();
  DevicePrefetch(const DevicePrefetch&) = delete;
  DevicePrefetch& operator=(const DevicePrefetch&) = delete;

  /// Replaces a host tensor by a copy in page-locked memory. Thread-safe.
  void pin(Tensor& t) const;
  /// False when batches stay in page-locked memory.
  bool copies() const { return copies_; }
  /// Replaces a tensor by a copy on the device; the copy is asynchronous, on the prefetch stream.
  void send(Tensor& t) const;
  /// Marks the end of a batch, for wait().
  void sent();
  /// Makes the calling thread's current stream wait for the last batch sent. The host does not wait.
  void wait() const;
  /// Call after wait(): keeps the tensor's memory from reuse until the current stream's work on it is done.
  void receive(const Tensor& t) const;

 private:
  struct Queue;
  DevicePrefetch(Device device, bool copies);

  Device device_;
  bool copies_;
  std::unique_ptr<Queue> queue_;
};

}  // namespace tandem::data::detail
#pragma GCC visibility pop
