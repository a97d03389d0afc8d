// The CUDA backend of a build without CUDA: all slots are empty and no device is available.
#include <array>

#include "tandem/backend.h"
#include "tandem/cuda/checks.h"
#include "tandem/cuda/event.h"
#include "tandem/cuda/graph.h"
#include "tandem/cuda/memory.h"

namespace tandem::cuda {

const Backend& backend() {
  static constexpr Backend empty = [] {
    Backend table;
    table.device = kCUDA;
    return table;
  }();
  return empty;
}

// ---- device.h
bool is_available() { return false; }
const std::string& unavailable_reason() {
  static const std::string reason = "this build has no CUDA backend";
  return reason;
}
int device_count() { return 0; }
int current_device() { throw_unavailable("current_device"); }
void set_device(int) { throw_unavailable("set_device"); }
void synchronize() { throw_unavailable("synchronize"); }
const DeviceProperties& get_device_properties(int) { throw_unavailable("get_device_properties"); }
DeviceGuard::DeviceGuard(Device device) {
  if (device.is_cuda() && device.index() >= 0) throw_unavailable("DeviceGuard");
}
DeviceGuard::~DeviceGuard() = default;

// ---- stream.h, event.h
Stream::Stream(Device) : handle_(nullptr) { throw_unavailable("Stream"); }
void Stream::synchronize() const {}
bool Stream::query() const { return true; }
void Stream::wait_event(const Event&) const {}
void Stream::wait_stream(const Stream&) const {}
Stream current_stream(Device device) { return Stream(device); }
void set_current_stream(const Stream&) {}
Stream stream_from_pool(Device device, bool) { return Stream(device); }
StreamGuard::StreamGuard(const Stream& stream) : previous_(stream), previous_device_(0) {}
StreamGuard::~StreamGuard() = default;
Event::~Event() = default;
Event::Event(Event&& other) noexcept = default;
Event& Event::operator=(Event&& other) noexcept = default;
void Event::record(const Stream&) {}
bool Event::query() const { return true; }
void Event::synchronize() const {}
float Event::elapsed_time(const Event&) const { throw_unavailable("elapsed_time"); }

// ---- memory.h
AllocatorStats memory_stats(int) { return {}; }
int64_t memory_allocated(int) { return 0; }
int64_t max_memory_allocated(int) { return 0; }
int64_t memory_reserved(int) { return 0; }
int64_t max_memory_reserved(int) { return 0; }
void reset_peak_memory_stats(int) {}
void empty_cache() {}
std::pair<size_t, size_t> mem_get_info(int) { return {0, 0}; }
void* allocate(size_t) { throw_unavailable("allocate"); }
void deallocate(void*) noexcept {}
void record_stream(void*, const Stream&) {}
std::shared_ptr<void> allocate_pinned(size_t) { throw_unavailable("allocate_pinned"); }
bool is_pinned(const void*) { return false; }
void record_pinned(const void*, const Stream&) {}
void copy_to_pinned(void*, const Tensor&) { throw_unavailable("copy_to_pinned"); }

// ---- graph.h
struct CUDAGraph::Impl {};
MempoolId_t graph_pool_handle() { return {}; }
bool is_current_stream_capturing() { return false; }
CUDAGraph::CUDAGraph() = default;
CUDAGraph::~CUDAGraph() = default;
CUDAGraph::CUDAGraph(CUDAGraph&&) noexcept = default;
CUDAGraph& CUDAGraph::operator=(CUDAGraph&&) noexcept = default;
void CUDAGraph::capture_begin(MempoolId_t, CaptureMode) { throw_unavailable("capture_begin"); }
void CUDAGraph::capture_end() { throw_unavailable("capture_end"); }
void CUDAGraph::capture(const std::function<void()>&, MempoolId_t, CaptureMode) { throw_unavailable("capture"); }
void CUDAGraph::replay() { throw_unavailable("replay"); }
void CUDAGraph::reset() {}
MempoolId_t CUDAGraph::pool() const { throw_unavailable("pool"); }
int64_t CUDAGraph::num_nodes() const { throw_unavailable("num_nodes"); }

}  // namespace tandem::cuda
