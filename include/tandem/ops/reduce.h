#pragma once
// Reductions. `dims` empty means all dimensions. Sums of f16, bf16 and f32 are held in f32, of f64 in f64, of integers
// in i64; `sum` of integers gives i64.
#include <concepts>
#include <optional>
#include <tuple>

#include "tandem/tensor/tensor.h"

namespace tandem {

Tensor sum(const Tensor& x, std::optional<DType> dtype = {});
Tensor sum(const Tensor& x, IntArrayRef dims, bool keepdim = false, std::optional<DType> dtype = {});
/// Floating dtypes only.
Tensor mean(const Tensor& x, std::optional<DType> dtype = {});
Tensor mean(const Tensor& x, IntArrayRef dims, bool keepdim = false, std::optional<DType> dtype = {});
/// Variance divided by max(0, n - correction). Welford's algorithm.
Tensor var(const Tensor& x, IntArrayRef dims, int64_t correction = 1, bool keepdim = false);
Tensor var(const Tensor& x);
/// Over all elements. Takes nothing but a bool: `var(x, {0})` is the variance along dimension 0.
template <std::same_as<bool> B>
Tensor var(const Tensor& x, B unbiased) {
  return var(x, IntArrayRef(), unbiased ? 1 : 0);
}
/// (sum |x|^p)^(1/p) for p = 1, 2, inf or another positive number; over all elements, or along `dims`.
Tensor norm(const Tensor& x, Scalar p = 2, std::optional<DType> dtype = {});
Tensor norm(const Tensor& x, Scalar p, IntArrayRef dims, bool keepdim = false, std::optional<DType> dtype = {});
/// Largest or smallest of all elements; NaN wins. The gradient is shared evenly among equals.
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
/// Values and i64 indices along `dim`; the first of equals, NaN wins. The gradient goes to that element.
std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim = false);
std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim = false);
/// i64 index of the largest or smallest; without `dim` over the flattened tensor.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
/// bool: any / all elements are not zero.
Tensor any(const Tensor& x);
Tensor all(const Tensor& x);

}  // namespace tandem

#ifdef TANDEM_HEADER_ONLY_OPS
#include "tandem/ops/reduce-inl.h"
#endif
