#pragma once
#include <cmath>
#include <vector>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/math/binary.h"
#include "tandem/math/unary.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/distance.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/index.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/vector_norm.h"
#include "tandem/ops/vector_norm_forms-inl.h"
#include "tandem/tensor/factories.h"

namespace tandem {

TANDEM_OPS Tensor dist(const Tensor& a, const Tensor& b, Scalar p) {
  const Op<"dist"> op;
  checks::floating("a", a);
  checks::floating("b", b);
  const Dims sizes = broadcast_shapes(a.sizes(), b.sizes());
  const double order = p.to_double();
  TANDEM_CHECK(!std::isnan(order), StateError, "p = {}, which is no order of a norm", order);
  TANDEM_CHECK(numel_of(sizes) > 0 || (order >= 0 && !std::isinf(order)), ShapeError,
               "the norm of order {} of no elements is not defined; a is {}, b is {}", order, checks::show(a),
               checks::show(b));
  return op.apply(
      [&](const Tensor& a, const Tensor& b) {
        const DType t = result_type(a, b), wide = checks::sum_dtype(t);
        const Tensor y = linalg_vector_norm(sub(to(a, wide), b), order);
        return Result{to(y, t), save(a, b, y), [order, wide](const Backward& g) -> Grads {
                        const Tensor a = g.saved(0), b = g.saved(1), d = sub(to(a, wide), b);
                        Dims dims;
                        for (int64_t i = 0; i < d.dim(); ++i) dims.push_back(i);
                        const Tensor gd = detail::vector_norm_backward(to(g.grad(), wide), d, g.saved(2), order, dims);
                        Grads grads(2);
                        if (g.needs(0)) grads[0] = sum_to_size(gd, a.sizes());
                        if (g.needs(1)) grads[1] = neg(sum_to_size(gd, b.sizes()));
                        return grads;
                      }};
      },
      a, b);
}

TANDEM_OPS Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const Op<"cosine_similarity"> op;
  checks::floating("x1", x1);
  checks::floating("x2", x2);
  checks::not_negative("eps", eps);
  const Dims sizes = broadcast_shapes(x1.sizes(), x2.sizes());
  const int64_t d = wrap_dim(dim, static_cast<int64_t>(sizes.size()));
  return op.apply(
      [&](const Tensor& x1, const Tensor& x2) {
        const DType dtype = result_type(x1, x2);
        // 0-dim tensors have one dimension here.
        const Dims whole = sizes.empty() ? Dims{1} : sizes;
        Dims kept = whole;
        kept.erase(static_cast<size_t>(d));
        const auto dots = [&](const Tensor& a, const Tensor& b) {
          const Tensor y = empty(kept, x1.options().dtype(kDouble));  // squares may be beyond the range of f32
          backend(y).row_dots(y, detail::broadcast_view(a, whole), detail::broadcast_view(b, whole), d);
          return y;
        };
        const Tensor length = mul(clamp(sqrt(dots(x1, x1)), eps), clamp(sqrt(dots(x2, x2)), eps));
        const Tensor y = to(div(dots(x1, x2), length), dtype);
        return Result{y, save(x1, x2), [d, eps, sizes](const Backward& g) -> Grads {
                        const DType wide = checks::sum_dtype(g.grad().dtype());
                        const Tensor x[] = {expand(to(g.saved(0), wide), sizes), expand(to(g.saved(1), wide), sizes)};
                        const auto norm = [&](const Tensor& t) { return linalg_vector_norm(t, 2, {d}, true); };
                        const Tensor n[] = {norm(x[0]), norm(x[1])};
                        const Tensor m[] = {clamp(n[0], eps), clamp(n[1], eps)};
                        const Tensor gy = to(sizes.empty() ? g.grad() : unsqueeze(g.grad(), d), wide);
                        const Tensor u[] = {div(x[0], m[0]), div(x[1], m[1])};
                        const Tensor y = sum(mul(u[0], u[1]), {d}, true);
                        Grads grads(2);
                        for (size_t i : {0, 1}) {
                          if (!g.needs(i)) continue;
                          const Tensor across = sub(u[1 - i], detail::vector_norm_backward(y, x[i], n[i], 2, {d}));
                          grads[i] = sum_to_size(mul(div(across, m[i]), gy), g.saved(i).sizes());
                        }
                        return grads;
                      }};
      },
      x1, x2);
}

