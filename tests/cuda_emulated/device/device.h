#pragma once
// Whole CUDA devices on the CPU, for running programs on kCUDA without a GPU: two, or as many as
// TANDEM_EMULATED_DEVICES says. Their memory is host memory, but closed to host code (arena.h). Kernels run in the
// emulator, as late as the order of streams allows (queue.h). Work for a stream that is being captured is recorded and
// runs when the graph is launched. device.cpp replaces the CUDA runtime under kernels/cuda/*.cpp, blas.cpp cuBLASLt,
// dnn.cpp cuDNN, and nccl.cpp NCCL.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

#include "cuda_emulated/device/queue.h"

namespace tandem::cuda::emulated {

/// Counts of calls since they were last cleared; the work in a graph counts as one launch of the graph.
struct Counts {
  int64_t launches = 0;  ///< kernels, products and convolutions
  int64_t graph_launches = 0;
  int64_t waits = 0;                ///< waits of the host
  int64_t allocations = 0;          ///< allocations of device memory and page-locked memory
  int64_t copies = 0;               ///< copies between host and device, or two devices
  int64_t copies_through_host = 0;  ///< between devices that do not access each other's memory
  int64_t float8_products[4] = {};  ///< by the mode of A's scales (cublasLtMatmulMatrixScale_t)
};
Counts& counts();

/// Returns the compute capability of the devices, such as 90 for 9.0.
int compute_capability();

/// Gives work for the current device to a stream, as a kernel launch does. Throws BackendError if the stream belongs to
/// another device.
void submit(cudaStream_t stream, std::function<void()> work);

/// Makes a stream of the calling thread's current device join the meeting that `find` returns, which is called while no
/// other thread joins one.
void join(cudaStream_t stream, const std::function<MeetingPtr()>& find);
/// Lets a stream go on without the meeting. The others wait for it forever.
void leave(cudaStream_t stream, const MeetingPtr& meeting);

/// If on, queries answer that the device is not done. Initially off: a query runs the work first.
void stay_behind(bool on);

/// Makes the devices usable again after a kernel has trapped, which is not possible with a real device.
void revive_device();

}  // namespace tandem::cuda::emulated
