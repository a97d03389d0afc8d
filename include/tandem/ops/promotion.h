#pragma once
// Result dtypes of ops over several operands, by PyTorch's rules.
#include "tandem/tensor/tensor.h"

namespace tandem {

/// The dtype that an op over `a` and `b` computes in: tensors of rank >= 1 decide; a 0-dim tensor, and after it a
/// Scalar, only raise the category (bool, integer, floating). Source: torch.result_type.
DType result_type(const Tensor& a, const Tensor& b);
DType result_type(const Tensor& a, Scalar b);
/// The widest dtype of a list, by the same rules.
DType result_type(TensorList tensors);
/// False where a value would lose its kind: from floating to integer dtypes, and from both to bool. Source:
/// torch.can_cast.
bool can_cast(DType from, DType to);

}  // namespace tandem
