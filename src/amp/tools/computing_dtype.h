#pragma once
// The dtype in which an op computed, for the tools. Internal.
#include "tandem/autograd/observer.h"

namespace tandem::amp {

/// Returns the float8 dtype of the operands of a product; else the op's dtype argument; else the widest dtype of its
/// floating inputs after casts; else that of its result.
DType computing_dtype(const autograd::ObservedOp& op);

}  // namespace tandem::amp
