#include "cuda_fake/fake_driver.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

namespace tandem::cuda::testing {
namespace {

thread_local int current = 0;
std::optional<std::pair<std::string, cudaError_t>> failure;
cudaError_t last_error = cudaSuccess;
float now = 0, launch_time = 0;
bool capturing = false;
std::map<cudaEvent_t, float> recorded;

/// Counts the call, and fails it when told to.
cudaError_t called(const char* name) {
  Calls::instance().add(name);
  if (failure && failure->first == name) {
    last_error = failure->second;
    failure.reset();
    return last_error;
  }
  return cudaSuccess;
}

template <class Handle>
Handle new_handle() {
  static uintptr_t next = 0x1000;
  return reinterpret_cast<Handle>(next += 16);
}

cudaError_t new_memory(const char* name, void** data, size_t bytes) {
  const cudaError_t code = called(name);
  // Zeros: a count that no kernel has written is 0.
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
    return cudaSuccess;  // not counted: it asks nothing of the device
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
  d.cudaDeviceSynchronize = [] { return called("cudaDeviceSynchronize"); };
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
  d.cudaMemcpyAsync = [](void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
    std::memcpy(to, from, bytes);
    return called("cudaMemcpyAsync");
  };
  d.cudaStreamCreateWithPriority = [](cudaStream_t* stream, unsigned, int) {
    *stream = new_handle<cudaStream_t>();
    return called("cudaStreamCreateWithPriority");
  };
  d.cudaStreamSynchronize = [](cudaStream_t) { return called("cudaStreamSynchronize"); };
  d.cudaStreamQuery = [](cudaStream_t) { return called("cudaStreamQuery"); };
  d.cudaStreamWaitEvent = [](cudaStream_t, cudaEvent_t, unsigned) { return called("cudaStreamWaitEvent"); };
  d.cudaStreamIsCapturing = [](cudaStream_t, cudaStreamCaptureStatus* status) {
    *status = capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
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
  d.cudaEventRecord = [](cudaEvent_t event, cudaStream_t) {
    recorded[event] = now;
    return called("cudaEventRecord");
  };
  d.cudaEventQuery = [](cudaEvent_t) { return called("cudaEventQuery"); };
  d.cudaEventSynchronize = [](cudaEvent_t) { return called("cudaEventSynchronize"); };
  d.cudaEventElapsedTime = [](float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    *milliseconds = recorded.at(end) - recorded.at(start);
    return called("cudaEventElapsedTime");
  };
  d.cudaLaunchKernel = [](const void*, dim3, dim3, void**, size_t, cudaStream_t) {
    now += launch_time;
    return called("cudaLaunchKernel");
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

void fail_next(const std::string& name, cudaError_t code) { failure = {name, code}; }

void pass_time(float milliseconds) { now += milliseconds; }
void set_launch_time(float milliseconds) { launch_time = milliseconds; }
void set_capturing(bool on) { capturing = on; }

}  // namespace tandem::cuda::testing
