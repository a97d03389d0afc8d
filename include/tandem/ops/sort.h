#pragma once
// Sorting, selection by rank, quantiles and distinct elements. NaN is greater than all numbers. All sorts are stable:
// equal elements keep their order. Indices are i64 positions along the dimension. Gradients go to the elements that
// were selected. Rank 0 counts as one element. A missing dimension throws IndexError.
#include <concepts>
#include <optional>
#include <string_view>
#include <tuple>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Values and indices, sorted along `dim`.
std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, bool descending = false);
/// `stable` is there for compatibility: the result is the same.
std::tuple<Tensor, Tensor> sort(const Tensor& x, std::optional<bool> stable, int64_t dim = -1, bool descending = false);
/// The indices of sort().
Tensor argsort(const Tensor& x, int64_t dim = -1, bool descending = false);
template <std::same_as<bool> B>
Tensor argsort(const Tensor& x, [[maybe_unused]] B stable, int64_t dim = -1, bool descending = false) {
  return argsort(x, dim, descending);
}
/// The values of sort() along the first dimension.
Tensor msort(const Tensor& x);
/// The k largest or smallest elements along `dim` and their indices; of equals the first. Unless `sorted`, in any
/// order. Throws IndexError if k is negative or above the size.
std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true);
/// The k-th smallest element along `dim`, k from 1, and its index. Throws IndexError if there is no such element.
std::tuple<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim = -1, bool keepdim = false);

/// The median of all elements: the lower of the two in the middle; NaN if any is NaN or if there are none. The gradient
/// is divided evenly among equal elements.
Tensor median(const Tensor& x);
/// The median along `dim` and its index.
std::tuple<Tensor, Tensor> median(const Tensor& x, int64_t dim, bool keepdim = false);
/// The median of the elements that are not NaN; NaN if there are none.
Tensor nanmedian(const Tensor& x);
std::tuple<Tensor, Tensor> nanmedian(const Tensor& x, int64_t dim, bool keepdim = false);
/// The most frequent element along `dim`, the smallest of several, and the index of its last occurrence.
std::tuple<Tensor, Tensor> mode(const Tensor& x, int64_t dim = -1, bool keepdim = false);

/// The elements of rank q (n - 1) in the sorted rows along `dim`, or of all elements, for q in [0, 1]. Between two
/// ranks, `interpolation` is linear, lower, higher, midpoint or nearest. NaN if any element is NaN. q: a number, or a
/// tensor of x's dtype and rank at most 1; its dimension comes first in the result. Computed in f32 for f16 and bf16.
Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim = {}, bool keepdim = false,
                std::string_view interpolation = "linear");
Tensor quantile(const Tensor& x, double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                std::string_view interpolation = "linear");
/// The same of the elements that are not NaN.
Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim = {}, bool keepdim = false,
                   std::string_view interpolation = "linear");
Tensor nanquantile(const Tensor& x, double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                   std::string_view interpolation = "linear");

/// The distinct elements of x in ascending order (always: `sorted` is there for compatibility); the index of each
/// element of x in them; how often each occurs. Each NaN is distinct. Results that are not asked for are empty. Waits
/// for the device. Not differentiable.
std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& x, bool sorted = true, bool return_inverse = false,
                                            bool return_counts = false);
/// The same without the counts.
std::tuple<Tensor, Tensor> _unique(const Tensor& x, bool sorted = true, bool return_inverse = false);
/// The distinct slices of x along `dim`, in lexicographic order.
std::tuple<Tensor, Tensor, Tensor> unique_dim(const Tensor& x, int64_t dim, bool sorted = true,
                                              bool return_inverse = false, bool return_counts = false);
/// The first of each run of equal elements of the flattened x, or of equal slices along `dim`.
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& x, bool return_inverse = false,
                                                      bool return_counts = false, std::optional<int64_t> dim = {});

}  // namespace tandem
#pragma GCC visibility pop
