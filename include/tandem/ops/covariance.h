#pragma once
// Covariances and correlation coefficients. Autocast does not lower the products in them: covariances of numbers of
// ordinary size leave f16's range.
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// The covariances of the rows of x [variables, n], whose columns are n observations: [variables, variables], or rank 0
/// for one variable. A tensor of rank 0 or 1 is one variable. With the weight w_k = fweights_k aweights_k of
/// observation k, W = sum_k w_k, and the weighted means m_i:
///     cov_ij = sum_k w_k (x_ik - m_i) (x_jk - m_j) / (W - correction sum_k w_k aweights_k / W)
/// The divisor is W - correction without aweights. A divisor that is not positive counts as 0, so that the result is
/// infinite or NaN. fweights [n] (optional): how often each observation was made, integers; aweights [n] (optional):
/// its importance, floating. On the CPU, weights that are negative or all 0 throw StateError. Integers give f32; bool
/// throws DTypeError.
Tensor cov(const Tensor& x, int64_t correction = 1, const Tensor& fweights = {}, const Tensor& aweights = {});
/// The correlation coefficients of the rows of x, cov_ij / sqrt(cov_ii cov_jj), clamped to [-1, 1]. Shapes as in cov().
Tensor corrcoef(const Tensor& x);

}  // namespace tandem
#pragma GCC visibility pop
