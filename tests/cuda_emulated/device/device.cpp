#include "cuda_emulated/device/device.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cuda_emulated/device/arena.h"
#include "cuda_emulated/device/queue.h"
#include "kernels/cuda/runtime.h"

using tandem::cuda::emulated::Work;

struct CUstream_st : tandem::cuda::emulated::Queue {
  using Queue::Queue;
};
struct CUevent_st {
  int device;
  tandem::cuda::emulated::MarkPtr last;  ///< null until it is recorded
};
struct CUgraph_st {
  std::vector<Work> nodes;
};
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<Work>> nodes;
};

namespace tandem::cuda::emulated {
namespace {

CUgraph_st* recording = nullptr;
const Queue* recorded_stream = nullptr;
bool spoilt = false, behind = false;
thread_local int device_of_thread = 0;
thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;
thread_local cudaError_t last_error = cudaSuccess;
std::map<const char*, size_t> pinned;      ///< bytes by address
std::set<std::pair<int, int>> accessible;  ///< devices, and peers whose memory they access

/// May be locked by any thread; recursive, because kernels call back when they trap.
std::recursive_mutex& mutex() {
  static auto& one = *new std::recursive_mutex;
  return one;
}
struct Lock : std::unique_lock<std::recursive_mutex> {
  Lock() : unique_lock(emulated::mutex()) {}
};

/// Signals that a stream has joined or left a meeting.
std::condition_variable_any& met() {
  static auto& one = *new std::condition_variable_any;
  return one;
}

/// Runs work that the host waits for. Waits until other threads have let their streams join its meetings.
template <class Run>
bool run_waiting(Lock& lock, const Run& run) {
  constexpr auto kLongest = std::chrono::minutes(1);
  while (true) {
    try {
      return run();
    } catch (const NotMet&) {
      if (met().wait_for(lock, kLongest) == std::cv_status::timeout) throw Misuse("a stream waits forever for others");
    }
  }
}

/// The compute capabilities of the devices: TANDEM_EMULATED_CAPABILITY, such as 7.5 or 9.0,6.1 (then the last device's
/// is that of the others, too), or an H100's.
struct Capability {
  int major = 9, minor = 0;
};
const Capability& capability(int device = device_of_thread) {
  static const std::vector<Capability> asked_for = [] {
    const char* text = std::getenv("TANDEM_EMULATED_CAPABILITY");
    std::vector<Capability> all;
    std::istringstream list(text ? text : "9.0");
    for (std::string one; std::getline(list, one, ',');) {
      Capability c;
      if (std::sscanf(one.c_str(), "%d.%d", &c.major, &c.minor) != 2) {
        throw Misuse("TANDEM_EMULATED_CAPABILITY is not a list of compute capabilities such as 7.5");
      }
      all.push_back(c);
    }
    return all;
  }();
  return asked_for[std::min(static_cast<size_t>(device), asked_for.size() - 1)];
}

/// The number of devices: TANDEM_EMULATED_DEVICES, or two.
int device_count_asked_for() {
  static const int count = [] {
    const char* text = std::getenv("TANDEM_EMULATED_DEVICES");
    const int asked = text ? std::atoi(text) : 2;
    if (asked < 1 || asked > kDevices) throw Misuse("TANDEM_EMULATED_DEVICES is not a number from 1 to 4");
    return asked;
  }();
  return count;
}

cudaError_t fail(cudaError_t code) { return last_error = code; }

/// A child of fork() cannot use the device.
bool is_child() {
  static const pid_t owner = ::getpid();
  return ::getpid() != owner;
}
[[maybe_unused]] const bool owner_known = is_child();

/// After a trap, every call returns an error.
cudaError_t unless_trapped(bool good) {
  if (is_child()) return fail(cudaErrorInitializationError);
  return good ? cudaSuccess : fail(cudaErrorLaunchFailure);
}

/// A call that captures forbid, except (if `relaxed_allows`) for threads in relaxed mode.
cudaError_t outside_captures(bool relaxed_allows = false) {
  if (!recording || (relaxed_allows && mode_of_thread == cudaStreamCaptureModeRelaxed)) return cudaSuccess;
  spoilt = true;
  return fail(cudaErrorStreamCaptureUnsupported);
}

/// Null means the default stream of the current device.
Queue& queue_of(cudaStream_t stream) {
  static auto* const defaults = [] {
    auto* made = new std::deque<CUstream_st>;
    for (int device = 0; device < kDevices; ++device) made->emplace_back(device, true);
    return made;
  }();
  return stream ? *stream : (*defaults)[static_cast<size_t>(device_of_thread)];
}

bool is_recorded(const Queue& stream) { return recording && &stream == recorded_stream; }

void give(Queue& stream, Work work) {
  if (is_recorded(stream)) {
    recording->nodes.push_back(std::move(work));
  } else {
    stream.append(std::move(work));
  }
}

bool is_pinned_here(const void* address) {
  const auto after = pinned.upper_bound(static_cast<const char*>(address));
  if (after == pinned.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return static_cast<const char*>(address) < begin + bytes;
}

bool is_device_memory(const void* address) { return device_of_memory(address) >= 0; }
bool is_pageable(const void* address) { return !is_device_memory(address) && !is_pinned_here(address); }

/// The host waits: runs the work that it waits for.
template <class Run>
cudaError_t wait(const Run& run, bool relaxed_allows = false) {
  Lock lock;
  ++counts().waits;
  const cudaError_t code = outside_captures(relaxed_allows);
  return code == cudaSuccess ? unless_trapped(run_waiting(lock, run)) : code;
}

/// The host queries: runs the work first, unless the device is held behind.
template <class Run>
cudaError_t ask(const Run& run, bool relaxed_allows) {
  const Lock lock;
  const cudaError_t code = outside_captures(relaxed_allows);
  if (code != cudaSuccess) return code;
  if (behind) return fail(cudaErrorNotReady);
  try {
    return unless_trapped(run());
  } catch (const NotMet&) {
    return fail(cudaErrorNotReady);
  }
}

bool run_until_recorded(cudaEvent_t event) { return !event->last || run_until(event->last); }

}  // namespace

Counts& counts() {
  static Counts all;
  return all;
}

int compute_capability() { return 10 * capability().major + capability().minor; }

void require_sm80(const char* what) {
  if (compute_capability() < 80) throw Misuse(std::string(what) + " need compute capability 8.0");
}

void require_sm89(const char* what) {
  if (compute_capability() < 89) throw Misuse(std::string(what) + " need compute capability 8.9");
}

void require_float8_blocks(bool of_32) {
  if (of_32 ? capability().major < 10 : capability().major != 9) {
    throw Misuse(of_32 ? "scales of 32 numbers need compute capability 10.0"
                       : "scales of 128 numbers need compute capability 9.0");
  }
}

void stay_behind(bool on) { behind = on; }

void revive_device() {
  const Lock lock;
  revive();
  last_error = cudaSuccess;
}

void submit(std::function<void()> work) { submit(current_handle(), std::move(work)); }

void submit(cudaStream_t handle, std::function<void()> work) {
  if (is_child()) throw_cuda_error("cudaLaunchKernel", cudaErrorInitializationError);
  const Lock lock;
  Queue& stream = queue_of(handle);
  if (stream.device != device_of_thread) throw_cuda_error("cudaLaunchKernel", cudaErrorInvalidResourceHandle);
  if (!is_recorded(stream)) ++counts().launches;
  give(stream, {only(stream.device), std::move(work)});
}

void join(cudaStream_t handle, const std::function<MeetingPtr()>& find) {
  const Lock lock;
  Queue& stream = queue_of(handle);
  if (stream.device != device_of_thread) throw Misuse("a stream of another device joins a meeting");
  if (is_recorded(stream)) throw Misuse("a stream joins a meeting during a capture");
  stream.join(find());
  met().notify_all();
}

void leave(cudaStream_t handle, const MeetingPtr& meeting) {
  const Lock lock;
  meeting->gone.insert(handle);
  meeting->stuck = true;
  met().notify_all();
}

}  // namespace tandem::cuda::emulated

using namespace tandem::cuda::emulated;

const char* cudaGetErrorName(cudaError_t code) {
  switch (code) {
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorInitializationError:
      return "cudaErrorInitializationError";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    default:
      return "error";
  }
}
const char* cudaGetErrorString(cudaError_t) { return "an error of the emulated device"; }
cudaError_t cudaDriverGetVersion(int* v) { return *v = 13000, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* v) { return *v = 13000, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* n) { return *n = device_count_asked_for(), cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = device_of_thread, cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= device_count_asked_for()) return fail(cudaErrorInvalidDevice);
  return device_of_thread = device, cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (device < 0 || device >= device_count_asked_for()) return fail(cudaErrorInvalidDevice);
  *p = {"emulated",  capability(device).major, capability(device).minor, 1, 1280,
        kDeviceBytes};  // so few threads that grid-stride loops iterate
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* possible, int device, int peer) {
  return *possible = device != peer, cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  const Lock lock;
  const bool is_new = accessible.insert({device_of_thread, peer}).second;
  return is_new ? cudaSuccess : fail(cudaErrorPeerAccessAlreadyEnabled);
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const Lock lock;
  return *free = free_bytes(device_of_thread), *total = kDeviceBytes, cudaSuccess;
}
cudaError_t cudaMalloc(void** data, size_t bytes) {
  const Lock lock;
  ++counts().allocations;
  const cudaError_t code = outside_captures(true);
  if (code != cudaSuccess) return code;
  *data = take_segment(device_of_thread, bytes);
  return *data ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* data) {
  Lock lock;
  const cudaError_t code = outside_captures(true);
  if (code != cudaSuccess) return code;
  // cudaFree waits for the device.
  const bool good = !data || run_waiting(lock, [data] { return run_everything(device_of_memory(data)); });
  give_back_segment(data);
  return unless_trapped(good);
}
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  const Lock lock;
  ++counts().allocations;
  const cudaError_t code = outside_captures(true);
  if (code != cudaSuccess) return code;
  const size_t rounded = (bytes + 4095) / 4096 * 4096;
  *data = std::aligned_alloc(4096, rounded);
  std::memset(*data, 0xff, rounded);
  pinned[static_cast<const char*>(*data)] = rounded;
  return cudaSuccess;
}

