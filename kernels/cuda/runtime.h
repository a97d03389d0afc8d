#pragma once
// What the CUDA backend keeps for a process and a thread: devices, current streams, the allocators. Internal.
#include "kernels/cuda/driver.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/stream.h"

namespace tandem::cuda {

/// The index of a CUDA device, with -1 as the current one.
int index_of(Device device);
/// The driver's handle of the calling thread's current stream on the current device.
cudaStream_t current_handle();
/// True with TANDEM_SYNC=1 in the environment: every launch is followed by a wait, so that an error is reported by the
/// op at fault. False while a graph is captured, where nothing can be waited for.
bool is_synchronous();

}  // namespace tandem::cuda
