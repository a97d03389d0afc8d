#pragma once
// Contiguous tensors in e4m3fn with a scale for each block of math::kStateBlock elements: x = code * inverse scale.
// Internal.
#include "tandem/math/optim_state.h"
#include "tandem/tensor/tensor.h"

namespace tandem::detail {

/// The number of blocks of a tensor with `numel` elements.
inline int64_t float8_block_count(int64_t numel) { return (numel + math::kStateBlock - 1) / math::kStateBlock; }
/// The values in f32, contiguous.
Tensor widen_float8_blocks(const Tensor& codes, const Tensor& inverse);
/// Rounds x to nearest even, and writes codes and inverse scales. An inf or NaN becomes NaN and leaves its block's
/// scale alone. x: floating, any strides. Computed on the CPU: for loading and changes of options, not for steps.
void round_to_float8_blocks(const Tensor& codes, const Tensor& inverse, const Tensor& x);

}  // namespace tandem::detail