/// For pageable memory, the source is read, and the destination is written, before the call returns. The stream may
/// belong to any device, and so may the memory.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t handle) {
  Lock lock;
  ++counts().copies;
  const bool from_device = is_device_memory(from), to_device = is_device_memory(to);
  if (kind != cudaMemcpyDefault &&
      (from_device != (kind == cudaMemcpyDeviceToHost) || to_device != (kind == cudaMemcpyHostToDevice))) {
    throw Misuse("the kind of a copy differs from that of its addresses");
  }
  Queue& stream = queue_of(handle);
  const int source = device_of_memory(from), destination = device_of_memory(to);
  if (from_device && to_device && source != destination && !accessible.contains({source, destination})) {
    ++counts().copies_through_host;
  }
  const DeviceSet devices = only(source) | only(destination);
  if (is_pageable(from)) {
    const auto* begin = static_cast<const char*>(from);
    give(stream, {devices,
                  [to, data = std::vector<char>(begin, begin + bytes)] { std::memcpy(to, data.data(), data.size()); }});
    return cudaSuccess;
  }
  give(stream, {devices, [=] { std::memcpy(to, from, bytes); }});
  return is_pageable(to) ? unless_trapped(run_waiting(lock, [&] { return run_stream(stream); })) : cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return wait([] { return run_everything(device_of_thread); });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return wait([&] { return run_stream(queue_of(stream)); });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return wait([&] { return run_until_recorded(event); }, true);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return ask([&] { return run_stream(queue_of(stream)); }, false);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return ask([&] { return run_until_recorded(event); }, true);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  const Lock lock;
  *stream = new CUstream_st(device_of_thread, false);
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return *event = new CUevent_st{device_of_thread, {}}, cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  const Lock lock;
  Queue& stream = queue_of(handle);
  if (stream.device != event->device) return fail(cudaErrorInvalidResourceHandle);
  if (!is_recorded(stream)) event->last = stream.mark();
  return cudaSuccess;
}
/// The event may belong to another device.
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  const Lock lock;
  Queue& stream = queue_of(handle);
  if (event->last && !is_recorded(stream)) stream.wait_for(event->last);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (start->device != end->device) return fail(cudaErrorInvalidResourceHandle);
  return *milliseconds = 1, cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) {
  return cudaErrorLaunchFailure;  // unused: kernels go to submit()
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, mode_of_thread);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const Lock lock;
  *status = is_recorded(queue_of(stream)) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock;
  recording = new CUgraph_st;
  recorded_stream = &queue_of(stream);
  spoilt = false;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  const Lock lock;
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
  *exec = new CUgraphExec_st{std::make_shared<const std::vector<Work>>(graph->nodes)};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const Lock lock;
  ++counts().graph_launches;
  give(queue_of(stream), {0, [nodes = exec->nodes] {
                            for (const Work& node : *nodes) node();
                          }});
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
