#pragma once
// Moments that Adam keeps in the dtype of its options: f32 or bf16, or e4m3fn with the inverse scales of blocks.
#include "tandem/tensor/tensor.h"

namespace tandem::optim {

/// A moment; `scale` is undefined unless `value` is e4m3fn.
struct Moment {
  Tensor value, scale;
};

/// Returns a moment of zeros for `p`, in the dtype that the options ask for; f64 for f64 parameters.
Moment zero_moment(const Tensor& p, DType wanted);
/// Returns the moment in the dtype that the options ask for: the same tensors, or new ones, rounded to nearest, if the
/// options have changed. A moment that does not fit `p` is returned as it is, for check_moment().
Moment refitted(const Tensor& p, DType wanted, const Tensor& value, const Tensor& scale);
/// Throws StateError unless the moment fits `p`.
void check_moment(const char* name, const Tensor& p, DType wanted, const Moment& moment);

}  // namespace tandem::optim
