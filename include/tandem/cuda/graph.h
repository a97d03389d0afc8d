#pragma once
// CUDA graphs: a training step recorded once and replayed with one launch. Names are those of at::cuda::CUDAGraph and
// torch.cuda.graph. Guide: docs/cuda_graphs.md.
#include <cstdint>
#include <functional>
#include <memory>

#include "tandem/base/device.h"

#pragma GCC visibility push(default)
namespace tandem::cuda {

/// Names a private memory pool, which graphs can share. The default value requests a new pool for one graph.
struct MempoolId_t {
  uint64_t id = 0;
  friend bool operator==(const MempoolId_t&, const MempoolId_t&) = default;
};
/// Returns a new pool for several graphs: `a.capture_begin(pool); ... b.capture_begin(pool)`. Its memory is freed with
/// the last of these graphs. Graphs that share a pool must be replayed in the order of their captures, never at the
/// same time.
MempoolId_t graph_pool_handle();

/// Where a capture forbids driver calls that could invalidate it: on all threads, on the capturing thread only, or
/// nowhere. As cudaStreamCaptureMode.
enum class CaptureMode : uint8_t { Global, ThreadLocal, Relaxed };

/// Returns true while the calling thread records a graph.
bool is_current_stream_capturing();

/// A recorded sequence of work on one device. replay() runs all of it on the same memory. To change the inputs, copy_()
/// into the tensors that the captured code read; the outputs are in the tensors that it made.
///
///   cuda::CUDAGraph graph;
///   for (int i = 0; i < 3; ++i) step();     // warm-up: lazy state of optimizer, scaler and libraries
///   graph.capture([&] { step(); });         // recorded, not run
///   for (...) { x.copy_(batch); graph.replay(); }
///
/// A replay does what the captured code would do if it ran now. Before each replay, learning rates, the scaler's
/// factors, and the seeds and positions of random generators are read on the host. After it, the host updates tensor
/// versions, generator positions and postponed unscaling. A replay neither waits nor allocates.
///
/// Memory allocated during a capture comes from the graph's pool and stays reserved until the graph and all tensors in
/// that memory are gone. Not thread-safe.
class CUDAGraph {
 public:
  CUDAGraph();
  /// Abandons an unfinished capture.
  ~CUDAGraph();
  CUDAGraph(CUDAGraph&&) noexcept;
  CUDAGraph& operator=(CUDAGraph&&) noexcept;

  /// Starts to record the work that the calling thread submits to its current stream. Throws StateError on the default
  /// stream, inside another capture, for a graph that has been captured already, and for a pool of another device.
  void capture_begin(MempoolId_t pool = {}, CaptureMode mode = CaptureMode::Global);
  /// Ends the recording. Throws StateError if nothing is being captured or the capture has failed; after a failed
  /// capture the graph is empty.
  void capture_end();
  /// Records the work of `body`, as `with torch.cuda.graph(g):`. It runs on a separate stream, which first waits for
  /// the current stream. If `body` throws, the capture is abandoned and the graph stays empty.
  void capture(const std::function<void()>& body, MempoolId_t pool = {}, CaptureMode mode = CaptureMode::Global);
  /// Runs the recorded work on the current stream. Throws StateError if nothing was captured, during a capture, and if
  /// an optimizer or a weight used by the recorded work no longer exists.
  void replay();
  /// Frees the recording, and the pool's memory unless another graph shares it. The graph can then be captured again.
  /// Throws StateError while this graph is being captured.
  void reset();
  /// Returns the pool, for other graphs to share. Throws StateError before a capture.
  MempoolId_t pool() const;
  /// Returns the number of kernels, copies and other nodes that a replay runs. Throws StateError before a capture.
  int64_t num_nodes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::cuda
#pragma GCC visibility pop
