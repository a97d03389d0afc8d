#pragma once
// softmax and log_softmax, and their derivatives as ops. Sums are held in f32 (f64 for f64).
#include <optional>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// softmax(x)_i = exp(x_i - max x) / sum_j exp(x_j - max x) along `dim`; [.., n, ..] -> same shape. The result has
/// `dtype`, by default x's (under autocast f32). Throws IndexError if `dim` is outside [-rank, rank), DTypeError if
/// the result's dtype would not be floating.
Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// log(softmax(x)), computed as x_i - max x - log sum_j exp(x_j - max x). Otherwise the same as softmax.
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});

/// gx = y (gy - sum(gy y)) along `dim`, where y = softmax(x). The result has y's dtype. Throws ShapeError if the sizes
/// of gy and y differ, DTypeError if their dtypes do.
Tensor softmax_backward(const Tensor& gy, const Tensor& y, int64_t dim);
/// gx = gy - exp(y) sum(gy) along `dim`, where y = log_softmax(x).
Tensor log_softmax_backward(const Tensor& gy, const Tensor& y, int64_t dim);

}  // namespace tandem
#pragma GCC visibility pop
