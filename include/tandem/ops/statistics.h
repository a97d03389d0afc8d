#pragma once
// More reductions. Empty `dims` means all dimensions. Sums of f16, bf16 and f32 are held as in reduce.h, products and
// squares in f64.
#include <concepts>
#include <optional>
#include <tuple>

#include "tandem/ops/reduce.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Product of all elements or along `dim`. Integers give i64. The gradient is right also if elements are 0.
Tensor prod(const Tensor& x, std::optional<DType> dtype = {});
Tensor prod(const Tensor& x, int64_t dim, bool keepdim = false, std::optional<DType> dtype = {});
/// Standard deviation: the square root of var(). The gradient is 0 where it is 0.
Tensor std(const Tensor& x, IntArrayRef dims, std::optional<Scalar> correction = {}, bool keepdim = false);
Tensor std(const Tensor& x);
/// Of all elements. Accepts only a bool, so that `std(x, {0})` is the deviation along dimension 0.
template <std::same_as<bool> B>
Tensor std(const Tensor& x, B unbiased) {
  return tandem::std(x, IntArrayRef(), unbiased ? 1 : 0);
}
/// The results of var() or std() and of mean()
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, IntArrayRef dims = {}, std::optional<Scalar> correction = {},
                                    bool keepdim = false);
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, IntArrayRef dims = {}, std::optional<Scalar> correction = {},
                                    bool keepdim = false);
template <std::same_as<bool> B>
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, B unbiased) {
  return var_mean(x, IntArrayRef(), unbiased ? 1 : 0);
}
template <std::same_as<bool> B>
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, B unbiased) {
  return std_mean(x, IntArrayRef(), unbiased ? 1 : 0);
}
/// Largest or smallest element along dimensions; NaN if there is any. The gradient is divided evenly among equal
/// elements.
Tensor amax(const Tensor& x, IntArrayRef dims = {}, bool keepdim = false);
Tensor amin(const Tensor& x, IntArrayRef dims = {}, bool keepdim = false);
/// Smallest and largest element, of all or along `dim`
std::tuple<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
/// log(sum e^x), without overflow; integers give f32. -inf if there are no elements.
Tensor logsumexp(const Tensor& x, IntArrayRef dims, bool keepdim = false);
/// Sum or mean of the elements that are not NaN. nanmean is for floating dtypes only.
Tensor nansum(const Tensor& x, IntArrayRef dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
Tensor nanmean(const Tensor& x, IntArrayRef dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
/// Number of elements that are not 0; i64
Tensor count_nonzero(const Tensor& x, IntArrayRef dims = {});
/// Whether any element, or all elements, along dimensions are not 0; bool
Tensor any(const Tensor& x, int64_t dim, bool keepdim = false);
Tensor any(const Tensor& x, IntArrayRef dims, bool keepdim = false);
Tensor all(const Tensor& x, int64_t dim, bool keepdim = false);
Tensor all(const Tensor& x, IntArrayRef dims, bool keepdim = false);

}  // namespace tandem
#pragma GCC visibility pop
