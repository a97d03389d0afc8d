#pragma once
// Layer normalisation of a sum: a residual connection and the norm that follows it, in one pass over memory.
#include <tuple>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// (y, sum) with sum = add(x, residual) and y = layer_norm(sum, normalized_shape, weight, bias, eps), with the values
/// and dtypes of these two ops, also under autocast: sum has the dtype to which x and residual promote, and y has it,
/// too, or is f32 under autocast. x and residual are not cast. Both results are contiguous, and both are
/// differentiable; the backward reads sum, so that neither x nor residual is kept.
///
/// x and residual are floating and of equal sizes: nothing is broadcast. Throws ShapeError for other sizes, and else as
/// layer_norm does.
std::tuple<Tensor, Tensor> add_layer_norm(const Tensor& x, const Tensor& residual, IntArrayRef normalized_shape,
                                          const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

}  // namespace tandem
#pragma GCC visibility pop
