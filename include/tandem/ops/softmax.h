#pragma once
// softmax and log_softmax, and their derivatives as ops. Sums are held in f32, for f64 in f64.
#include <optional>

#include "tandem/tensor/tensor.h"

namespace tandem {

/// softmax(x)_i = exp(x_i - max x) / sum_j exp(x_j - max x) along `dim`; [.., n, ..] -> same shape. The result has
/// `dtype`, by default x's; under autocast f32. Throws IndexError when `dim` is outside [-rank, rank), DTypeError when
/// the result would be an integer.
Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// log(softmax(x)), computed as x_i - max x - log sum_j exp(x_j - max x). Otherwise like softmax.
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});

/// gx = y (gy - sum(gy y)) along `dim`, where y = softmax(x); dtype of y. Throws ShapeError when gy and y differ in
/// sizes.
Tensor softmax_backward(const Tensor& gy, const Tensor& y, int64_t dim);
/// gx = gy - exp(y) sum(gy) along `dim`, where y = log_softmax(x).
Tensor log_softmax_backward(const Tensor& gy, const Tensor& y, int64_t dim);

}  // namespace tandem

#ifdef TANDEM_HEADER_ONLY_OPS
#include "tandem/ops/softmax-inl.h"
#endif
