#pragma once
// with_device_tensors: what lets a process group send tensors on GPUs, implemented with NCCL (src/distributed/nccl) or
// without (src/distributed/no_nccl). Internal.
#include <memory>

#include "tandem/distributed/process_group.h"

namespace tandem::distributed {

/// Returns a group of the same ranks that sends tensors on GPUs by NCCL and all others by `host`. Without NCCL in the
/// build it returns `host`.
std::shared_ptr<ProcessGroup> with_device_tensors(std::shared_ptr<ProcessGroup> host,
                                                  const ProcessGroupOptions& options);

/// The largest tag of a program's messages. The next one, the largest that every MPI knows, is for messages between
/// groups that NCCL needs.
inline constexpr int kMaxTag = 32766, kInternalTag = kMaxTag + 1;

/// Throws DeviceError if a tensor of the call is not on the CPU.
void check_on_cpu(const Collective& call);

}  // namespace tandem::distributed
