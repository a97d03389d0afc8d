#pragma once
// More products of vectors and matrices. Sums of f16, bf16 and f32 are held in f32 or wider. Matrix products need
// floating operands of one dtype, else they throw DTypeError (autocast makes the dtypes equal).
#include <optional>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// sum of a_i b_i; a, b: [n] -> []
Tensor dot(const Tensor& a, const Tensor& b);
/// The same, as numbers are real.
Tensor vdot(const Tensor& a, const Tensor& b);
/// Sums of products along the last dimensions, which have equal sizes: [..., n], [*, n] -> [..., *]. If an operand is
/// 0-dim, a b.
Tensor inner(const Tensor& a, const Tensor& b);
/// y_ij = a_i b_j; a: [n], b: [m] -> [n, m]
Tensor outer(const Tensor& a, const Tensor& b);
Tensor ger(const Tensor& a, const Tensor& b);
/// [n, k] x [k] -> [n]
Tensor mv(const Tensor& matrix, const Tensor& vector);
/// Sums of a_i b_i along `dim`; the sizes broadcast. One pass without a temporary.
Tensor linalg_vecdot(const Tensor& a, const Tensor& b, int64_t dim = -1);

/// beta input + alpha matrix vector; input broadcasts to [n]. Here and below, with beta = 0 the input is not read.
Tensor addmv(const Tensor& input, const Tensor& matrix, const Tensor& vector, Scalar beta = 1, Scalar alpha = 1);
/// beta input + alpha outer(a, b); input broadcasts to [n, m]. The dtypes are promoted.
Tensor addr(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);
/// beta input + alpha (a[0] b[0] + a[1] b[1] + ...); a: [s, n, k], b: [s, k, m], input broadcasts to [n, m]. One
/// product with an inner size of s k.
Tensor addbmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);
/// beta input + alpha a b for batches; a: [s, n, k], b: [s, k, m], input broadcasts to [s, n, m].
Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);

/// Sums of products over dimensions dims_a of a and dims_b of b, in pairs: the other dimensions of a, then those of b,
/// remain. One matrix product. A size of 1 broadcasts against the other of its pair.
Tensor tensordot(const Tensor& a, const Tensor& b, IntArrayRef dims_a, IntArrayRef dims_b);
/// Over the last `dims` dimensions of a and the first of b.
Tensor tensordot(const Tensor& a, const Tensor& b, int64_t dims = 2);
/// The product of matrices, in the order that needs the fewest multiplications.
Tensor chain_matmul(TensorList matrices);
/// The same for at least two; the first may be a row [n], the last a column [n].
Tensor linalg_multi_dot(TensorList tensors);
/// x^n for square matrices [..., m, m] and n >= 0, by repeated squaring. Throws NotImplementedError for n < 0.
Tensor matrix_power(const Tensor& x, int64_t n);
Tensor linalg_matrix_power(const Tensor& x, int64_t n);

/// Kronecker product: each element of a times b. Sizes multiply; the shorter list is padded with ones on the left.
/// The operands' rank is at most kMaxRank / 2.
Tensor kron(const Tensor& a, const Tensor& b);
/// Cross product along `dim`, which has size 3; without `dim`, along the first dimension of a that has size 3. The
/// other sizes broadcast.
Tensor cross(const Tensor& a, const Tensor& b, std::optional<int64_t> dim = {});
Tensor linalg_cross(const Tensor& a, const Tensor& b, int64_t dim = -1);
/// y_o = sum_ij x1_i weight_oij x2_j + bias_o; x1: [..., n], x2: [..., m], weight: [o, n, m], bias (optional): [o] ->
/// [..., o]. Source: torch.nn.functional.bilinear.
Tensor bilinear(const Tensor& x1, const Tensor& x2, const Tensor& weight, const Tensor& bias = {});

}  // namespace tandem
#pragma GCC visibility pop
