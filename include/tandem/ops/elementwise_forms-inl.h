#pragma once
// The forms of element-wise ops: one operand, an operand and a number, two operands, a comparison, and a derivative
// that is one kernel. Most element-wise ops are one call of a form, which takes the kernel from the op's name:
//
//   return detail::binary_op(Op<"mul">(), a, b, detail::Keep::input, derivative);
#include "tandem/autograd/apply.h"
#include "tandem/math/binary.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/promotion.h"
#include "tandem/tensor/factories.h"

namespace tandem {

using kernels::Binary;
using kernels::Unary;

namespace detail {

/// The formula named as the op, a row of math/unary.inc.
template <FixedString Name>
consteval Unary unary_kernel_of() {
  constexpr std::optional<Unary> kernel = kernels::unary_named(Name.text);
  static_assert(kernel, "this op has no row in include/tandem/math/unary.inc");
  return *kernel;
}
/// The formula named as the op, a row of math/binary.inc.
template <FixedString Name>
consteval Binary binary_kernel_of() {
  constexpr std::optional<Binary> kernel = kernels::binary_named(Name.text);
  static_assert(kernel, "this op has no row in include/tandem/math/binary.inc");
  return *kernel;
}

/// The tensors that the derivative of an element-wise op needs.
enum class Keep { nothing, input, output, both };

/// Returns true for an op that keeps integers but has no meaning for bool values.
inline bool refuses_bool(Unary kernel) {
  return keeps_integers(kernel) && !is_predicate(kernel) && kernel != Unary::sign;
}

/// y = op(x). Integers give integers if the formula is defined on them, else the default dtype.
/// derivative(gy, kept tensor) -> gx.
template <FixedString Name, class D>
Tensor unary_op(const Op<Name>& op, Unary kernel, const Tensor& x, Keep keep, D derivative, double a = 0,
                double b = 0) {
  checks::defined("the input", x);
  if (refuses_bool(kernel)) checks::not_bool(x);
  return op.apply(
      [&](const Tensor& x) {
        DType dtype = x.dtype();
        if (is_predicate(kernel)) {
          dtype = kBool;
        } else if (!x.is_floating_point() && !keeps_integers(kernel)) {
          dtype = get_default_dtype();
        }
        Tensor y = empty_like(x, dtype);
        backend(x).unary(y, kernel, x, a, b);
        if (is_predicate(kernel)) return Result{y};
        Saved saved = keep == Keep::nothing ? Saved{} : save(keep == Keep::input ? x : y);
        return Result{y, std::move(saved), [derivative, keep](const Backward& b) -> Grads {
                        return {derivative(b.grad(), keep == Keep::nothing ? Tensor() : b.saved(0))};
                      }};
      },
      x);
}

template <FixedString Name, class D>
Tensor unary_op(const Op<Name>& op, const Tensor& x, Keep keep, D derivative, double a = 0, double b = 0) {
  return unary_op(op, unary_kernel_of<Name>(), x, keep, derivative, a, b);
}

/// Runs a binary kernel over broadcast operands into a new tensor of `dtype`.
inline Tensor binary_kernel(Binary kernel, const Tensor& a, const Tensor& b, DType dtype, double alpha = 1) {
  if (a.sizes() == b.sizes()) {
    // A dense layout that is not row-major (channels-last) is kept.
    Tensor y = a.is_contiguous() ? empty(a.sizes(), a.options().dtype(dtype)) : empty_like(a, dtype);
    backend(y).binary(y, kernel, a, b, alpha);
    return y;
  }
  const Dims sizes = broadcast_shapes(a.sizes(), b.sizes());
  const Tensor& whole = a.sizes() == IntArrayRef(sizes) ? a : b;
  const Device device = a.dim() == 0 && a.is_cpu() ? b.device() : a.device();
  Tensor y = whole.sizes() == IntArrayRef(sizes) ? empty_like(whole, TensorOptions(dtype).device(device))
                                                 : empty(sizes, TensorOptions(dtype).device(device));
  backend(y).binary(y, kernel, broadcast_view(a, sizes), broadcast_view(b, sizes), alpha);
  return y;
}

/// a / b rounded once to `dtype`: as a kernel, or recorded to be differentiated.
inline Tensor quotient(const Tensor& a, const Tensor& b, DType dtype) {
  return GradMode::is_enabled() ? to(div(a, b), dtype) : binary_kernel(Binary::div, a, b, dtype);
}

/// Returns the dtype of an op's result if its operands promote to `t`.
template <class Kernel>
DType dtype_of_result(Kernel kernel, DType t) {
  return is_floating_point(t) || keeps_integers(kernel) ? t : get_default_dtype();
}

/// A comparison or logical op: bool output, no gradient.
template <FixedString Name>
Tensor compare_op(const Op<Name>& op, const Tensor& a, const Tensor& b) {
  constexpr Binary kernel = binary_kernel_of<Name>();
  checks::defined("the first operand", a);
  checks::defined("the second operand", b);
  return op.apply([](const Tensor& a, const Tensor& b) { return Result{binary_kernel(kernel, a, b, kBool)}; }, a, b);
}

/// Returns a Scalar as a tensor that promotes like a Scalar: 0-dim, in the dtype in which the op computes. As in
/// PyTorch, a number beyond the range of a floating dtype becomes infinite.
inline Tensor scalar_operand(const Tensor& a, Scalar b) {
  const DType t = result_type(a, b);
  const Tensor y = empty({}, TensorOptions(is_integral(t, false) ? kLong : t).device(kCPU));
  backend(y).fill(y, b);
  return y;
}

/// The same for an op whose result is a number. Beside a tensor of rank 0, which would not have priority over an i64
/// tensor, the number takes the dtype of the result.
inline Tensor number_operand(const Tensor& a, Scalar b) {
  const Tensor y = scalar_operand(a, b);
  return a.dim() == 0 ? to(y, result_type(a, b)) : y;
}

/// Returns false for integers that a double, the type of the kernels' parameters, may round.
inline bool fits_double(Scalar s) {
  constexpr int64_t limit = int64_t{1} << 53;
  return s.is_floating_point() || (s.to_int64() >= -limit && s.to_int64() <= limit);
}

/// a b. The product of integers is exact, modulo 2^64.
inline Scalar scalar_product(Scalar a, Scalar b) {
  if (a.is_floating_point() || b.is_floating_point()) return a.to_double() * b.to_double();
  if (b.to_int64() == 1) return a;
  return static_cast<int64_t>(static_cast<uint64_t>(a.to_int64()) * static_cast<uint64_t>(b.to_int64()));
}

/// Returns true if a + alpha b is integer and a double may round `alpha`. Throws DTypeError if a + alpha b is integer
/// and alpha is fractional.
inline bool needs_exact_alpha(const Tensor& a, const Tensor& b, Scalar alpha) {
  if (!a.defined() || !b.defined()) return false;
  if (alpha.is_floating_point()) checks::alpha(a, b, alpha);
  return !fits_double(alpha) && !is_floating_point(result_type(a, b));
}
/// alpha b, in the dtype of a + b.
inline Tensor exact_multiple(const Tensor& a, const Tensor& b, Scalar alpha) {
  return mul(to(b, result_type(a, b)), alpha);
}

/// y = op(x, number). If y is integer and a double may round the number, it is passed as a tensor operand instead.
inline void scalar_kernel(const Tensor& y, Unary kernel, const Tensor& x, Scalar number) {
  if (is_floating_point(y.dtype()) || fits_double(number)) {
    backend(y).unary(y, kernel, x, number.to_double(), 0);
    return;
  }
  const Tensor other = broadcast_view(scalar_tensor(number, TensorOptions(kLong).device(y.device())), y.sizes());
  auto binary = [&](Binary form, const Tensor& a, const Tensor& b) { backend(y).binary(y, form, a, b, 1); };
  switch (kernel) {
    case Unary::add_scalar:
      return binary(Binary::add, x, other);
    case Unary::rsub_scalar:
      return binary(Binary::sub, other, x);
    case Unary::mul_scalar:
      return binary(Binary::mul, x, other);
    case Unary::pow_scalar:
      return binary(Binary::pow, x, other);
    case Unary::rpow_scalar:
      return binary(Binary::pow, other, x);
    default:  // divisions, whose results are floating
      backend(y).unary(y, kernel, x, number.to_double(), 0);
  }
}

/// Sums a gradient in the broadcast result's sizes to the `sizes` of an operand.
inline Tensor reduce_to(const Tensor& g, const Dims& sizes) {
  return g.sizes() == IntArrayRef(sizes) ? g : sum_to_size(g, sizes);
}

/// The saved operand i for a derivative: floating, and f32 instead of 16 bits, in whose range and digits intermediate
/// values do not fit.
inline Tensor wide_operand(const Backward& g, size_t i) { return to(g.saved(i), checks::sum_dtype(g.grad().dtype())); }

/// y = op(a, b), broadcast. Integers give integers if the formula is defined on them, else f32.
/// derivative(g, i) -> the gradient of operand i in the broadcast sizes. `keep` selects what is saved: a, b (and y).
template <FixedString Name, class D>
Tensor binary_op(const Op<Name>& op, const Tensor& a, const Tensor& b, Keep keep, D derivative, double alpha = 1) {
  constexpr Binary kernel = binary_kernel_of<Name>();
  checks::defined("the first operand", a);
  checks::defined("the second operand", b);
  return op.apply(
      [&](const Tensor& a, const Tensor& b) {
        Tensor y = binary_kernel(kernel, a, b, dtype_of_result(kernel, result_type(a, b)), alpha);
        Saved saved = keep == Keep::nothing ? Saved{} : keep == Keep::input ? save(a, b) : save(a, b, y);
        return Result{y, std::move(saved), [derivative, sa = a.impl().sizes, sb = b.impl().sizes](const Backward& g) {
                        Grads grads(2);
                        if (g.needs(0)) grads[0] = reduce_to(derivative(g, 0), sa);
                        if (g.needs(1)) grads[1] = reduce_to(derivative(g, 1), sb);
                        return grads;
                      }};
      },
      a, b);
}

/// y = op(x, number). The result has x's dtype unless the number raises the category.
template <FixedString Name, class D>
Tensor scalar_op(const Op<Name>& op, Unary kernel, const Tensor& x, Scalar number, Keep keep, D derivative) {
  checks::defined("the input", x);
  const DType dtype = dtype_of_result(kernel, result_type(x, number));
  return op.apply(
      [&](const Tensor& x) {
        // Under the f32 policy x has been widened, and the result has its dtype.
        Tensor y = empty_like(x, x.is_floating_point() ? x.dtype() : dtype);
        scalar_kernel(y, kernel, x, number);
        Saved saved = keep == Keep::nothing ? Saved{} : save(keep == Keep::input ? x : y);
        return Result{y, std::move(saved), [derivative, keep](const Backward& b) -> Grads {
                        return {derivative(b.grad(), keep == Keep::nothing ? Tensor() : b.saved(0))};
                      }};
      },
      x);
}

/// gx = f(gy, kept): a derivative that is one kernel, and itself differentiable.
/// second(ggx, gy, kept) -> d/d(kept), undefined if it is zero everywhere.
template <FixedString Name, class D>
Tensor derivative_op(const Op<Name>& op, const Tensor& gy, const Tensor& kept,
                     Tensor (*self)(const Tensor&, const Tensor&), D second) {
  constexpr Binary kernel = binary_kernel_of<Name>();
  checks::floating("gy", gy);
  checks::floating("the kept tensor", kept);
  checks::sizes("gy", gy, kept.sizes());
  return op.apply(
      [&](const Tensor& gy, const Tensor& kept) {
        Tensor gx = binary_kernel(kernel, gy, kept, gy.dtype());
        return Result{gx, save(gy, kept), [self, second](const Backward& b) -> Grads {
                        Grads grads(2);
                        if (b.needs(0)) grads[0] = self(b.grad(), b.saved(1));
                        if (b.needs(1)) grads[1] = second(b.grad(), b.saved(0), b.saved(1));
                        return grads;
                      }};
      },
      gy, kept);
}

}  // namespace detail
}  // namespace tandem