TANDEM_OPS Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const OpScope op("pairwise_distance");
  checks::floating("x1", x1);
  checks::floating("x2", x2);
  const DType t = result_type(x1, x2);
  const Tensor d = add(sub(to(x1, checks::sum_dtype(t)), x2), eps);
  TANDEM_CHECK(d.dim() > 0, ShapeError, "x1 is {}, x2 is {}; they must have at least one dimension", checks::show(x1),
               checks::show(x2));
  const DType result = detail::dtype_by_policy(Op<"linalg_vector_norm">(), d, {}).value_or(t);
  return to(linalg_vector_norm(d, p, {-1}, keepdim), result);
}

namespace detail {

/// How the distances of two batches of rows are computed.
struct DistanceForm {
  double p;
  bool by_product;  ///< by a matrix product, for p = 2
  Dims batch;       ///< the leading sizes of the result
};

/// x as [batches, rows, d], contiguous, without history.
inline Tensor distance_rows(const Tensor& x, const DistanceForm& form, DType dtype) {
  const int64_t batches = numel_of(form.batch);
  Dims sizes = form.batch;
  sizes.push_back(x.size(-2));
  sizes.push_back(x.size(-1));
  return contiguous(to(x, dtype)).expand(sizes).reshape({batches, x.size(-2), x.size(-1)});
}

/// [batches, n, m, d] views of the rows of a and b.
inline std::pair<Tensor, Tensor> all_pairs(const Tensor& a, const Tensor& b) {
  const Dims sizes{a.size(0), a.size(1), b.size(1), a.size(2)};
  return {expand(unsqueeze(a, 2), sizes), expand(unsqueeze(b, 1), sizes)};
}

/// The distances [batches, n, m] of a [batches, n, d] and b [batches, m, d].
inline Tensor distances(const Tensor& a, const Tensor& b, const DistanceForm& form) {
  if (form.by_product && a.numel() > 0 && b.numel() > 0) {
    // |a|^2 + |b|^2 - 2 a b as one product, of [-2 a, |a|^2, 1] and [b, 1, |b|^2]
    const auto squares = [](const Tensor& x) { return sum(square(x), {2}, true); };
    const auto largest = [](const Tensor& x) {
      const Tensor size = norm_kernel(x, INFINITY, NormShape(x, {1, 2}, true), x.dtype());
      return where(isfinite(size), size, 0);
    };
    const Tensor unit = unit_of(maximum(largest(a), largest(b)), 0x1p-40, 0x1p60);
    const Tensor u = div(a, unit), v = div(b, unit), nu = squares(u), nv = squares(v);
    const Tensor left = cat({std::vector<Tensor>{mul(u, -2), nu, ones_like(nu)}}, 2);
    const Tensor right = cat({std::vector<Tensor>{v, ones_like(nv), nv}}, 2);
    const Tensor y = bmm(left, transpose(right, 1, 2));
    backend(y).unary(y, kernels::Unary::clamp, y, 0, INFINITY);
    backend(y).unary(y, kernels::Unary::sqrt, y, 0, 0);
    backend(y).binary(y, kernels::Binary::mul, y, expand(unit, y.sizes()), 1);
    return y;
  }
  const Tensor y = empty({a.size(0), a.size(1), b.size(1)}, a.options());
  if (y.numel() > 0) {
    const auto [u, v] = all_pairs(a, b);
    backend(y).row_distances(y, u, v, 3, form.p);
  }
  return y;
}

/// dL/da from gy and the distances y, both [batches, n, m].
inline Tensor distances_backward(const Tensor& gy, const Tensor& y, const Tensor& a, const Tensor& b,
                                 const DistanceForm& form) {
  const Op<"cdist_backward"> op;
  if (a.numel() == 0 || b.numel() == 0 || form.p == 0) return zeros_like(a);
  return op.apply(
      [&](const Tensor& gy, const Tensor& y, const Tensor& a, const Tensor& b) {
        if (form.by_product) {
          const Tensor share = where(eq(y, 0), zeros({}, y.options()), div(gy, y));
          return Result{sub(mul(a, sum(share, {2}, true)), bmm(share, b))};
        }
        // Sums over the rows of b, for each row of a and each dimension: [batches, n, d, m].
        const Dims sizes{a.size(0), a.size(1), a.size(2), b.size(1)};
        const Tensor columns = contiguous(transpose(b, 1, 2)), ga = empty(a.sizes(), a.options());
        backend(ga).row_distances_backward(ga, expand(unsqueeze(gy, 2), sizes), expand(unsqueeze(y, 2), sizes),
                                           expand(unsqueeze(a, 3), sizes), expand(unsqueeze(columns, 1), sizes), 3,
                                           form.p);
        return Result{ga};
      },
      gy, y, a, b);
}

/// The same for both inputs in differentiable ops, with all differences in memory.
inline Grads distances_backward_in_ops(const Backward& g, double p) {
  const Tensor x1 = g.saved(0), x2 = g.saved(1);
  const DType wide = checks::sum_dtype(g.grad().dtype());
  const Tensor d = sub(unsqueeze(to(x1, wide), -2), unsqueeze(to(x2, wide), -3));
  const int64_t last = d.dim() - 1;
  const Tensor y = linalg_vector_norm(d, p, {last}, true);
  const Tensor gy = unsqueeze(to(g.grad(), wide), -1);
  // For p = inf each of several largest differences gets the whole gradient, as from the kernel.
  const Tensor gd =
      std::isinf(p) ? mul(gy, mul(to(eq(abs(d), y), wide), sign(d))) : vector_norm_backward(gy, d, y, p, {last});
  Grads grads(2);
  if (g.needs(0)) grads[0] = sum_to_size(sum(gd, {last - 1}), x1.sizes());
  if (g.needs(1)) grads[1] = neg(sum_to_size(sum(gd, {last - 2}), x2.sizes()));
  return grads;
}

template <FixedString Name>
Tensor cdist_of(const Op<Name>& op, const Tensor& x1, const Tensor& x2, const DistanceForm& form) {
  return op.apply(
      [&](const Tensor& x1, const Tensor& x2) {
        checks::same_dtype("x1", x1, "x2", x2);
        const DType wide = checks::sum_dtype(x1.dtype());
        const Tensor y = distances(distance_rows(x1, form, wide), distance_rows(x2, form, wide), form);
        Dims sizes = form.batch;
        sizes.push_back(x1.size(-2));
        sizes.push_back(x2.size(-2));
        return Result{with_shape(to(y, x1.dtype()), sizes), save(x1, x2, y), [form](const Backward& g) -> Grads {
                        if (GradMode::is_enabled()) return distances_backward_in_ops(g, form.p);
                        const Tensor y = g.saved(2);
                        const Tensor x1 = distance_rows(g.saved(0), form, y.dtype());
                        const Tensor x2 = distance_rows(g.saved(1), form, y.dtype());
                        const Tensor gy = contiguous(reshape(to(g.grad(), y.dtype()), y.sizes()));
                        const auto reduced = [&](const Tensor& gx, size_t i) {
                          Dims sizes = form.batch;
                          sizes.push_back(gx.size(1));
                          sizes.push_back(gx.size(2));
                          return sum_to_size(reshape(gx, sizes), g.saved(i).sizes());
                        };
                        const auto turned = [](const Tensor& t) { return contiguous(transpose(t, 1, 2)); };
                        Grads grads(2);
                        if (g.needs(0)) grads[0] = reduced(distances_backward(gy, y, x1, x2, form), 0);
                        if (g.needs(1)) grads[1] = reduced(distances_backward(turned(gy), turned(y), x2, x1, form), 1);
                        return grads;
                      }};
      },
      x1, x2);
}

inline void check_distance_order(double p) { TANDEM_CHECK(p >= 0, StateError, "p = {}, but must be at least 0", p); }

}  // namespace detail

