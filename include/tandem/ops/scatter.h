#pragma once
// Writing and combining by index along one dimension; ops/index.h has scatter_add and index_add. Indices are i64 or i32
// and, except in index_fill, not negative. On the CPU, an index out of range throws IndexError.
//
// If several values are written to one place, the last one wins on the CPU and, with cuda::set_deterministic(true), on
// CUDA; else any of them. Every one of them gets the place's gradient, as in PyTorch.
#include <string_view>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Returns x with src[i, j, k] written to [i, index[i, j, k], k], for dim = 1. The sizes of `index` are at most src's
/// and, except in `dim`, at most x's. Throws DTypeError if the dtypes of x and src differ.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);
/// The same with one number for all places.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, Scalar value);
/// The same, where `reduce` is "add" or "multiply": combines with the values of x and with each other.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce);
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, Scalar value, std::string_view reduce);

/// Returns x with, at each place, its value and those of src that `index` leads there (as in scatter) replaced by their
/// "sum", "prod", "mean", "amax" or "amin"; without x's value if `include_self` is false. Other places keep x's value.
/// Sums and products of f16 and bf16 are held in f32. Means of integers are rounded down, exact up to 2^53. amax and
/// amin propagate NaN; equal extremes share the gradient.
Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                      bool include_self = true);

/// Returns x with slice index[j] along `dim` replaced by slice j of `source`. source has x's sizes except in `dim`.
/// Throws DTypeError if the dtypes differ (autocast promotes them).
Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
/// Returns x with the slices along `dim` that `index` names filled with one number. Negative indices count from the
/// end.
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, Scalar value);
/// The same with the value in a tensor of rank 0, which can get a gradient.
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value);
/// scatter_reduce of whole slices, as in index_copy: "prod", "mean", "amax" or "amin".
Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                    bool include_self = true);

/// In-place forms; return self. apply_in_place says which calls throw.
const Tensor& scatter_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
const Tensor& scatter_(const Tensor& self, int64_t dim, const Tensor& index, Scalar value);
const Tensor& scatter_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                       std::string_view reduce);
const Tensor& scatter_(const Tensor& self, int64_t dim, const Tensor& index, Scalar value, std::string_view reduce);
const Tensor& scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                              std::string_view reduce, bool include_self = true);
const Tensor& index_copy_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
const Tensor& index_fill_(const Tensor& self, int64_t dim, const Tensor& index, Scalar value);
const Tensor& index_fill_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value);
const Tensor& index_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                            std::string_view reduce, bool include_self = true);

}  // namespace tandem
#pragma GCC visibility pop
