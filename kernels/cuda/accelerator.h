#pragma once
// The CUDA backend as an Accelerator. Internal.
#include "tandem/cuda/device.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/stream.h"

namespace tandem::cuda {

class CudaAccelerator final : public Accelerator {
 public:
  // backend.cpp
  const Backend& backend() const override;

  // device.cpp
  bool is_available() const override { return cuda::is_available(); }
  const std::string& unavailable_reason() const override { return cuda::unavailable_reason(); }
  int device_count() const override { return cuda::device_count(); }
  int current_device() const override { return cuda::current_device(); }
  int exchange_device(int device) const override;
  void restore_device(int device) const noexcept override;

  // failure.cpp
  void fail(std::exception_ptr error) const noexcept override;

  // memory.cpp, pinned_memory.cpp
  void* allocate(size_t bytes) const override;
  void deallocate(void* block, Device device) const noexcept override;
  void record_stream(void* block, Device device, const Stream& stream) const override;
  std::shared_ptr<void> allocate_pinned(size_t bytes) const override;
  bool is_pinned(const void* address) const override;
  void copy_to_pinned(void* pinned, const Tensor& source) const override;

  // stream.cpp
  Stream default_stream(Device device) const override;
  Stream current_stream(Device device) const override;
  Stream exchange_stream(const Stream& stream) const override;
  Stream stream_from_pool(Device device, bool high_priority) const override;
  void synchronize_stream(const Stream& stream) const override;
  bool query_stream(const Stream& stream) const override;
  void wait_event(const Stream& stream, void* event) const override;
  void* create_event(Device device, bool enable_timing) const override;
  void destroy_event(void* event) const noexcept override;
  void record_event(void* event, const Stream& stream) const override;
  bool query_event(void* event) const override;
  void synchronize_event(void* event) const override;
  float elapsed_time(void* start, void* end) const override;
};

}  // namespace tandem::cuda
