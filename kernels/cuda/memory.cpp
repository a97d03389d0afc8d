// Device memory: one CachingAllocator per device, on top of cudaMalloc. With TANDEM_NO_CACHE=1 it caches nothing.
#include "tandem/cuda/memory.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/cuda/accelerator.h"
#include "kernels/cuda/environment.h"
#include "kernels/cuda/private_pool.h"
#include "kernels/cuda/runtime.h"
#include "tandem/base/check.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {
namespace {

/// Segments from cudaMalloc on one device. Nothing here throws, since allocators run in destructors.
class DeviceMemory final : public MemorySource {
 public:
  explicit DeviceMemory(int device) : device_(device) {}
  void* allocate(size_t bytes) override {
    const QuietDeviceGuard on(device_);
    const RelaxedCapture relaxed;
    void* segment = nullptr;
    if (driver().cudaMalloc(&segment, bytes) == cudaSuccess) return segment;
    driver().cudaGetLastError();
    return nullptr;
  }
  void free(void* segment) override {
    const QuietDeviceGuard on(device_);
    const RelaxedCapture relaxed;
    driver().cudaFree(segment);
  }
  size_t available() override {
    const QuietDeviceGuard on(device_);
    size_t free = 0, total = 0;
    driver().cudaMemGetInfo(&free, &total);
    return free;
  }
  Event record(Stream stream, int device) override {
    const QuietDeviceGuard on(device < 0 ? device_ : device);
    cudaEvent_t event = nullptr;
    record_or_wait(event, static_cast<cudaStream_t>(const_cast<void*>(stream)));
    return event;
  }
  bool done(Event event) override { return is_done(static_cast<cudaEvent_t>(event)); }
  void wait(Event event) override {
    const RelaxedCapture relaxed;
    if (event) driver().cudaEventSynchronize(static_cast<cudaEvent_t>(event));
  }
  void destroy(Event event) override {
    if (event) driver().cudaEventDestroy(static_cast<cudaEvent_t>(event));
  }

 private:
  int device_;
};

/// Never destroyed: static tensors may be freed later, and the driver releases everything at exit.
std::vector<std::unique_ptr<CachingAllocator>>& allocators() {
  static auto& all = *[] {
    auto* made = new std::vector<std::unique_ptr<CachingAllocator>>;
    for (int i = 0; i < device_count(); ++i) {
      made->push_back(
          std::make_unique<CachingAllocator>(std::make_unique<DeviceMemory>(i), !is_switched_on("TANDEM_NO_CACHE")));
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

/// The calling thread's state for captures.
struct PrivateMemory {
  PrivatePool* pool = nullptr;
  std::vector<SetAside> set_aside;
};
thread_local PrivateMemory private_memory;

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

void* CudaAccelerator::allocate(size_t bytes) const {
  const int device = cuda::current_device();
  CachingAllocator::Stream stream = current_handle();
  if (private_memory.pool && private_memory.pool->device() == device) stream = private_memory.pool->key_of(stream);
  return allocator_of(device).allocate(bytes, stream);
}

// No allocator but the owner's is locked: another's may be returning memory to the driver, which waits for its device's
// work, perhaps for a collective that this thread has yet to start.
void CudaAccelerator::deallocate(void* block, Device device) const noexcept {
  CachingAllocator& owner = allocator_of(device.index());
  const PrivatePool* pool = private_memory.pool;
  if (pool && !pool->owns(owner.stream_of(block))) {
    private_memory.set_aside.push_back({block, device});
  } else {
    owner.deallocate(block);
  }
}

void CudaAccelerator::record_stream(void* block, Device device, const Stream& stream) const {
  const int owner = index_of(device), user = stream.device().index();
  allocator_of(owner).record_stream(block, stream.handle(), owner == user ? -1 : user);
}

void CudaAccelerator::copy_to_pinned(void* pinned, const Tensor& source) const {
  const DeviceGuard on(source.device());
  TANDEM_CUDA(cudaMemcpyAsync, pinned, source.raw_bytes(), source.nbytes(), cudaMemcpyDeviceToHost, current_handle());
  record_pinned(pinned, current_stream(source.device()));
}

// ---- memory of graphs

PrivatePool::~PrivatePool() {
  for (const auto& [stream, key] : keys_) allocator_of(device_).release(key);
}

CachingAllocator::Stream PrivatePool::key_of(const void* stream) {
  // Keys are odd numbers, which are not addresses of streams, above 2, since the driver uses 1 and 2 for default
  // streams.
  static std::atomic<uintptr_t> next{3};
  CachingAllocator::Stream& key = keys_[stream];
  if (!key) {
    key = reinterpret_cast<CachingAllocator::Stream>(next.fetch_add(2));
    allocator_of(device_).keep(key);
  }
  return key;
}

void begin_private_memory(PrivatePool& pool) {
  allocator_of(pool.device()).begin_capture();
  private_memory.pool = &pool;
}

std::vector<SetAside> end_private_memory() {
  allocator_of(private_memory.pool->device()).end_capture();
  private_memory.pool = nullptr;
  return std::exchange(private_memory.set_aside, {});
}

OutsidePrivateMemory::OutsidePrivateMemory() : pool_(std::exchange(private_memory.pool, nullptr)) {}
OutsidePrivateMemory::~OutsidePrivateMemory() { private_memory.pool = pool_; }

void free_set_aside(const std::vector<SetAside>& blocks, const Stream& last) {
  for (const auto& [block, device] : blocks) {
    accelerator().record_stream(block, device, last);
    accelerator().deallocate(block, device);
  }
}

}  // namespace tandem::cuda
