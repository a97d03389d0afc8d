#pragma once
// Result dtypes of ops with several operands, by PyTorch's rules.
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Returns the dtype in which an op on `a` and `b` computes. Tensors of rank >= 1 have priority over 0-dim tensors, and
/// those over Scalars: an operand of lower priority matters only if its category (bool, integer, floating) is higher.
/// Source: torch.result_type.
DType result_type(const Tensor& a, const Tensor& b);
DType result_type(const Tensor& a, Scalar b);
inline DType result_type(Scalar a, const Tensor& b) { return result_type(b, a); }
DType result_type(Scalar a, Scalar b);
/// Returns the dtype for a list of tensors, by the same rules.
DType result_type(TensorList tensors);
/// False where a value would lose its kind: from floating to integer dtypes, and from both to bool. Source:
/// torch.can_cast.
bool can_cast(DType from, DType to);

}  // namespace tandem
#pragma GCC visibility pop
