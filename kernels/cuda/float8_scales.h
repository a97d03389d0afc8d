#pragma once
// The scales of float8 codes in the layouts that cuBLASLt reads. Source: cuBLAS documentation (CUDA 13.0), "Narrow
// Precision Data Types Usage".
#include <optional>

#include "kernels/cuda/gemm_key.h"
#include "tandem/backend.h"

namespace tandem::cuda {

/// The form of an operand's scales, whose columns are along the summed dimension. Empty if cuBLASLt has no such form.
std::optional<ScaleForm> scale_form(const Float8Scales& scales);
/// Whether a device of this compute capability (90 for 9.0) multiplies operands with these forms.
bool multiplies_scaled(ScaleForm a, ScaleForm b, int capability);
/// The inverse scales in the layout of `form`, aligned to 16 bytes unless there is only one. Copies them if their
/// layout is another one.
Tensor laid_out(const Tensor& inverse, ScaleForm form);

}  // namespace tandem::cuda
