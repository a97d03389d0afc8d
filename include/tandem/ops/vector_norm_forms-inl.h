#pragma once
// The norm of a tensor over dimensions, and its derivative, for all ops that have one.
#include <cmath>

#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/math/reduce.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/elementwise_forms-inl.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/vector_norm.h"
#include "tandem/tensor/context.h"
#include "tandem/tensor/factories.h"

namespace tandem::detail {

/// The dimensions of a norm and the sizes of its result.
struct NormShape {
  Dims dims;    ///< reduced, not negative
  Dims kept;    ///< x's sizes with 1 for the reduced dimensions
  Dims result;  ///< `kept`, or without those dimensions
  int64_t count = 1;

  NormShape(const Tensor& x, IntArrayRef given, bool keepdim) {
    bool reduced[kMaxRank] = {};
    for (int64_t d : given) {
      const int64_t w = wrap_dim(d, x.dim());
      TANDEM_CHECK(!reduced[w], IndexError, "dimension {} appears twice in {}", w, to_string(given));
      reduced[w] = true;
    }
    for (int64_t d = 0; d < x.dim(); ++d) {
      const bool drop = given.empty() || reduced[d];
      if (drop) {
        dims.push_back(d);
        count *= x.size(d);
      }
      kept.push_back(drop ? 1 : x.size(d));
      if (!drop || keepdim) result.push_back(kept.back());
    }
  }
};

inline void check_norm_dtype(const Tensor& x, std::optional<DType> dtype) {
  checks::floating("x", x);
  checks::floating_result(x, dtype);
  TANDEM_CHECK(!dtype || promote_types(x.dtype(), *dtype) == *dtype, DTypeError,
               "x is {}, but dtype is {}; it must be at least as wide", checks::show(x), tandem::name(*dtype));
}

inline void check_norm_order(const Tensor& x, double order, const NormShape& shape) {
  TANDEM_CHECK(!std::isnan(order), StateError, "ord = {}, which is no order of a norm", order);
  TANDEM_CHECK(shape.count > 0 || (order >= 0 && !std::isinf(order)), ShapeError,
               "the norm of order {} of no elements is not defined; x is {}", order, checks::show(x));
}

/// The dtype of a result under the policy f32_dtype, if the caller gave none.
template <FixedString Name>
std::optional<DType> dtype_by_policy(const Op<Name>&, const Tensor& x, std::optional<DType> dtype) {
  if (dtype || x.dtype() == kDouble) return dtype;
  const bool applies = thread_state().autocast[static_cast<int>(x.device().type())].enabled &&
                       amp::detail::current_policy(amp::policy_row(Name.text)) == amp::Cast::f32_dtype;
  return applies ? std::optional(kFloat) : std::nullopt;
}

/// x divided by the nearest number in [least, most]: 1 in that range. 1 also if x is not positive and finite.
inline Tensor unit_of(const Tensor& x, double least, double most) {
  const Tensor size = where(logical_and(gt(x, 0), lt(x, INFINITY)), x, 1);
  return div(size, clamp(size, least, most));
}

/// The norm as a kernel, into a new tensor with the result's sizes. `powers`: the dtype of |x|^p, if not the result's.
inline Tensor norm_kernel(const Tensor& x, double order, const NormShape& shape, DType dtype,
                          std::optional<DType> powers = {}) {
  const Tensor y = empty(shape.result, x.options().dtype(dtype));
  const Tensor kept = make_view(y, shape.kept, contiguous_strides(shape.kept), y.storage_offset());
  const DType wide = checks::sum_dtype(promote_types(x.dtype(), powers.value_or(dtype)));
  const auto reduced = [&](const Tensor& terms, kernels::Reduction op) {
    const Tensor result = empty(shape.kept, x.options().dtype(wide));
    backend(y).reduce(result, op, terms);
    return result;
  };
  if (order == 1 || order == 2 || order == INFINITY) {
    backend(y).reduce(kept,
                      order == 1   ? kernels::Reduction::norm1
                      : order == 2 ? kernels::Reduction::norm2
                                   : kernels::Reduction::norm_inf,
                      x);
  } else if (order == -INFINITY) {
    backend(y).reduce(kept, kernels::Reduction::min, abs(x));
  } else if (order == 0) {
    backend(y).copy(kept, reduced(to(ne(x, 0), wide), kernels::Reduction::sum));
  } else {
    // |x|^p would overflow or underflow long before the norm does. In this unit, the largest power is in 2^-100 ..
    // 2^100.
    const Tensor size = abs(to(x, wide));
    const double most = std::exp2(100 / std::abs(order));
    const Tensor unit =
        unit_of(reduced(size, order > 0 ? kernels::Reduction::max : kernels::Reduction::min), 1 / most, most);
    const Tensor total = reduced(pow(div(size, unit), order), kernels::Reduction::sum);
    backend(y).binary(kept, Binary::mul, pow(to(total, kDouble), 1 / order), unit, 1);
  }
  return y;
}

/// A unit for x over dimensions (over all without any), without history: the squares of x / unit and their sums are in
/// the range of f32. 1 unless the largest |x| is above `most` or below `least`.
inline Tensor range_unit(const Tensor& x, const Dims& dims, double least, double most = 0x1p40) {
  const NoGradGuard no_grad;
  return unit_of(norm_kernel(x, INFINITY, NormShape(x, dims, true), x.dtype()), least, most);
}

/// x / unit: x itself if the CPU sees that all units are 1.
inline Tensor in_units(const Tensor& x, const Tensor& unit) {
  return unit.is_cpu() && !any(ne(unit, 1)).item<bool>() ? x : div(x, unit);
}

/// dL/dx in differentiable ops. gy and y have the sizes `kept`. y is the norm of x.
inline Tensor vector_norm_backward(const Tensor& gy, const Tensor& x, const Tensor& y, double order, const Dims& dims) {
  if (order == 0) return zeros_like(x);
  if (order == 1) return mul(gy, sign(x));
  // A norm of 0 counts as infinity, which makes the slope there, and its derivatives, 0.
  const auto divisor = [&] { return where(eq(y, 0), full({}, INFINITY, y.options()), y); };
  if (order == 2 && y.dtype() == kDouble && !GradMode::is_enabled()) {  // f32 may hold neither gy nor y
    return binary_kernel(Binary::mul, x, div(to(gy, kDouble), divisor()), x.dtype());
  }
  if (order == 2) return mul(gy, div(x, divisor()));
  const DType wide = checks::sum_dtype(x.dtype());
  if (std::isinf(order)) {
    const Tensor found = eq(abs(x), y);
    const Tensor share = div(to(gy, wide), sum(found, dims, true, wide));
    return mul(mul(to(found, x.dtype()), sign(x)), to(share, x.dtype()));
  }
  // sign(x) (|x| / |x|_p)^(p - 1), and 0 if x is 0, or the norm for p < 0 (a subgradient). For 0 < p < 1 the quotient
  // may be too small, but the powers are in range.
  const Tensor zero = order < 0 ? logical_or(eq(x, 0), eq(y, 0)) : eq(x, 0);
  const Tensor size = where(zero, 1, to(abs(x), wide)), norm = divisor();
  const bool apart = order > 0 && order < 1;
  const Tensor power =
      apart ? mul(pow(size, order - 1), to(pow(norm, 1 - order), wide)) : pow(quotient(size, norm, wide), order - 1);
  const Tensor slope = mul(sign(x), to(power, x.dtype()));
  return mul(gy, where(zero, zeros({}, slope.options()), slope));
}

/// The norm of x as an op.
template <FixedString Name>
Tensor norm_of(const Op<Name>& op, const Tensor& x, double order, IntArrayRef given_dims, bool keepdim,
               std::optional<DType> dtype) {
  check_norm_dtype(x, dtype);
  const NormShape shape(x, given_dims, keepdim);
  check_norm_order(x, order, shape);
  return op.apply(
      [&](const Tensor& x, std::optional<DType> dtype) {
        const Tensor y = norm_kernel(x, order, shape, dtype.value_or(x.dtype()));
        return Result{
            y, save(x, y), [order, dims = shape.dims, kept = shape.kept](const Backward& b) -> Grads {
              const Tensor x = to(b.saved(0), b.grad().dtype());
              return {vector_norm_backward(with_shape(b.grad(), kept), x, with_shape(b.saved(1), kept), order, dims)};
            }};
      },
      x, dtype);
}

/// x / max(|x|_order, eps), or x / sqrt(|x|_order^2 + eps^2) if `smooth`, with the norm over dims.
inline Tensor divided_by_norm(const Tensor& x, double order, IntArrayRef dims, double eps, bool smooth) {
  const NormShape shape(x, dims, true);
  check_norm_order(x, order, shape);
  return Op<"linalg_vector_norm">().apply(
      [&](const Tensor& x, std::optional<DType> dtype) {
        const auto length_of = [eps, smooth](const Tensor& norm) {
          return smooth ? hypot(norm, full({}, eps, norm.options())) : clamp(norm, eps);
        };
        // In f64: other dtypes may hold neither the norm nor eps. The CPU goes on in f32 if it sees that f32 does.
        const DType wide = checks::sum_dtype(x.dtype());
        Tensor norm = norm_kernel(x, order, shape, kDouble, wide);
        const bool looks = x.is_cpu() && norm.numel() > 0;
        if (looks && min(norm).item<double>() >= 0x1p-40 && max(norm).item<double>() <= 0x1p40) norm = to(norm, wide);
        const Tensor y = quotient(x, length_of(norm), dtype.value_or(x.dtype()));
        return Result{y, save(x, norm), [order, smooth, eps, shape, length_of](const Backward& b) -> Grads {
                        const DType wide = checks::sum_dtype(b.grad().dtype());
                        const Tensor x = to(b.saved(0), wide), gy = to(b.grad(), wide);
                        Tensor norm = b.saved(1);
                        const DType held = norm.dtype();
                        if (GradMode::is_enabled()) norm = linalg_vector_norm(x, order, shape.dims, true, held);
                        const Tensor length = length_of(norm), dot = sum(mul(to(gy, held), x), shape.dims, true);
                        // d length / d norm; 0 at the bound, as in clamp
                        const Tensor share = smooth ? div(norm, length) : to(gt(norm, eps), held);
                        const Tensor gnorm = neg(mul(share, div(div(dot, length), length)));
                        const Tensor gx = vector_norm_backward(gnorm, x, norm, order, shape.dims);
                        return {to(add(quotient(gy, length, wide), to(gx, wide)), b.wanted(0))};
                      }};
      },
      x, std::optional<DType>());
}

}  // namespace tandem::detail
