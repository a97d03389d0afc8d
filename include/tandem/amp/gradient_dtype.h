#pragma once
// In which precision the gradients of cast weights are computed.
#include <cstdint>

namespace tandem::amp {

/// Full: a weight that was cast to f16 or bf16 gets its gradient in f32 straight from the product.
/// Lower: the gradient is rounded through the low dtype first, as PyTorch does; for parity with its traces.
enum class GradientDType : uint8_t { Full, Lower };

/// For ops recorded from now on, in the whole process.
void set_gradient_dtype(GradientDType mode);
GradientDType gradient_dtype();

}  // namespace tandem::amp
