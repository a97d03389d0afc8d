#pragma once
// The default dtype: that of new floating tensors if their options name none.
#include "tandem/base/dtype.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Returns the dtype of tensors that factories and modules make from floating numbers or from nothing, and of floating
/// results of integers (`div`, `sin`, an integer tensor times 0.5). Initially f32. As torch.get_default_dtype.
DType get_default_dtype();
inline DType get_default_dtype_as_scalartype() { return get_default_dtype(); }

/// Sets the default dtype of the process. Set it before tensors are made: existing ones keep their dtype. Does not
/// affect autocast, a GradScaler's numbers, or files. As torch.set_default_dtype. Throws DTypeError unless `dtype` is
/// floating.
void set_default_dtype(DType dtype);

}  // namespace tandem
#pragma GCC visibility pop
