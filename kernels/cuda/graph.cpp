// CUDAGraph over the driver's stream capture.
#include "tandem/cuda/graph.h"
#include "tandem/base/of_thread.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "kernels/cuda/graph_values.h"
#include "kernels/cuda/private_pool.h"
#include "kernels/cuda/runtime.h"
#include "tandem/base/check.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/capture.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

/// Pools by id, for as long as a graph holds them.
std::shared_ptr<PrivatePool> pool_of(MempoolId_t id, int device) {
  const OpScope op("capture_begin");
  static std::mutex mutex;
  static auto& pools = *new std::map<uint64_t, std::weak_ptr<PrivatePool>>;  // never destroyed: graphs may live longer
  const std::lock_guard lock(mutex);
  std::erase_if(pools, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<PrivatePool>& known = pools[id.id];
  std::shared_ptr<PrivatePool> pool = known.lock();
  if (!pool) known = pool = std::make_shared<PrivatePool>(device);
  TANDEM_CHECK(pool->device() == device, StateError,
               "the pool belongs to device {}, but the capture is on device {}; use a separate pool", pool->device(),
               device);
  return pool;
}

cudaStreamCaptureMode driver_mode(CaptureMode mode) {
  switch (mode) {
    case CaptureMode::ThreadLocal:
      return cudaStreamCaptureModeThreadLocal;
    case CaptureMode::Relaxed:
      return cudaStreamCaptureModeRelaxed;
    default:
      return cudaStreamCaptureModeGlobal;
  }
}

/// One stream per thread and device: memory that a pool has for a stream serves all captures on that stream.
const Stream& capture_stream() {
  auto& streams = tandem::detail::of_thread([] { return std::map<int, Stream>(); });
  const int device = current_device();
  const auto known = streams.find(device);
  return known != streams.end() ? known->second : streams.emplace(device, stream_from_pool()).first->second;
}

cudaStream_t raw(const Stream& stream) { return static_cast<cudaStream_t>(stream.handle()); }

}  // namespace

MempoolId_t graph_pool_handle() {
  static std::atomic<uint64_t> last{0};
  return {++last};
}

bool is_current_stream_capturing() { return is_available() && is_capturing(); }

/// The state of one capture.
struct CUDAGraph::Impl {
  explicit Impl(const Stream& stream) : stream(stream), capture([this] { return new_slots(); }) {}
  ~Impl() {
    if (capturing()) give_up();
    // The last replay may still be running and reading this memory.
    for (const Tensor& s : slots) s.record_stream(this->stream);
    for (const std::shared_ptr<void>& block : capture.held()) record_pinned(block.get(), this->stream);
    if (exec) driver().cudaGraphExecDestroy(exec);
    if (graph) driver().cudaGraphDestroy(graph);
    free_set_aside(set_aside, stream);
  }

  bool capturing() const { return current_capture() == &capture; }
  /// Ends the driver's capture and the GraphCapture. Returns the driver's status.
  cudaError_t end() {
    const cudaError_t code = driver().cudaStreamEndCapture(raw(stream), &graph);
    set_aside = end_private_memory();
    capture.end();
    return code;
  }
  /// Slots are allocated outside the pool: memory in it may be written by other graphs of the pool, or earlier in this
  /// one, at each replay.
  Tensor new_slots() {
    const OutsidePrivateMemory outside;
    slots.push_back(empty({static_cast<int64_t>(GraphCapture::kSlots)}, TensorOptions(kLong).device(stream.device())));
    return slots.back();
  }
  void give_up() {
    if (end() != cudaSuccess) driver().cudaGetLastError();
  }

  Stream stream;  ///< the captured stream; later the stream of the last replay
  MempoolId_t pool_id;
  std::shared_ptr<PrivatePool> pool;
  GraphCapture capture;  // its memory comes from the pool
  std::vector<SetAside> set_aside;
  std::vector<Tensor> slots;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  size_t nodes = 0;
};

CUDAGraph::CUDAGraph() = default;
CUDAGraph::~CUDAGraph() = default;
CUDAGraph::CUDAGraph(CUDAGraph&&) noexcept = default;
CUDAGraph& CUDAGraph::operator=(CUDAGraph&&) noexcept = default;

