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
#include "tandem/ops/matmul_forms-inl.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

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
  return detail::add_product(op, input, a, b, beta, alpha);
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
  constexpr int row = amp::policy_row(Name.text);
  const WeightProduct own{
      .op = Name.text, .row = row, .x = x, .weight = weight, .bias = bias, .activation = activation};
  if (Tensor y = weight_product(own); y.defined()) return y;
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
