#pragma once
// postpone_unscale: unscales gradients lazily, when their data is first accessed.
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::amp::detail {

/// Multiplies `grads` by `inverse_scale`, after a fused step that multiplied them only as it read them. The
/// multiplication is postponed until the data is first accessed, and omitted if the gradient is dropped before. A
/// gradient that requires grad, or whose memory is accessible in other ways, is unscaled at once.
void postpone_unscale(const std::vector<Tensor>& grads, const Tensor& inverse_scale);

}  // namespace tandem::amp::detail
#pragma GCC visibility pop
