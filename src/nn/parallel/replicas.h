#pragma once
// Equal tensors on all ranks. Internal.
#include <string>
#include <utility>
#include <vector>

#include "tandem/dist/process_group.h"

namespace tandem::nn::parallel::detail {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Throws StateError on all ranks if they have tensors with different names, sizes or dtypes; the message names the
/// first one.
void check_equal_on_all_ranks(distributed::ProcessGroup& group, const NamedTensors& tensors);

/// Writes the values of rank 0 to the tensors of all ranks, which are sent together, one message for each dtype.
void broadcast_from_first_rank(distributed::ProcessGroup& group, const NamedTensors& tensors);

}  // namespace tandem::nn::parallel::detail
