#pragma once
// Moments that Adam keeps in the dtype of its options: f32 or bf16, or e4m3fn with the inverse scales of blocks.
#include "tandem/tensor/tensor.h"

namespace tandem::optim {

/// The dtype in which a moment of `p` is kept if the options ask for `wanted`: f64 for f64 parameters.
DType moment_dtype(const Tensor& p, DType wanted);
/// Sets `value` and `scale` to a moment of zeros. `scale` is undefined unless the dtype is e4m3fn.
void create_moment(const Tensor& p, DType wanted, Tensor& value, Tensor& scale);
/// Gives a moment the dtype that the options ask for, if they have changed. Rounds to nearest.
void refit_moment(const Tensor& p, DType wanted, Tensor& value, Tensor& scale);
/// Throws StateError unless the moment fits `p`.
void check_moment(const char* name, const Tensor& p, DType wanted, const Tensor& value, const Tensor& scale);

}  // namespace tandem::optim
