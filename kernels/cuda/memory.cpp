// Device memory: one CachingAllocator for each device over cudaMalloc.
#include "tandem/cuda/memory.h"

#include <vector>

#include "kernels/cuda/caching_allocator.h"
#include "kernels/cuda/runtime.h"
#include "tandem/base/check.h"

namespace tandem::cuda {
namespace {

/// Segments from cudaMalloc on one device. Nothing here throws: allocators run in destructors.
class DeviceMemory final : public MemorySource {
 public:
  explicit DeviceMemory(int device) : device_(device) {}
  void* allocate(size_t bytes) override {
    const DeviceGuard on(device_);
    void* segment = nullptr;
    if (driver().cudaMalloc(&segment, bytes) == cudaSuccess) return segment;
    driver().cudaGetLastError();
    return nullptr;
  }
  void free(void* segment) override {
    const DeviceGuard on(device_);
    driver().cudaFree(segment);
  }
  size_t available() override {
    const DeviceGuard on(device_);
    size_t free = 0, total = 0;
    driver().cudaMemGetInfo(&free, &total);
    return free;
  }
  Event record(Stream stream) override {
    const DeviceGuard on(device_);
    cudaEvent_t event = nullptr;
    driver().cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    driver().cudaEventRecord(event, static_cast<cudaStream_t>(const_cast<void*>(stream)));
    return event;
  }
  bool done(Event event) override {
    if (driver().cudaEventQuery(static_cast<cudaEvent_t>(event)) != cudaErrorNotReady) return true;
    driver().cudaGetLastError();
    return false;
  }
  void wait(Event event) override { driver().cudaEventSynchronize(static_cast<cudaEvent_t>(event)); }
  void destroy(Event event) override { driver().cudaEventDestroy(static_cast<cudaEvent_t>(event)); }

 private:
  int device_;
};

/// Never destroyed: static tensors may be freed after it would be, and the driver takes everything back at exit.
std::vector<std::unique_ptr<CachingAllocator>>& allocators() {
  static auto& all = *[] {
    auto* made = new std::vector<std::unique_ptr<CachingAllocator>>;
    for (int i = 0; i < device_count(); ++i) {
      made->push_back(std::make_unique<CachingAllocator>(std::make_unique<DeviceMemory>(i)));
    }
    return made;
  }();
  return all;
}

CachingAllocator& allocator_of(int device) { return *allocators()[static_cast<size_t>(device)]; }

AllocatorStats stats_of(int device) {
  if (!is_available()) return {};
  return allocator_of(index_of(Device(kCUDA, device))).stats();
}

}  // namespace

AllocatorStats memory_stats(int device) { return stats_of(device); }
int64_t memory_allocated(int device) { return stats_of(device).allocated_bytes; }
int64_t max_memory_allocated(int device) { return stats_of(device).max_allocated_bytes; }
int64_t memory_reserved(int device) { return stats_of(device).reserved_bytes; }
int64_t max_memory_reserved(int device) { return stats_of(device).max_reserved_bytes; }
void reset_peak_memory_stats(int device) {
  if (is_available()) allocator_of(index_of(Device(kCUDA, device))).reset_peak_stats();
}
void empty_cache() {
  for (const auto& allocator : allocators()) allocator->empty_cache();
}
std::pair<size_t, size_t> mem_get_info(int device) {
  if (!is_available()) return {0, 0};
  const DeviceGuard on(index_of(Device(kCUDA, device)));
  size_t free = 0, total = 0;
  TANDEM_CUDA(cudaMemGetInfo, &free, &total);
  return {free, total};
}

void* allocate(size_t bytes) { return allocator_of(current_device()).allocate(bytes, current_handle()); }

void deallocate(void* block) noexcept {
  for (const auto& allocator : allocators()) {
    if (allocator->deallocate(block)) return;
  }
}

void record_stream(void* block, const Stream& stream) {
  allocator_of(stream.device().index()).record_stream(block, stream.handle());
}

void copy_to_pinned(void* to, const void* from, size_t bytes) {
  TANDEM_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToHost, current_handle());
}

}  // namespace tandem::cuda
