#pragma once
// Scans along a dimension, beside cumsum (ops/reduce.h), and differences. A missing dimension throws IndexError.
#include <optional>
#include <tuple>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Products along `dim` up to each element: y_i = x_0 ... x_i. Integers give i64. Products of f16, bf16 and f32 are
/// held in f64, and results rounded to f32 and then to their dtype. The gradient is right for any number of zeros.
Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// Largest or smallest element along `dim` up to each element, and its i64 index: the last of equals. NaN wins. The
/// gradient goes to that element.
std::tuple<Tensor, Tensor> cummax(const Tensor& x, int64_t dim);
std::tuple<Tensor, Tensor> cummin(const Tensor& x, int64_t dim);
/// y_i = log(e^x_0 + ... + e^x_i) along `dim`, without overflow; held in f64. Floating dtypes only.
Tensor logcumsumexp(const Tensor& x, int64_t dim);

/// Differences of neighbours along `dim`, x_(i + 1) - x_i, taken n times; `prepend` and `append` (optional) are joined
/// to x first. For bool: whether neighbours differ.
Tensor diff(const Tensor& x, int64_t n = 1, int64_t dim = -1, const Tensor& prepend = {}, const Tensor& append = {});

/// Integral of y along `dim` by the trapezoidal rule: the sum of (x_(i + 1) - x_i) (y_i + y_(i + 1)) / 2, or of
/// dx (y_i + y_(i + 1)) / 2. x has y's size along `dim`: rank 1, or broadcast against y.
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor trapezoid(const Tensor& y, Scalar dx = 1, int64_t dim = -1);
/// The sums up to each term: one element fewer than y along `dim`.
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor cumulative_trapezoid(const Tensor& y, Scalar dx = 1, int64_t dim = -1);

/// The powers of each element of x (rank 1) as a row of n: x^(n - 1), ..., x, 1, or 1, x, ... if `increasing`. n: the
/// number of elements unless given. Integers give i64.
Tensor vander(const Tensor& x, std::optional<int64_t> n = {}, bool increasing = false);
/// The powers 1, x, ..., x^(n - 1) along a new last dimension. n: the size of x's last dimension unless given, at least
/// 2. Integers give i64.
Tensor linalg_vander(const Tensor& x, std::optional<int64_t> n = {});

}  // namespace tandem
#pragma GCC visibility pop
