#pragma once
// GradientDType: the precision of gradients of inputs that autocast has cast.
#include <cstdint>

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Full: gradients of inputs that were cast to f16 or bf16 are not rounded to that dtype: the matrix product writes the
/// f32 gradient of a weight directly. Lower: gradients are rounded to the low dtype first, as in PyTorch, to reproduce
/// its results.
enum class GradientDType : uint8_t { Full, Lower };

/// Sets the mode for ops recorded from now on, for the whole process.
void set_gradient_dtype(GradientDType mode);
/// The current mode.
GradientDType gradient_dtype();

}  // namespace tandem::amp
#pragma GCC visibility pop
