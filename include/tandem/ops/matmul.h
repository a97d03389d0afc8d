#pragma once
// Matrix products of f16, bf16, f32 and f64 operands. Sums are held in f32 (f64 for f64). Different inner sizes throw
// ShapeError; different dtypes throw DTypeError (autocast makes them equal).
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// [n, k] x [k, m] -> [n, m]
Tensor mm(const Tensor& a, const Tensor& b);
/// [b, n, k] x [b, k, m] -> [b, n, m]
Tensor bmm(const Tensor& a, const Tensor& b);
/// beta input + alpha a b; input broadcasts to [n, m]
Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);
/// Product of tensors of any rank from 1, as torch.matmul: vectors are rows on the left and columns on the right; batch
/// dimensions broadcast.
Tensor matmul(const Tensor& a, const Tensor& b);
/// x weight^T + bias; x: [..., in], weight: [out, in], bias (optional): [out] -> [..., out]
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
/// relu(linear(x, weight, bias)), in one call of the device's library if that propagates NaN. Makes one tensor fewer
/// than the two ops, with the same result up to the order of the sums (on the CPU: the same bits).
/// Source: torch._addmm_activation.
Tensor linear_relu(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

/// Product in the dtype `result`: f32 or that of the operands. If one operand is f32 and the other f16 or bf16, the f32
/// one is rounded to that dtype. Used to keep gradients of cast weights in f32. a: [.., n, k], b: [.., k, m], rank 2 or
/// 3.
Tensor gemm(const Tensor& a, const Tensor& b, DType result);

}  // namespace tandem
#pragma GCC visibility pop
