#pragma once
// Casts to float8 with a choice of rounding. Tensor::to() has PyTorch's rounding; see docs/fp8.md.
#include <optional>

#include "tandem/base/arg.h"
#include "tandem/base/float8.h"
#include "tandem/tensor/random.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// How cast_float8 rounds.
struct Float8CastOptions {
  /// What becomes of values beyond the largest one. By default as in PyTorch: saturate in e4m3fn, overflow in e5m2.
  TANDEM_ARG(std::optional<Float8Overflow>, overflow);
  /// Rounds up or down at random, so that the result is x on average; otherwise to nearest even.
  TANDEM_ARG(bool, stochastic) = false;
  /// Of the random numbers, one for each element; by default default_generator().
  TANDEM_ARG(std::optional<Generator>, generator);
  /// x is multiplied by this number before it is rounded: f32, one element, on x's device. 1 if undefined.
  TANDEM_ARG(Tensor, scale);
  /// Becomes the larger of itself and max |x|, before scaling; NaN if x has a NaN. f32, one element of at least 0, on
  /// x's device.
  TANDEM_ARG(Tensor, amax);
};

/// x scale in a float8 dtype, kFloat8_e4m3fn or kFloat8_e5m2. The product is computed in f32, for an x of f64 in f64,
/// and rounded once more. NaN stays NaN. Reads neither scale nor amax on the host. Not differentiable. Throws
/// DTypeError for other dtypes and for an x that is not f16, bf16, f32 or f64.
Tensor cast_float8(const Tensor& x, DType dtype, const Float8CastOptions& options = {});

}  // namespace tandem
#pragma GCC visibility pop
