#pragma once
// CUDA graphs: a training step recorded once and repeated with one launch. Named as at::cuda::CUDAGraph and
// torch.cuda.graph. How to use them: docs/cuda_graphs.md.
#include <cstdint>
#include <functional>
#include <memory>

#include "tandem/base/device.h"

namespace tandem::cuda {

/// A private memory pool, which graphs can share. The default one stands for 'a pool of its own'.
struct MempoolId_t {
  uint64_t id = 0;
  friend bool operator==(const MempoolId_t&, const MempoolId_t&) = default;
};
/// A pool for several graphs: `a.capture_begin(pool); ... b.capture_begin(pool)`. It has memory as long as one of them
/// lives. Graphs that share one must be replayed in the order of their captures, never at the same time.
MempoolId_t graph_pool_handle();

/// Which calls of the driver a capture forbids, that could spoil it: on all threads, on its own, or none.
enum class CaptureMode : uint8_t { Global, ThreadLocal, Relaxed };

/// True while the calling thread records a graph.
bool is_current_stream_capturing();

/// A recorded sequence of work of one device. replay() runs all of it on the same memory: inputs are changed with
/// copy_() into the tensors that the captured code read, outputs are read from those that it made.
///
///   cuda::CUDAGraph graph;
///   for (int i = 0; i < 3; ++i) step();     // warm-up: lazy state of optimizer, scaler and libraries
///   graph.capture([&] { step(); });         // recorded, not run
///   for (...) { x.copy_(batch); graph.replay(); }
///
/// A replay does what the captured code would do if it were run now: learning rates, the scaler's factors and the
/// random numbers' seeds and positions are taken from the host before each replay; versions, the generators' positions
/// and postponed unscaling are noted on the host after it. It waits for nothing and allocates nothing.
///
/// Memory that is allocated in a capture comes from the graph's pool and stays reserved until the graph and every
/// tensor in it is gone. Not safe on several threads at once.
class CUDAGraph {
 public:
  CUDAGraph();
  /// Gives up a capture that is underway.
  ~CUDAGraph();
  CUDAGraph(CUDAGraph&&) noexcept;
  CUDAGraph& operator=(CUDAGraph&&) noexcept;

  /// Records what the calling thread gives to its current stream, from here to capture_end(). Throws StateError: on the
  /// default stream, inside another capture, for a graph that has been captured already.
  void capture_begin(MempoolId_t pool = {}, CaptureMode mode = CaptureMode::Global);
  /// Throws StateError when nothing is captured or the capture has failed; the graph is then empty.
  void capture_end();
  /// Records what `body` does, on a stream of its own that follows the current one, as `with torch.cuda.graph(g):`.
  /// When body throws, the capture is given up and the graph stays empty.
  void capture(const std::function<void()>& body, MempoolId_t pool = {}, CaptureMode mode = CaptureMode::Global);
  /// Runs the recorded work on the current stream. Throws StateError before a capture, in a capture, and when an
  /// optimizer or a weight that the work is for is gone.
  void replay();
  /// Frees the recording, and the pool's memory when no other graph shares it; the graph can be captured again.
  void reset();
  /// The pool, for other graphs to share. Throws StateError before a capture.
  MempoolId_t pool() const;
  /// Kernels, copies and other steps that a replay runs. Throws StateError before a capture.
  int64_t num_nodes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::cuda
