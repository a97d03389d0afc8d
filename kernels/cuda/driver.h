#pragma once
// Driver: the function table for all calls to the CUDA runtime and all kernel launches. Tests replace it by a recording
// fake, which needs no GPU.
#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/cuda/call_table.h"

namespace tandem::cuda {

// The functions that tandem calls, with their parameters: X(name, (parameters)).
#define TANDEM_CUDA_CALLS(X)                                                     \
  X(cudaDriverGetVersion, (int*))                                                \
  X(cudaRuntimeGetVersion, (int*))                                               \
  X(cudaGetDeviceCount, (int*))                                                  \
  X(cudaGetDevice, (int*))                                                       \
  X(cudaSetDevice, (int))                                                        \
  X(cudaGetDeviceProperties, (cudaDeviceProp*, int))                             \
  X(cudaDeviceCanAccessPeer, (int*, int, int))                                   \
  X(cudaDeviceEnablePeerAccess, (int, unsigned))                                 \
  X(cudaDeviceSynchronize, ())                                                   \
  X(cudaGetLastError, ())                                                        \
  X(cudaMemGetInfo, (size_t*, size_t*))                                          \
  X(cudaMalloc, (void**, size_t))                                                \
  X(cudaFree, (void*))                                                           \
  X(cudaHostAlloc, (void**, size_t, unsigned))                                   \
  X(cudaMemcpyAsync, (void*, const void*, size_t, cudaMemcpyKind, cudaStream_t)) \
  X(cudaStreamCreateWithPriority, (cudaStream_t*, unsigned, int))                \
  X(cudaStreamSynchronize, (cudaStream_t))                                       \
  X(cudaStreamQuery, (cudaStream_t))                                             \
  X(cudaStreamWaitEvent, (cudaStream_t, cudaEvent_t, unsigned))                  \
  X(cudaStreamIsCapturing, (cudaStream_t, cudaStreamCaptureStatus*))             \
  X(cudaStreamBeginCapture, (cudaStream_t, cudaStreamCaptureMode))               \
  X(cudaStreamEndCapture, (cudaStream_t, cudaGraph_t*))                          \
  X(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode*))               \
  X(cudaGraphGetNodes, (cudaGraph_t, cudaGraphNode_t*, size_t*))                 \
  X(cudaGraphInstantiate, (cudaGraphExec_t*, cudaGraph_t, unsigned long long))   \
  X(cudaGraphLaunch, (cudaGraphExec_t, cudaStream_t))                            \
  X(cudaGraphExecDestroy, (cudaGraphExec_t))                                     \
  X(cudaGraphDestroy, (cudaGraph_t))                                             \
  X(cudaEventCreateWithFlags, (cudaEvent_t*, unsigned))                          \
  X(cudaEventDestroy, (cudaEvent_t))                                             \
  X(cudaEventRecord, (cudaEvent_t, cudaStream_t))                                \
  X(cudaEventQuery, (cudaEvent_t))                                               \
  X(cudaEventSynchronize, (cudaEvent_t))                                         \
  X(cudaEventElapsedTime, (float*, cudaEvent_t, cudaEvent_t))                    \
  X(cudaLaunchKernel, (const void*, dim3, dim3, void**, size_t, cudaStream_t))

/// A table of these functions.
struct Driver {
#define TANDEM_CALL(NAME, PARAMETERS) cudaError_t(*NAME) PARAMETERS = nullptr;
  TANDEM_CUDA_CALLS(TANDEM_CALL)
#undef TANDEM_CALL
  int least_architecture = 0;  ///< of the kernels: 75 is compute capability 7.5. 0: there are none, as in a fake
};

template <>
const Driver& library_table<Driver>();
using DriverGuard = TableGuard<Driver>;
inline const Driver& driver() { return table_in_use<Driver>(); }

/// Throws BackendError naming the running op, the call and the code. The message says if the device can no longer be
/// used.
[[noreturn]] void throw_cuda_error(const char* call, cudaError_t code);

inline void check(const char* call, cudaError_t code) {
  if (code != cudaSuccess) [[unlikely]]
    throw_cuda_error(call, code);
}

}  // namespace tandem::cuda

/// TANDEM_CUDA(cudaStreamSynchronize, stream): calls through the table and checks the result.
#define TANDEM_CUDA(NAME, ...) ::tandem::cuda::check(#NAME, ::tandem::cuda::driver().NAME(__VA_ARGS__))
