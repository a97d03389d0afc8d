#pragma once
// Matrix products. f16, bf16, f32 and f64 operands of one dtype; sums are held in f32 (f64 for f64). Inner sizes that
// differ: ShapeError; dtypes that differ: DTypeError (autocast makes them agree).
#include "tandem/tensor/tensor.h"

namespace tandem {

/// [n, k] x [k, m] -> [n, m]
Tensor mm(const Tensor& a, const Tensor& b);
/// [b, n, k] x [b, k, m] -> [b, n, m]
Tensor bmm(const Tensor& a, const Tensor& b);
/// beta input + alpha a b; input broadcasts to [n, m]
Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);
/// Product of any ranks, as in torch.matmul: vectors are rows on the left and columns on the right, batch dimensions
/// broadcast.
Tensor matmul(const Tensor& a, const Tensor& b);
/// x weight^T + bias; x: [..., in], weight: [out, in], bias (optional): [out] -> [..., out]
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
/// relu(linear(x, weight, bias)) in one call of the device's library where that keeps NaN: a tensor less, and equal to
/// the two ops up to the order of the sums (on the CPU in every bit). Source: torch._addmm_activation.
Tensor linear_relu(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

/// Products written in a dtype of the caller's choice (f32 or that of the operands), operands f32 where the other is
/// low rounded to the low dtype: how gradients of cast weights stay in f32. a: [.., n, k], b: [.., k, m], rank 2 or 3.
Tensor gemm(const Tensor& a, const Tensor& b, DType result);

}  // namespace tandem

#ifdef TANDEM_HEADER_ONLY_OPS
#include "tandem/ops/matmul-inl.h"
#endif
