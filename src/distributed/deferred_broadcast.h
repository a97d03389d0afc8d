#pragma once
// broadcast_deferred: broadcasts that run beside the program until their tensors are used. Internal.
#include <cstddef>
#include <vector>

#include "tandem/distributed/process_group.h"

namespace tandem::distributed {

/// The first window is small, so that the tensors that are used first arrive early.
constexpr size_t kFirstWindow = 1 << 20, kWindow = 25 << 20;

/// Writes the values of rank roots[i] to tensors[i] of all ranks, as broadcast_from() does, but returns when the calls
/// are under way: a tensor is written when its data are next accessed, which waits for the call and throws what it
/// failed with. The calls follow the order of the tensors, in windows of `window` bytes of all roots together; each
/// root sends one message for each window, dtype and device.
///
/// Waits at once for tensors with pointers that were handed out, since nothing tells when those are used; likewise for
/// all tensors on an accelerator if the program has captured graphs.
///
/// First waits for an earlier deferred broadcast of the same tensors.
void broadcast_deferred(ProcessGroup& group, const std::vector<Tensor>& tensors, const std::vector<int>& roots,
                        size_t window = kWindow);

}  // namespace tandem::distributed
