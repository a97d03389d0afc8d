#pragma once
// Equal tensors on all ranks. Internal.
#include <string>
#include <utility>
#include <vector>

#include "tandem/distributed/process_group.h"

namespace tandem::distributed {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Words for messages about replicated tensors.
struct ReplicaWords {
  const char* owner = "module";
  const char* one = "parameter or buffer";
  const char* many = "parameters and buffers";
};

/// Throws StateError on all ranks if they have tensors with different names, sizes, strides, dtypes or requires_grad;
/// the message names the first one. The list must not be empty.
void check_equal_on_all_ranks(ProcessGroup& group, const NamedTensors& tensors, const ReplicaWords& words = {});

/// Writes the values of rank roots[i] to tensors[i] of all ranks. The tensors of one root are sent together, one
/// message for each dtype and device; all messages are under way at the same time. The tensors of the roots are not
/// written.
void broadcast_from(ProcessGroup& group, const std::vector<Tensor>& tensors, const std::vector<int>& roots);

/// Writes the values of rank 0 to the tensors of all ranks.
void broadcast_from_first_rank(ProcessGroup& group, const NamedTensors& tensors);

}  // namespace tandem::distributed