void CUDAGraph::capture_begin(MempoolId_t pool, CaptureMode mode) {
  const OpScope op("capture_begin");
  accelerator().check_available();
  check_not_capturing("a capture inside a capture is impossible", "end the other one first");
  TANDEM_CHECK(!impl_, StateError, "this graph has been captured already; call reset() first");
  const Stream stream = current_stream();
  TANDEM_CHECK(stream.handle(), StateError,
               "the default stream cannot be captured; use capture(), or make another stream current: "
               "StreamGuard guard(stream_from_pool())");
  auto impl = std::make_unique<Impl>(stream);
  impl->pool_id = pool == MempoolId_t{} ? graph_pool_handle() : pool;
  impl->pool = pool_of(impl->pool_id, stream.device().index());
  begin_private_memory(*impl->pool);  // first: no event may be queried once the driver captures
  const cudaError_t code = driver().cudaStreamBeginCapture(raw(stream), driver_mode(mode));
  if (code != cudaSuccess) end_private_memory();
  check("cudaStreamBeginCapture", code);
  impl->capture.begin();
  impl_ = std::move(impl);
}

void CUDAGraph::capture_end() {
  const OpScope op("capture_end");
  TANDEM_CHECK(impl_ && impl_->capturing(), StateError,
               "this thread is not capturing the graph; call capture_begin() first");
  std::unique_ptr<Impl> held = std::move(impl_);  // destroyed if something throws
  check("cudaStreamEndCapture", held->end());
  TANDEM_CHECK(held->graph, StateError,
               "the driver abandoned the capture; capture again without waiting for the device");
  TANDEM_CUDA(cudaGraphGetNodes, held->graph, nullptr, &held->nodes);
  TANDEM_CUDA(cudaGraphInstantiate, &held->exec, held->graph, 0ull);
  TANDEM_CUDA(cudaGraphDestroy, std::exchange(held->graph, nullptr));
  impl_ = std::move(held);
}

void CUDAGraph::capture(const std::function<void()>& body, MempoolId_t pool, CaptureMode mode) {
  const UserCodeScope op("capture");
  accelerator().check_available();
  TANDEM_CHECK(body, StateError, "the function is empty; pass one to record");
  check_not_capturing("a capture inside a capture is impossible", "end the other one first");
  const Stream before = current_stream(), stream = capture_stream();
  stream.wait_stream(before);
  {
    const StreamGuard guard(stream);
    capture_begin(pool, mode);
    try {
      body();
    } catch (...) {
      impl_.reset();
      throw;
    }
    capture_end();
  }
}

void CUDAGraph::replay() {
  const OpScope op("replay");
  accelerator().check_available();
  TANDEM_CHECK(impl_ && impl_->exec, StateError, "nothing has been captured; call capture() first");
  check_not_capturing("a replay is impossible", "a graph cannot contain another; replay it after the capture");
  const DeviceGuard on(impl_->stream.device());
  const Stream now = current_stream();
  if (now != impl_->stream) now.wait_stream(impl_->stream);  // the last replay may still read what is written here
  impl_->stream = now;
  GraphCapture& capture = impl_->capture;
  const std::vector<GraphCapture::Update> updates = capture.before_launch();
  for (const GraphCapture::Update& update : updates) write_graph_values(update.slots.raw_bytes(), update.words);
  TANDEM_CUDA(cudaGraphLaunch, impl_->exec, raw(impl_->stream));
  if (is_synchronous()) TANDEM_CUDA(cudaStreamSynchronize, raw(impl_->stream));
  capture.after_launch();
}

void CUDAGraph::reset() {
  const OpScope op("reset");
  TANDEM_CHECK(!impl_ || !impl_->capturing(), StateError, "the graph is being captured; call capture_end() first");
  impl_.reset();
}

MempoolId_t CUDAGraph::pool() const {
  const OpScope op("pool");
  TANDEM_CHECK(impl_, StateError, "nothing has been captured; create a pool with graph_pool_handle()");
  return impl_->pool_id;
}

int64_t CUDAGraph::num_nodes() const {
  const OpScope op("num_nodes");
  TANDEM_CHECK(impl_ && impl_->exec, StateError, "nothing has been captured; call capture() first");
  return static_cast<int64_t>(impl_->nodes);
}

}  // namespace tandem::cuda