TANDEM_OPS Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  const Op<"cdist"> op;
  checks::floating("x1", x1);
  checks::floating("x2", x2);
  TANDEM_CHECK(x1.dim() >= 2 && x2.dim() >= 2 && x1.size(-1) == x2.size(-1), ShapeError,
               "x1 is {}, x2 is {}; they must be [..., n, d] and [..., m, d]", checks::show(x1), checks::show(x2));
  detail::check_distance_order(p);
  const int64_t mode = compute_mode.value_or(0);
  TANDEM_CHECK(mode >= 0 && mode <= 2, StateError, "compute_mode = {}, but must be 0, 1 or 2", mode);
  const auto lead = [](const Tensor& x) { return x.sizes().slice(0, x.sizes().size() - 2); };
  const bool large = x1.size(-2) > 25 || x2.size(-2) > 25;
  return detail::cdist_of(op, x1, x2,
                          {p, p == 2 && (mode == 1 || (mode == 0 && large)), broadcast_shapes(lead(x1), lead(x2))});
}

TANDEM_OPS Tensor pdist(const Tensor& x, double p) {
  const Op<"pdist"> op;
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() == 2, ShapeError, "x is {}, but must be [n, d]", checks::show(x));
  detail::check_distance_order(p);
  const int64_t n = x.size(0);
  const Tensor all = reshape(detail::cdist_of(op, x, x, {p, false, Dims()}), {numel_of({n, n})});
  std::vector<int64_t> upper;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) upper.push_back(i * n + j);
  }
  return index_select(all, 0, to(tensor(upper), x.device(), kLong));
}

}  // namespace tandem
