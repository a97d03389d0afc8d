#pragma once
// The largest magnitude of a tensor, for scales of float8.
#include "tandem/tensor/tensor.h"

namespace tandem::cpu {

/// max |x| in f32; NaN if x has a NaN, 0 if x is empty. x: f16, bf16 or f32.
float largest_magnitude(const Tensor& x);
/// Raises `amax`, f32 [1], to `magnitude`, which NaN exceeds all, and returns the larger of the two. Safe to call
/// concurrently.
float raise_amax(const Tensor& amax, float magnitude);

}  // namespace tandem::cpu
