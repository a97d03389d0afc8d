#pragma once
// The arithmetic of collectives. Internal.
#include <vector>

#include "src/base/component.h"
#include "tandem/distributed/reduce_op.h"
#include "tandem/tensor/tensor.h"

namespace tandem::distributed {

/// Combines tensors of equal sizes and dtype in the order of the list, as ReduceOp describes, and writes the result to
/// `result`, which may be one of them.
TANDEM_FOR_COMPONENTS void combine(const Tensor& result, const std::vector<Tensor>& parts, ReduceOp op);

}  // namespace tandem::distributed
