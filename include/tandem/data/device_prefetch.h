#pragma once
// DevicePrefetch: what a data loader does with its batches' tensors on their way to a CUDA device. They are copied from
// page-locked memory on a stream of their own, beside the kernels of the step before.
#include <memory>

#include "tandem/base/device.h"
#include "tandem/data/data_loader_options.h"
#include "tandem/tensor/tensor.h"

namespace tandem::data::detail {

class DevicePrefetch {
 public:
  /// What the options ask for; null where that is nothing, or there is no device to page-lock memory for. Throws
  /// DeviceError for a device that is not there.
  static std::unique_ptr<DevicePrefetch> make(const DataLoaderOptions& options);
  ~DevicePrefetch();
  DevicePrefetch(const DevicePrefetch&) = delete;
  DevicePrefetch& operator=(const DevicePrefetch&) = delete;

  /// Replaces a tensor of the host by a copy in page-locked memory. Safe on all threads.
  void pin(Tensor& t) const;
  /// False when batches stay in page-locked memory.
  bool copies() const { return copies_; }
  /// Replaces a tensor by a copy on the device, which its stream has been told to make.
  void send(Tensor& t) const;
  /// Ends a batch: what receive() waits for.
  void sent();
  /// The calling thread's stream waits for the last batch sent; the host does not.
  void wait() const;
  /// After wait(): the tensor's memory stays as long as that stream needs it.
  void receive(const Tensor& t) const;

 private:
  struct Queue;
  DevicePrefetch(Device device, bool copies);

  Device device_;
  bool copies_;
  std::unique_ptr<Queue> queue_;
};

}  // namespace tandem::data::detail
