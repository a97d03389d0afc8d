#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/math/binary.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

inline void check_matrix(const char* which, const Tensor& x, int64_t rank) {
  checks::defined(which, x);
  TANDEM_CHECK(x.dim() == rank, ShapeError, "{} must have rank {}, but is {}; matmul() accepts any rank", which, rank,
               checks::show(x));
}

/// Checks that the operands of a product are floating and have equal inner sizes.
inline void check_product(const Tensor& a, const Tensor& b) {
  const int64_t inner_a = a.sizes().back(), inner_b = b.dim() == 1 ? b.size(0) : b.size(-2);
  TANDEM_CHECK(a.is_floating_point() && b.is_floating_point(), DTypeError,
               "products need floating dtypes: a is {}, b is {}; convert with .to(kFloat)", checks::show(a),
               checks::show(b));
  TANDEM_CHECK(inner_a == inner_b, ShapeError,
               "inner sizes differ: a is {}, b is {}; the columns of a must be the rows of b", checks::show(a),
               checks::show(b));
}

/// Converts two operands to one dtype, as kernels need: f32 is rounded to the other's dtype if that is f16 or bf16;
/// other pairs are promoted.
inline std::pair<Tensor, Tensor> unify(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return {a, b};
  if (is_reduced_floating_point(a.dtype()) && b.dtype() == kFloat) return {a, b.to(a.dtype())};
  if (is_reduced_floating_point(b.dtype()) && a.dtype() == kFloat) return {a.to(b.dtype()), b};
  const DType wide = promote_types(a.dtype(), b.dtype());
  return {a.to(wide), b.to(wide)};
}

inline Dims product_sizes(const Tensor& a, const Tensor& b) {
  Dims sizes = a.impl().sizes;
  sizes.back() = b.sizes().back();
  return sizes;
}

inline Tensor swap_last(const Tensor& x) { return transpose(x, -2, -1); }

/// Gradients of a b with respect to a and b, each in its wanted dtype.
inline Grads product_backward(const Backward& g) {
  Grads grads(2);
  if (g.needs(0)) grads[0] = gemm(g.grad(), swap_last(g.saved(1)), g.wanted(0));
  if (g.needs(1)) grads[1] = gemm(swap_last(g.saved(0)), g.grad(), g.wanted(1));
  return grads;
}

/// Returns a dtype in which a product of `operand`s can be written: f32 if wanted, else that of the operands.
inline DType writable(DType wanted, DType operand) { return wanted == kFloat ? kFloat : operand; }

template <FixedString Name>
Tensor product(const Op<Name>& op, const Tensor& a, const Tensor& b) {
  return op.apply(
      [](const Tensor& a, const Tensor& b) {
        checks::same_dtype("a", a, "b", b);
        Tensor y = empty(product_sizes(a, b), a.options());
        backend(a).gemm({.d = y, .a = a, .b = b, .bias = {}});
        return Result{y, save(a, b), product_backward};
      },
      a, b);
}

}  // namespace detail

TANDEM_OPS Tensor gemm(const Tensor& a, const Tensor& b, DType result) {
  const Op<"gemm"> op;
  checks::defined("a", a);
  checks::defined("b", b);
  TANDEM_CHECK((a.dim() == 2 || a.dim() == 3) && a.dim() == b.dim() && (a.dim() == 2 || a.size(0) == b.size(0)),
               ShapeError, "a is {}, b is {}; both must have rank 2, or rank 3 with equal batch sizes", checks::show(a),
               checks::show(b));
  TANDEM_CHECK(is_floating_point(result), DTypeError, "the result cannot be {}; pass a floating dtype",
               tandem::name(result));
  detail::check_product(a, b);
  return op.apply(
      [result](const Tensor& a, const Tensor& b) {
        const auto [x, w] = detail::unify(a, b);
        Tensor y = empty(detail::product_sizes(x, w), x.options().dtype(detail::writable(result, x.dtype())));
        backend(x).gemm({.d = y, .a = x, .b = w, .bias = {}});
        return Result{y, save(a, b), detail::product_backward};
      },
      a, b);
}

TANDEM_OPS Tensor mm(const Tensor& a, const Tensor& b) {
  const Op<"mm"> op;
  detail::check_matrix("a", a, 2);
  detail::check_matrix("b", b, 2);
  detail::check_product(a, b);
  return detail::product(op, a, b);
}

