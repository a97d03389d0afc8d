// What replaces the CUDA backend in a build without CUDA: an accelerator that has no device.
#include "tandem/backend.h"
#include "tandem/base/op_scope.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/graph.h"
#include "tandem/cuda/memory.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/stream.h"

namespace tandem {
namespace {

/// Throws the error that `call` needs a device.
[[noreturn]] void refuse(const char* call) {
  const OpScope op(call);
  accelerator().throw_unavailable();
}

class NoAccelerator final : public Accelerator {
 public:
  const Backend& backend() const override { refuse("backend"); }

  bool is_available() const override { return false; }
  const std::string& unavailable_reason() const override {
    static const std::string reason = "this build has no CUDA backend";
    return reason;
  }
  int device_count() const override { return 0; }
  int current_device() const override { refuse("current_device"); }
  int exchange_device(int) const override { refuse("set_device"); }
  void restore_device(int) const noexcept override {}

  void fail(std::exception_ptr) const noexcept override {}

  void* allocate(size_t) const override { refuse("allocate"); }
  void deallocate(void*, Device) const noexcept override {}
  void record_stream(void*, Device, const Stream&) const override {}
  std::shared_ptr<void> allocate_pinned(size_t) const override { refuse("allocate_pinned"); }
  bool is_pinned(const void*) const override { return false; }
  void copy_to_pinned(void*, const Tensor&) const override { refuse("copy_to_pinned"); }

  Stream default_stream(Device) const override { refuse("Stream"); }
  Stream current_stream(Device) const override { refuse("current_stream"); }
  Stream exchange_stream(const Stream& stream) const override { return stream; }
  Stream stream_from_pool(Device, bool) const override { refuse("stream_from_pool"); }
  void synchronize_stream(const Stream&) const override {}
  bool query_stream(const Stream&) const override { return true; }
  void wait_event(const Stream&, void*) const override {}
  void* create_event(Device, bool) const override { refuse("Event"); }
  void destroy_event(void*) const noexcept override {}
  void record_event(void*, const Stream&) const override {}
  bool query_event(void*) const override { return true; }
  void synchronize_event(void*) const override {}
  float elapsed_time(void*, void*) const override { refuse("elapsed_time"); }
};

}  // namespace

const Accelerator& accelerator() {
  static constinit const NoAccelerator instance{};
  return instance;
}

}  // namespace tandem

namespace tandem::cuda {
// ---- device.h
bool is_available() { return false; }
const std::string& unavailable_reason() { return accelerator().unavailable_reason(); }
int device_count() { return 0; }
int current_device() { refuse("current_device"); }
void set_device(int) { refuse("set_device"); }
void synchronize() { refuse("synchronize"); }
const DeviceProperties& get_device_properties(int) { refuse("get_device_properties"); }

// ---- memory.h
AllocatorStats memory_stats(int) { return {}; }
int64_t memory_allocated(int) { return 0; }
int64_t max_memory_allocated(int) { return 0; }
int64_t memory_reserved(int) { return 0; }
int64_t max_memory_reserved(int) { return 0; }
void reset_peak_memory_stats(int) {}
void empty_cache() {}
std::pair<size_t, size_t> mem_get_info(int) { return {0, 0}; }

// ---- graph.h
struct CUDAGraph::Impl {};
MempoolId_t graph_pool_handle() { return {}; }
bool is_current_stream_capturing() { return false; }
CUDAGraph::CUDAGraph() = default;
CUDAGraph::~CUDAGraph() = default;
CUDAGraph::CUDAGraph(CUDAGraph&&) noexcept = default;
CUDAGraph& CUDAGraph::operator=(CUDAGraph&&) noexcept = default;
void CUDAGraph::capture_begin(MempoolId_t, CaptureMode) { refuse("capture_begin"); }
void CUDAGraph::capture_end() { refuse("capture_end"); }
void CUDAGraph::capture(const std::function<void()>&, MempoolId_t, CaptureMode) { refuse("capture"); }
void CUDAGraph::replay() { refuse("replay"); }
void CUDAGraph::reset() {}
MempoolId_t CUDAGraph::pool() const { refuse("pool"); }
int64_t CUDAGraph::num_nodes() const { refuse("num_nodes"); }

}  // namespace tandem::cuda
