#pragma once
// What lets a process group send tensors on GPUs. Internal.
#include <memory>

#include "src/base/component.h"
#include "tandem/distributed/process_group.h"

namespace tandem::distributed {

/// Returns a group of the same ranks that sends tensors on GPUs by NCCL and all others by `host`; in the component
/// tandem::distributed (src/distributed/nccl).
using MakeDeviceGroup = std::shared_ptr<ProcessGroup>(std::shared_ptr<ProcessGroup> host,
                                                      const ProcessGroupOptions& options);
TANDEM_FOR_COMPONENTS extern MakeDeviceGroup* make_nccl_group;

/// The same. Without NCCL in the program, or without GPUs, it returns `host`.
TANDEM_FOR_COMPONENTS std::shared_ptr<ProcessGroup> with_device_tensors(std::shared_ptr<ProcessGroup> host,
                                                                        const ProcessGroupOptions& options);

/// The largest tag of a program's messages. The next one, the largest that every MPI knows, is for messages between
/// groups that NCCL needs.
inline constexpr int kMaxTag = 32766, kInternalTag = kMaxTag + 1;

/// Throws DeviceError if a tensor of the call is not on the CPU.
TANDEM_FOR_COMPONENTS void check_on_cpu(const Collective& call);

}  // namespace tandem::distributed
