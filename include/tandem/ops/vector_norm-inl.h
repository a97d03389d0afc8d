#pragma once
#include "tandem/ops/vector_norm.h"

#include <cmath>

#include "tandem/ops/shape.h"
#include "tandem/ops/vector_norm_forms-inl.h"

namespace tandem {

TANDEM_OPS Tensor linalg_vector_norm(const Tensor& x, Scalar ord, IntArrayRef dims, bool keepdim,
                                     std::optional<DType> dtype) {
  return detail::norm_of(Op<"linalg_vector_norm">(), x, ord.to_double(), dims, keepdim, dtype);
}

namespace detail {

/// The norm of matrices: the Frobenius norm, or one of order 1, -1, inf or -inf.
inline Tensor matrix_norm_of(const Op<"linalg_matrix_norm">& op, const Tensor& x, std::optional<double> order,
                             IntArrayRef dims, bool keepdim, std::optional<DType> given_dtype) {
  check_norm_dtype(x, given_dtype);
  TANDEM_CHECK(x.dim() >= 2, ShapeError, "x is {}, but a matrix norm needs two dimensions", checks::show(x));
  TANDEM_CHECK(dims.size() == 2, ShapeError, "dims is {}, but must name two dimensions", to_string(dims));
  const int64_t row = wrap_dim(dims[0], x.dim()), column = wrap_dim(dims[1], x.dim());
  TANDEM_CHECK(row != column, IndexError, "dimension {} appears twice in {}", row, to_string(dims));
  const std::optional<DType> dtype = dtype_by_policy(op, x, given_dtype);
  if (!order) return linalg_vector_norm(x, 2, {row, column}, keepdim, dtype);
  TANDEM_CHECK(std::abs(*order) != 2, NotImplementedError,
               "ord = {} needs singular values, which tandem does not have; use \"fro\", 1 or inf", *order);
  TANDEM_CHECK(std::abs(*order) == 1 || std::isinf(*order), StateError,
               "ord = {}, but must be 1, -1, inf, -inf, \"fro\" or \"nuc\"", *order);
  const bool columns = std::abs(*order) == 1;
  const Tensor sums = linalg_vector_norm(x, 1, {columns ? row : column}, true, dtype);
  const Tensor y = linalg_vector_norm(sums, *order > 0 ? INFINITY : -INFINITY, {columns ? column : row}, true, dtype);
  return keepdim ? y : with_shape(y, NormShape(x, {row, column}, false).result);
}

/// The order that a name stands for: none for "fro".
inline std::optional<double> order_named(NormName ord) {
  TANDEM_CHECK(ord.text == "fro" || ord.text == "nuc", StateError,
               "ord = \"{}\", but must be \"fro\", \"nuc\" or a number", ord.text);
  TANDEM_CHECK(ord.text == "fro", NotImplementedError,
               "ord = \"nuc\" needs singular values, which tandem does not have; use \"fro\", 1 or inf");
  return std::nullopt;
}

}  // namespace detail

TANDEM_OPS Tensor linalg_matrix_norm(const Tensor& x, Scalar ord, IntArrayRef dims, bool keepdim,
                                     std::optional<DType> dtype) {
  return detail::matrix_norm_of(Op<"linalg_matrix_norm">(), x, ord.to_double(), dims, keepdim, dtype);
}
TANDEM_OPS Tensor linalg_matrix_norm(const Tensor& x, NormName ord, IntArrayRef dims, bool keepdim,
                                     std::optional<DType> dtype) {
  const Op<"linalg_matrix_norm"> op;
  return detail::matrix_norm_of(op, x, detail::order_named(ord), dims, keepdim, dtype);
}

TANDEM_OPS Tensor linalg_norm(const Tensor& x, std::optional<Scalar> ord, IntArrayRef dims, bool keepdim,
                              std::optional<DType> dtype) {
  const OpScope op("linalg_norm");
  checks::floating("x", x);
  if (!ord) return linalg_vector_norm(x, 2, dims, keepdim, dtype);
  const size_t count = dims.empty() ? x.sizes().size() : dims.size();
  TANDEM_CHECK(count == 1 || count == 2, ShapeError,
               "x is {}, dims is {}; with ord, give one or two dimensions, or x of rank 1 or 2", checks::show(x),
               to_string(dims));
  if (count == 1) return linalg_vector_norm(x, *ord, dims, keepdim, dtype);
  const int64_t whole[] = {0, 1};
  return linalg_matrix_norm(x, *ord, dims.empty() ? IntArrayRef(whole, 2) : dims, keepdim, dtype);
}
TANDEM_OPS Tensor linalg_norm(const Tensor& x, NormName ord, IntArrayRef dims, bool keepdim,
                              std::optional<DType> dtype) {
  const OpScope op("linalg_norm");
  checks::floating("x", x);
  TANDEM_CHECK(!dims.empty() || x.dim() == 2, ShapeError,
               "x is {}; for the norm of matrices give their two dimensions as dims", checks::show(x));
  const int64_t whole[] = {0, 1};
  return linalg_matrix_norm(x, ord, dims.empty() ? IntArrayRef(whole, 2) : dims, keepdim, dtype);
}

TANDEM_OPS Tensor frobenius_norm(const Tensor& x, IntArrayRef dims, bool keepdim) {
  return detail::norm_of(Op<"frobenius_norm">(), x, 2, dims, keepdim, {});
}

TANDEM_OPS Tensor normalize(const Tensor& x, double p, int64_t dim, double eps) {
  const OpScope op("normalize");
  checks::floating("x", x);
  checks::not_negative("eps", eps);
  return detail::divided_by_norm(x, p, {dim}, eps, false);
}

namespace detail {
/// PyTorch adds this to the norm that it divides by, so that the result is not above maxnorm.
inline constexpr double kRenormEps = 1e-7;
}  // namespace detail

TANDEM_OPS Tensor renorm(const Tensor& x, Scalar p, int64_t dim, Scalar maxnorm) {
  const Op<"renorm"> op;
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() >= 2, ShapeError, "x is {}, but must have at least two dimensions", checks::show(x));
  const int64_t d = wrap_dim(dim, x.dim());
  const double order = p.to_double(), limit = maxnorm.to_double();
  TANDEM_CHECK(order > 0, StateError, "p = {}, but must be positive", order);
  checks::not_negative("maxnorm", limit);
  Dims others;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (i != d) others.push_back(i);
  }
  return op.apply(
      [&](const Tensor& x) {
        const DType wide = checks::sum_dtype(x.dtype());
        if (x.numel() == 0) return Result{clone(x), {}, [](const Backward& b) -> Grads { return {b.grad()}; }};
        // May be beyond the range of f32.
        const Tensor norm = detail::norm_kernel(x, order, detail::NormShape(x, others, true), kDouble, wide);
        const Tensor factor =
            where(gt(norm, limit), mul(reciprocal(add(norm, detail::kRenormEps)), limit), ones({}, norm.options()));
        return Result{to(mul(x, to(factor, wide)), x.dtype()), save(x),
                      [others, order, limit](const Backward& b) -> Grads {
                        const DType wide = checks::sum_dtype(b.grad().dtype());
                        const Tensor x = to(b.saved(0), wide), gy = to(b.grad(), wide);
                        const Tensor norm = linalg_vector_norm(x, order, others, true, kDouble);
                        const Tensor longer = gt(norm, limit), inverse = reciprocal(add(norm, detail::kRenormEps));
                        const Tensor factor = to(where(longer, mul(inverse, limit), 1), wide);
                        const Tensor dot = sum(mul(to(gy, kDouble), x), others, true);
                        const Tensor gnorm = where(longer, mul(mul(mul(inverse, -limit), dot), inverse), 0);
                        const Tensor gx = detail::vector_norm_backward(gnorm, x, norm, order, others);
                        return {add(mul(gy, factor), to(gx, wide))};
                      }};
      },
      x);
}

}  // namespace tandem
