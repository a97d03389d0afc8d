#include "src/amp/tools/computing_dtype.h"

namespace tandem::amp {

DType computing_dtype(const autograd::ObservedOp& op) {
  if (op.float8) return *op.float8;
  if (op.dtype) return *op.dtype;
  std::optional<DType> widest;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const Tensor& x = op.input(i);
    if (!x.defined() || !is_differentiable(x.dtype())) continue;
    widest = widest ? promote_types(*widest, x.dtype()) : x.dtype();
  }
  if (widest) return *widest;
  for (const Tensor& y : op.outputs) {
    if (y.defined()) return y.dtype();
  }
  return kFloat;
}

}  // namespace tandem::amp