TANDEM_OPS Tensor bmm(const Tensor& a, const Tensor& b) {
  const Op<"bmm"> op;
  detail::check_matrix("a", a, 3);
  detail::check_matrix("b", b, 3);
  TANDEM_CHECK(a.size(0) == b.size(0), ShapeError, "batch sizes differ: a is {}, b is {}; matmul() broadcasts them",
               checks::show(a), checks::show(b));
  detail::check_product(a, b);
  return detail::product(op, a, b);
}

TANDEM_OPS Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  const Op<"addmm"> op;
  checks::defined("the input", input);
  detail::check_matrix("a", a, 2);
  detail::check_matrix("b", b, 2);
  detail::check_product(a, b);
  const Dims sizes = detail::product_sizes(a, b);
  TANDEM_CHECK(broadcast_shapes(input.sizes(), sizes) == sizes, ShapeError,
               "input is {}, but must broadcast to the product's {}", checks::show(input), to_string(sizes));
  return op.apply(
      [&](const Tensor& input, const Tensor& a, const Tensor& b) {
        checks::same_dtype("a", a, "b", b);
        checks::same_dtype("a", a, "input", input);
        const double scale = alpha.to_double(), keep = beta.to_double();
        // One row that is added to all rows is passed as the GEMM's bias; anything else needs a second pass.
        const bool is_bias = keep == 1 && scale == 1 && input.dim() == 1 && input.numel() == sizes.back();
        Tensor y = empty(sizes, a.options());
        backend(a).gemm({.d = y, .a = a, .b = b, .bias = is_bias ? input : Tensor()});
        if (!is_bias) {
          if (scale != 1) backend(y).unary(y, kernels::Unary::mul_scalar, y, scale, 0);
          if (keep != 0) backend(y).binary(y, kernels::Binary::add, y, detail::broadcast_view(input, sizes), keep);
        }
        return Result{y, save(a, b), [keep, scale, si = input.impl().sizes](const Backward& g) -> Grads {
                        Grads grads(3);
                        if (g.needs(0)) {
                          Tensor gi = sum_to_size(g.grad(), si);
                          grads[0] = keep == 1 ? gi : mul(gi, keep);
                        }
                        auto scaled = [scale](Tensor t) { return scale == 1 ? t : mul(t, scale); };
                        if (g.needs(1)) grads[1] = scaled(gemm(g.grad(), detail::swap_last(g.saved(1)), g.wanted(1)));
                        if (g.needs(2)) grads[2] = scaled(gemm(detail::swap_last(g.saved(0)), g.grad(), g.wanted(2)));
                        return grads;
                      }};
      },
      input, a, b);
}

