#include "cuda_fake/fake_driver.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace tandem::cuda::testing {
namespace {

thread_local int current = 0;
std::optional<std::pair<std::string, cudaError_t>> failure;
int failures = 0;  // calls that still fail
cudaError_t last_error = cudaSuccess;
float now = 0, launch_time = 0;
std::map<cudaEvent_t, float> recorded;
bool events_done = true;

/// The capture in progress, and its mode.
struct Capturing {
  cudaStream_t stream = nullptr;  ///< null: none
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  size_t nodes = 0;
  bool spoilt = false;
} capturing;
std::function<void()> once_capturing;  // called when the next capture has begun
bool said_to_capture = false;          // reported as capturing, without a graph
thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

/// Counts the call, and makes it fail if requested.
cudaError_t called(const char* name) {
  Calls::instance().add(name);
  if (failure && failure->first == name) {
    last_error = failure->second;
    if (--failures == 0) failure.reset();
    return last_error;
  }
  return cudaSuccess;
}

/// A call that invalidates a capture: a wait, or a call that the mode forbids.
cudaError_t called_outside_captures(const char* name, bool relaxed_allows = false) {
  const cudaError_t code = called(name);
  if (code != cudaSuccess || !capturing.stream) return code;
  if (relaxed_allows && thread_mode == cudaStreamCaptureModeRelaxed) return code;
  capturing.spoilt = true;
  return last_error = cudaErrorStreamCaptureUnsupported;
}

/// Work for a stream: a graph node if the stream is being captured.
cudaError_t called_on(cudaStream_t stream, const char* name) {
  if (capturing.stream && !stream) {  // the default stream synchronises with the others
    capturing.spoilt = true;
    return last_error = cudaErrorStreamCaptureImplicit;
  }
  count_node(stream);
  return called(name);
}

template <class Handle>
Handle new_handle() {
  static uintptr_t next = 0x1000;
  return reinterpret_cast<Handle>(next += 16);
}

cudaError_t new_memory(const char* name, void** data, size_t bytes) {
  const cudaError_t code = called_outside_captures(name, true);
  // Zeros, because kernels do not run: counters that they would write must be 0.
  if (code == cudaSuccess) {
    const size_t rounded = (bytes + 511) / 512 * 512;
    *data = std::aligned_alloc(512, rounded);
    std::memset(*data, 0, rounded);
  }
  return code;
}

Driver make() {
  Driver d;
  d.cudaDriverGetVersion = [](int* v) {
    *v = 13000;
    return called("cudaDriverGetVersion");
  };
  d.cudaRuntimeGetVersion = [](int* v) {
    *v = 13000;
    return called("cudaRuntimeGetVersion");
  };
  d.cudaGetDeviceCount = [](int* n) {
    *n = 2;
    return called("cudaGetDeviceCount");
  };
  d.cudaGetDevice = [](int* device) {
    *device = current;
    return cudaSuccess;  // not counted: does not access the device
  };
  d.cudaSetDevice = [](int device) {
    current = device;
    return called("cudaSetDevice");
  };
  d.cudaGetDeviceProperties = [](cudaDeviceProp* p, int) {
    *p = {};
    std::strcpy(p->name, "fake");
    p->major = 9;
    p->multiProcessorCount = 4;
    p->maxThreadsPerMultiProcessor = 2048;
    p->totalGlobalMem = size_t{1} << 30;
    return called("cudaGetDeviceProperties");
  };
  d.cudaDeviceCanAccessPeer = [](int* possible, int, int) {
    *possible = 1;
    return called("cudaDeviceCanAccessPeer");
  };
  d.cudaDeviceEnablePeerAccess = [](int, unsigned) { return called("cudaDeviceEnablePeerAccess"); };
  d.cudaDeviceSynchronize = [] { return called_outside_captures("cudaDeviceSynchronize"); };
  d.cudaGetLastError = [] { return std::exchange(last_error, cudaSuccess); };
  d.cudaMemGetInfo = [](size_t* free, size_t* total) {
    *free = *total = size_t{1} << 30;
    return called("cudaMemGetInfo");
  };
  d.cudaMalloc = [](void** data, size_t bytes) { return new_memory("cudaMalloc", data, bytes); };
  d.cudaFree = [](void* data) {
    std::free(data);
    return called("cudaFree");
  };
  d.cudaHostAlloc = [](void** data, size_t bytes, unsigned) { return new_memory("cudaHostAlloc", data, bytes); };
  d.cudaMemcpyAsync = [](void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    std::memcpy(to, from, bytes);
    Calls::instance().queue({"copy", stream, nullptr, to, from});
    return called_on(stream, "cudaMemcpyAsync");
  };
  d.cudaStreamCreateWithPriority = [](cudaStream_t* stream, unsigned, int) {
    *stream = new_handle<cudaStream_t>();
    return called("cudaStreamCreateWithPriority");
  };
  d.cudaStreamSynchronize = [](cudaStream_t) { return called_outside_captures("cudaStreamSynchronize"); };
  d.cudaStreamQuery = [](cudaStream_t) { return called("cudaStreamQuery"); };
  d.cudaStreamWaitEvent = [](cudaStream_t stream, cudaEvent_t event, unsigned) {
    Calls::instance().queue({"wait", stream, event});
    return called("cudaStreamWaitEvent");
  };
  d.cudaStreamIsCapturing = [](cudaStream_t stream, cudaStreamCaptureStatus* status) {
    const bool captured = capturing.stream && stream == capturing.stream;
    *status = captured || said_to_capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return called("cudaStreamIsCapturing");
  };
  d.cudaEventCreateWithFlags = [](cudaEvent_t* event, unsigned) {
    *event = new_handle<cudaEvent_t>();
    return called("cudaEventCreateWithFlags");
  };
  d.cudaEventDestroy = [](cudaEvent_t event) {
    recorded.erase(event);
    return called("cudaEventDestroy");
  };
  d.cudaEventRecord = [](cudaEvent_t event, cudaStream_t stream) {
    recorded[event] = now;
    Calls::instance().queue({"record", stream, event});
    return called("cudaEventRecord");
  };
  d.cudaEventQuery = [](cudaEvent_t) {
    const cudaError_t code = called_outside_captures("cudaEventQuery", true);
    return code == cudaSuccess && !events_done ? cudaErrorNotReady : code;
  };
  d.cudaEventSynchronize = [](cudaEvent_t) { return called_outside_captures("cudaEventSynchronize"); };
  d.cudaEventElapsedTime = [](float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    *milliseconds = recorded.at(end) - recorded.at(start);
    return called("cudaEventElapsedTime");
  };
  d.cudaLaunchKernel = [](const void*, dim3, dim3, void**, size_t, cudaStream_t stream) {
    now += launch_time;
    return called_on(stream, "cudaLaunchKernel");
  };
  d.cudaThreadExchangeStreamCaptureMode = [](cudaStreamCaptureMode* mode) {
    std::swap(*mode, thread_mode);
    return cudaSuccess;
  };
  d.cudaStreamBeginCapture = [](cudaStream_t stream, cudaStreamCaptureMode mode) {
    const cudaError_t code = called("cudaStreamBeginCapture");
    if (code != cudaSuccess) return code;
    capturing = {stream, mode};
    if (once_capturing) std::exchange(once_capturing, nullptr)();
    return code;
  };
  d.cudaStreamEndCapture = [](cudaStream_t, cudaGraph_t* graph) {
    const bool spoilt = capturing.spoilt;
    *graph = spoilt ? nullptr : reinterpret_cast<cudaGraph_t>(new size_t(capturing.nodes));
    capturing = {};
    const cudaError_t code = called("cudaStreamEndCapture");
    return spoilt ? last_error = cudaErrorStreamCaptureInvalidated : code;
  };
  d.cudaGraphGetNodes = [](cudaGraph_t graph, cudaGraphNode_t*, size_t* nodes) {
    *nodes = *reinterpret_cast<size_t*>(graph);
    return called("cudaGraphGetNodes");
  };
  d.cudaGraphInstantiate = [](cudaGraphExec_t* exec, cudaGraph_t, unsigned long long) {
    const cudaError_t code = called("cudaGraphInstantiate");
    *exec = code == cudaSuccess ? new_handle<cudaGraphExec_t>() : nullptr;
    return code;
  };
  d.cudaGraphLaunch = [](cudaGraphExec_t, cudaStream_t) { return called("cudaGraphLaunch"); };
  d.cudaGraphExecDestroy = [](cudaGraphExec_t) { return called("cudaGraphExecDestroy"); };
  d.cudaGraphDestroy = [](cudaGraph_t graph) {
    delete reinterpret_cast<size_t*>(graph);
    return called("cudaGraphDestroy");
  };
  return d;
}

}  // namespace

Calls& Calls::instance() {
  static Calls calls;
  return calls;
}

std::string Calls::str() const {
  std::string text;
  for (const auto& [name, count] : counts_) text += name + ": " + std::to_string(count) + "\n";
  return text;
}

const Driver& fake_driver() {
  static const Driver driver = make();
  return driver;
}

void count_node(cudaStream_t stream) {
  if (capturing.stream && stream == capturing.stream) ++capturing.nodes;
}

void fail_next(const std::string& name, cudaError_t code, int times) {
  failure = {name, code};
  failures = times;
}

void pass_time(float milliseconds) { now += milliseconds; }
void set_launch_time(float milliseconds) { launch_time = milliseconds; }
void once_a_capture_begins(std::function<void()> run) { once_capturing = std::move(run); }
void set_capturing(bool on) { said_to_capture = on; }
void set_events_done(bool done) { events_done = done; }

}  // namespace tandem::cuda::testing
