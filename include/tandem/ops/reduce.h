#pragma once
// Reductions. Empty `dims` means all dimensions. Sums of f16, bf16 and f32 are held in f32 for at most 32 terms and in
// f64 over these, sums of f64 in f64, sums of integers in i64; `sum` of integers gives i64.
#include <concepts>
#include <optional>
#include <tuple>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Sum of all elements, or along `dims`.
Tensor sum(const Tensor& x, std::optional<DType> dtype = {});
Tensor sum(const Tensor& x, IntArrayRef dims, bool keepdim = false, std::optional<DType> dtype = {});
/// Sums along `dim` up to each element: y_i = x_0 + ... + x_i. Integers give i64. Sums of f16, bf16 and f32 are held in
/// f64, and results rounded to f32 and then to their dtype. Throws IndexError if there is no such dimension.
Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// Floating dtypes only.
Tensor mean(const Tensor& x, std::optional<DType> dtype = {});
Tensor mean(const Tensor& x, IntArrayRef dims, bool keepdim = false, std::optional<DType> dtype = {});
/// Variance with the divisor max(0, n - correction), by Welford's algorithm. The correction is 1 by default.
Tensor var(const Tensor& x, IntArrayRef dims, std::optional<Scalar> correction = {}, bool keepdim = false);
Tensor var(const Tensor& x);
/// Variance of all elements. Accepts only a bool, so that `var(x, {0})` is the variance along dimension 0.
template <std::same_as<bool> B>
Tensor var(const Tensor& x, B unbiased) {
  return var(x, IntArrayRef(), unbiased ? 1 : 0);
}
/// (sum |x|^p)^(1/p), max |x| for p = inf, min |x| for p = -inf, or the number of nonzero elements for p = 0; of all
/// elements or along `dims`. Floating dtypes only.
Tensor norm(const Tensor& x, Scalar p = 2, std::optional<DType> dtype = {});
Tensor norm(const Tensor& x, Scalar p, IntArrayRef dims, bool keepdim = false, std::optional<DType> dtype = {});
/// Largest or smallest of all elements; NaN if there is any. The gradient is divided evenly among equal elements.
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
/// Values and i64 indices of the largest or smallest elements along `dim`: the first of equals; a NaN if there is any.
/// The gradient goes to that element.
std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim = false);
std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim = false);
/// i64 index of the largest or smallest element; without `dim`, the index in the flattened tensor.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
/// Whether any element, or all elements, are not zero; bool.
Tensor any(const Tensor& x);
Tensor all(const Tensor& x);

}  // namespace tandem
#pragma GCC visibility pop
