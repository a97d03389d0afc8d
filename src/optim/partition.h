#pragma once
// A partition of parameters over ranks. Internal.
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem::optim {

/// Gives each of `params` that is behind the end of `owners` a rank in [0, ranks). The largest parameter comes first
/// and goes to the rank with the fewest elements, the lowest one of several; of equally large parameters, the first
/// comes first. Parameters that share memory get the same rank, since their updates are not independent. The result
/// depends only on the sizes, the order and the shared memory of the parameters.
void extend_partition(std::vector<int>& owners, const std::vector<Tensor>& params, int ranks);

}  // namespace tandem::optim