namespace detail {

/// Gradients of linear's inputs, from gy. Saved: x: [n, in], weight: [out, in].
inline Grads linear_backward(const Backward& g, const Tensor& gy) {
  Grads grads(3);
  if (g.needs(0)) grads[0] = gemm(gy, g.saved(1), g.wanted(0));
  if (GradMode::is_enabled()) {
    if (g.needs(1)) grads[1] = gemm(transpose(gy, 0, 1), g.saved(0), g.wanted(1));
    if (g.needs(2)) grads[2] = sum(gy, {0}, false, g.wanted(2));
    return grads;
  }
  // One pass for the weight's gradient and the bias's, which is the column sums.
  const auto [a, x] = unify(gy, g.saved(0));
  if (g.needs(1)) {
    grads[1] = empty({gy.size(1), x.size(1)}, x.options().dtype(writable(g.wanted(1), a.dtype())));
  }
  if (g.needs(2)) {
    grads[2] = empty({gy.size(1)}, x.options().dtype(writable(g.wanted(2), a.dtype())));
  }
  if (g.needs(1) || g.needs(2)) backend(x).linear_backward_weight(grads[1], grads[2], a, x);
  return grads;
}

/// x: [n, in], weight: [out, in], bias: optional [out].
template <Activation activation, FixedString Name>
Tensor linear_rows(const Op<Name>& op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  static_assert(activation == Activation::none || activation == Activation::relu);
  return op.apply(
      [](const Tensor& x, const Tensor& weight, const Tensor& bias) {
        checks::same_dtype("x", x, "weight", weight);
        checks::same_dtype("x", x, "bias", bias);
        Tensor y = empty({x.size(0), weight.size(0)}, x.options());
        const Dims transposed{weight.size(1), weight.size(0)}, strides{weight.stride(1), weight.stride(0)};
        backend(x).gemm({.d = y,
                         .a = x,
                         .b = make_view(weight, transposed, strides, weight.storage_offset()),
                         .bias = bias,
                         .activation = activation});
        if constexpr (activation == Activation::none) {
          return Result{y, save(x, weight), [](const Backward& g) { return linear_backward(g, g.grad()); }};
        } else {
          return Result{y, save(x, weight, y),
                        [](const Backward& g) { return linear_backward(g, relu_backward(g.grad(), g.saved(2))); }};
        }
      },
      x, weight, bias);
}

template <Activation activation, FixedString Name>
Tensor linear_of(const Op<Name>& op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  checks::defined("x", x);
  checks::defined("weight", weight);
  TANDEM_CHECK(weight.dim() == 2 && x.dim() >= 1 && x.size(-1) == weight.size(1), ShapeError,
               "x is {}, weight is {}: the last size of x must be the second size of the weight [out, in]",
               checks::show(x), checks::show(weight));
  TANDEM_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == weight.size(0)), ShapeError,
               "bias is {}, weight is {}: the bias must be [{}]", checks::show(bias), checks::show(weight),
               weight.size(0));
  TANDEM_CHECK(x.is_floating_point() && weight.is_floating_point(), DTypeError,
               "x is {}, weight is {}: both must be floating; convert with .to(kFloat)", checks::show(x),
               checks::show(weight));
  if (x.dim() == 2) return linear_rows<activation>(op, x, weight, bias);
  Dims sizes = x.impl().sizes;
  sizes.back() = weight.size(0);
  const int64_t lead = numel_of(x.sizes().slice(0, static_cast<size_t>(x.dim()) - 1));
  const Tensor rows = with_shape(x, {lead, x.size(-1)});
  return view(linear_rows<activation>(op, rows, weight, bias), sizes);
}

}  // namespace detail

TANDEM_OPS Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return detail::linear_of<Activation::none>(Op<"linear">(), x, weight, bias);
}

TANDEM_OPS Tensor linear_relu(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return detail::linear_of<Activation::relu>(Op<"linear_relu">(), x, weight, bias);
}

TANDEM_OPS Tensor matmul(const Tensor& a, const Tensor& b) {
  const Op<"matmul"> op;
  checks::defined("a", a);
  checks::defined("b", b);
  TANDEM_CHECK(a.dim() > 0 && b.dim() > 0, ShapeError,
               "a is {}, b is {}: 0-dim tensors have no matrix product; use mul()", checks::show(a), checks::show(b));
  detail::check_product(a, b);
  // Vectors become matrices; the extra dimension is removed at the end.
  const Tensor x = a.dim() == 1 ? unsqueeze(a, 0) : a, w = b.dim() == 1 ? unsqueeze(b, 1) : b;
  Tensor y;
  Dims batch;
  if (w.dim() == 2) {
    // One matrix on the right: the batch dimensions of the left are merged into its rows.
    batch = Dims(x.sizes().slice(0, static_cast<size_t>(x.dim()) - 2));
    const Tensor rows = x.dim() == 2 ? x : reshape(x, {numel_of(batch) * x.size(-2), x.size(-1)});
    y = detail::product(op, rows, w);
  } else {
    batch = broadcast_shapes(x.sizes().slice(0, static_cast<size_t>(x.dim()) - 2),
                             w.sizes().slice(0, static_cast<size_t>(w.dim()) - 2));
    auto batched = [&](const Tensor& m) {
      Dims sizes = batch;
      sizes.push_back(m.size(-2));
      sizes.push_back(m.size(-1));
      return detail::with_shape(expand(m, sizes), {numel_of(batch), m.size(-2), m.size(-1)});
    };
    y = detail::product(op, batched(x), batched(w));
  }
  Dims sizes = batch;
  if (a.dim() > 1) sizes.push_back(x.size(-2));
  if (b.dim() > 1) sizes.push_back(w.size(-1));
  return detail::with_shape(y, sizes);
}

}  // namespace tandem
