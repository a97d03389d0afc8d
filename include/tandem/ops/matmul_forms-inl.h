#pragma once
// The forms of products: a matrix product, one that is added to a tensor, and the products of pairs of vectors.
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/math/binary.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/weight_products.h"
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

/// a b + bias, for matrices of which one may be a weight, if this region computes such products; else undefined.
template <FixedString Name>
Tensor product_with_weight(const Tensor& a, const Tensor& b, const Tensor& bias = {}) {
  const WeightProducts* const products = weight_products_for(b);
  if (!products || a.dim() != 2 || b.dim() != 2) [[likely]]
    return Tensor();
  constexpr int row = amp::policy_row(Name.text);
  const WeightProduct right{.op = Name.text, .row = row, .x = a, .weight = b, .bias = bias, .transposed = true};
  if (products->takes(right)) return products->compute(right);
  if (bias.defined() || !products->takes({.op = Name.text, .row = row, .x = b, .weight = a, .bias = bias}))
    return Tensor();
  const Tensor x = transpose(b, 0, 1);
  return transpose(products->compute({.op = Name.text, .row = row, .x = x, .weight = a, .bias = bias}), 0, 1);
}

template <FixedString Name>
Tensor product(const Op<Name>& op, const Tensor& a, const Tensor& b) {
  if (Tensor y = product_with_weight<Name>(a, b); y.defined()) return y;
  return op.apply(
      [](const Tensor& a, const Tensor& b) {
        checks::same_dtype("a", a, "b", b);
        Tensor y = empty(product_sizes(a, b), a.options());
        backend(a).gemm({.d = y, .a = a, .b = b, .bias = {}});
        return Result{y, save(a, b), product_backward};
      },
      a, b);
}

/// beta input + alpha a b, for two matrices or two batches of matrices; input broadcasts to the product's sizes.
template <FixedString Name>
Tensor add_product(const Op<Name>& op, const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta,
                   Scalar alpha) {
  check_product(a, b);
  const Dims sizes = product_sizes(a, b);
  TANDEM_CHECK(broadcast_shapes(input.sizes(), sizes) == sizes, ShapeError,
               "input is {}, but must broadcast to the product's {}", checks::show(input), to_string(sizes));
  const double scale = alpha.to_double(), keep = beta.to_double();
  // One row that is added to all rows is passed as the GEMM's bias; anything else needs a second pass.
  const bool is_bias =
      keep == 1 && scale == 1 && sizes.size() == 2 && input.dim() == 1 && input.numel() == sizes.back();
  if (is_bias) {
    if (Tensor y = product_with_weight<Name>(a, b, input); y.defined()) return y;
  }
  return op.apply(
      [&](const Tensor& input, const Tensor& a, const Tensor& b) {
        checks::same_dtype("a", a, "b", b);
        checks::same_dtype("a", a, "input", input);
        Tensor y = empty(sizes, a.options());
        backend(a).gemm({.d = y, .a = a, .b = b, .bias = is_bias ? input : Tensor()});
        if (!is_bias) {
          if (scale != 1) backend(y).unary(y, kernels::Unary::mul_scalar, y, scale, 0);
          if (keep != 0) backend(y).binary(y, kernels::Binary::add, y, broadcast_view(input, sizes), keep);
        }
        return Result{y, save(a, b), [keep, scale, si = input.impl().sizes](const Backward& g) -> Grads {
                        Grads grads(3);
                        if (g.needs(0)) {
                          Tensor gi = sum_to_size(g.grad(), si);
                          grads[0] = keep == 1 ? gi : mul(gi, keep);
                        }
                        auto scaled = [scale](Tensor t) { return scale == 1 ? t : mul(t, scale); };
                        if (g.needs(1)) grads[1] = scaled(gemm(g.grad(), swap_last(g.saved(1)), g.wanted(1)));
                        if (g.needs(2)) grads[2] = scaled(gemm(swap_last(g.saved(0)), g.grad(), g.wanted(2)));
                        return grads;
                      }};
      },
      input, a, b);
}

/// Sums of a_i b_i along dimension d of the broadcast sizes.
template <FixedString Name>
Tensor vecdot_of(const Op<Name>& op, const Tensor& a, const Tensor& b, const Dims& sizes, int64_t d) {
  return op.apply(
      [&](const Tensor& a, const Tensor& b) {
        checks::same_dtype("a", a, "b", b);
        Dims kept = sizes;
        kept.erase(static_cast<size_t>(d));
        const Tensor y = empty(kept, a.options());
        backend(y).row_dots(y, broadcast_view(a, sizes), broadcast_view(b, sizes), d);
        return Result{y, save(a, b), [sizes, d](const Backward& g) -> Grads {
                        const Tensor spread = expand(unsqueeze(g.grad(), d), sizes);
                        Grads grads(2);
                        for (size_t i : {0, 1}) {
                          if (g.needs(i)) grads[i] = sum_to_size(mul(spread, g.saved(1 - i)), g.saved(i).sizes());
                        }
                        return grads;
                      }};
      },
      a, b);
}

}  // namespace detail

}  // namespace tandem
