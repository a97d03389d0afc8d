#include "cuda_emulated/device/device.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/cuda/runtime.h"

struct CUgraph_st {
  std::vector<std::function<void()>> nodes;
};
struct CUgraphExec_st {
  std::vector<std::function<void()>> nodes;
};

namespace tandem::cuda::emulated {
namespace {

CUgraph_st* recording = nullptr;
cudaStream_t recorded_stream = nullptr;
bool spoilt = false, events_done = true;
cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;
cudaError_t last_error = cudaSuccess;

cudaError_t fail(cudaError_t code) { return last_error = code; }

/// A call that no capture allows, or only a relaxed thread.
cudaError_t outside_captures(bool relaxed_allows = false) {
  if (!recording || (relaxed_allows && mode_of_thread == cudaStreamCaptureModeRelaxed)) return cudaSuccess;
  spoilt = true;
  return fail(cudaErrorStreamCaptureUnsupported);
}

void give(cudaStream_t stream, std::function<void()> work) {
  if (recording && stream == recorded_stream) {
    recording->nodes.push_back(std::move(work));
  } else {
    work();
  }
}

cudaError_t new_memory(void** data, size_t bytes) {
  ++counts().allocations;
  const cudaError_t code = outside_captures(true);
  if (code != cudaSuccess) return code;
  const size_t rounded = (bytes + 511) / 512 * 512;
  *data = std::aligned_alloc(512, rounded);
  std::memset(*data, 0xff, rounded);
  return cudaSuccess;
}

template <class Handle>
cudaError_t new_handle(Handle* handle) {
  static uintptr_t next = 0x1000;
  *handle = reinterpret_cast<Handle>(next += 16);
  return cudaSuccess;
}

}  // namespace

Counts& counts() {
  static Counts all;
  return all;
}

void set_events_done(bool done) { events_done = done; }

void submit(std::function<void()> work) {
  const cudaStream_t stream = current_handle();
  if (!recording || stream != recorded_stream) ++counts().launches;
  give(stream, std::move(work));
}

}  // namespace tandem::cuda::emulated

using namespace tandem::cuda::emulated;

const char* cudaGetErrorName(cudaError_t code) {
  return code == cudaErrorStreamCaptureInvalidated ? "cudaErrorStreamCaptureInvalidated" : "error";
}
const char* cudaGetErrorString(cudaError_t) { return "an error of the emulated device"; }
cudaError_t cudaDriverGetVersion(int* v) { return *v = 13000, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* v) { return *v = 13000, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* n) { return *n = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  *p = {"emulated", 9, 0, 1, 1280, size_t{1} << 30};  // so small that grid-stride loops go round
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) { return *free = *total = size_t{1} << 30, cudaSuccess; }
cudaError_t cudaMalloc(void** data, size_t bytes) { return new_memory(data, bytes); }
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) { return new_memory(data, bytes); }
cudaError_t cudaFree(void* data) {
  std::free(data);
  return outside_captures(true);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  ++counts().copies;
  give(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return ++counts().waits, outside_captures(); }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return ++counts().waits, outside_captures(); }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return ++counts().waits, outside_captures(); }
cudaError_t cudaStreamQuery(cudaStream_t) { return outside_captures(); }
cudaError_t cudaEventQuery(cudaEvent_t) {
  const cudaError_t code = outside_captures(true);
  return code == cudaSuccess && !events_done ? cudaErrorNotReady : code;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) { return new_handle(stream); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return new_handle(event); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  return *milliseconds = 1, cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) {
  return cudaErrorLaunchFailure;  // kernels go to submit()
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, mode_of_thread);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = recording && stream == recorded_stream ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  recording = new CUgraph_st;
  recorded_stream = stream;
  spoilt = false;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = std::exchange(recording, nullptr);
  if (!spoilt) return cudaSuccess;
  delete std::exchange(*graph, nullptr);
  return fail(cudaErrorStreamCaptureInvalidated);
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  *count = graph->nodes.size();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new CUgraphExec_st{graph->nodes};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t) {
  ++counts().graph_launches;
  for (const std::function<void()>& node : exec->nodes) node();
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
