#pragma once
// Search in sorted sequences, and counts. Not differentiable.
#include <optional>
#include <string_view>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Positions at which x's elements can be inserted into `sorted` so that it stays in ascending order: before equal
/// elements, or after them if `right` or side == "right". sorted: rank 1, or x's sizes except in the last dimension; of
/// x's dtype. sorter (optional): the argsort of an unsorted `sorted`. i64, or i32 if `out_int32`.
Tensor searchsorted(const Tensor& sorted, const Tensor& x, bool out_int32 = false, bool right = false,
                    std::optional<std::string_view> side = {}, const Tensor& sorter = {});
Tensor searchsorted(const Tensor& sorted, Scalar x, bool out_int32 = false, bool right = false,
                    std::optional<std::string_view> side = {}, const Tensor& sorter = {});
/// searchsorted in boundaries of rank 1: the i with boundaries[i - 1] < x <= boundaries[i], or with `right`
/// boundaries[i - 1] <= x < boundaries[i].
Tensor bucketize(const Tensor& x, const Tensor& boundaries, bool out_int32 = false, bool right = false);
Tensor bucketize(Scalar x, const Tensor& boundaries, bool out_int32 = false, bool right = false);
/// For each of `elements` (bool, its sizes): whether it is among test_elements, or with `invert` whether it is not. NaN
/// is among none. Sorts test_elements; assume_unique has no effect. Throws DTypeError for bool tensors, as PyTorch.
Tensor isin(const Tensor& elements, const Tensor& test_elements, bool assume_unique = false, bool invert = false);
Tensor isin(const Tensor& elements, Scalar test_element, bool assume_unique = false, bool invert = false);
Tensor isin(Scalar element, const Tensor& test_elements, bool assume_unique = false, bool invert = false);
/// How many elements lie in each of `bins` intervals of equal width from min to max, both included; elements outside
/// and NaN are not counted. If min == max, x's smallest and largest elements are used. Floating dtypes; x's dtype.
Tensor histc(const Tensor& x, int64_t bins = 100, Scalar min = 0, Scalar max = 0);
/// How often each number from 0 to the largest occurs in x (integers, rank 1, not negative), or the sums of the weights
/// of its occurrences. The result has at least `minlength` elements; i64, or with weights f32 for f32 weights, else
/// f64. Waits for the device.
Tensor bincount(const Tensor& x, const Tensor& weights = {}, int64_t minlength = 0);

}  // namespace tandem
#pragma GCC visibility pop
