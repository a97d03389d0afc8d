#pragma once
#include <algorithm>
#include <limits>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/math/binary.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/cast_operands.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/matmul_forms-inl.h"
#include "tandem/ops/products.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

inline void check_vector(const char* which, const Tensor& x) {
  checks::defined(which, x);
  TANDEM_CHECK(x.dim() == 1, ShapeError, "{} is {}, but must have rank 1; flatten() it", which, checks::show(x));
}

/// Checks two batches of matrices [s, n, k] and [s, k, m].
inline void check_batches(const Tensor& a, const Tensor& b) {
  check_matrix("a", a, 3);
  check_matrix("b", b, 3);
  TANDEM_CHECK(a.size(0) == b.size(0), ShapeError, "batch sizes differ: a is {}, b is {}; expand() one of them",
               checks::show(a), checks::show(b));
  check_product(a, b);
}

template <FixedString Name>
Tensor dot_of(const Op<Name>& op, const Tensor& a, const Tensor& b) {
  check_vector("a", a);
  check_vector("b", b);
  check_product(a, b);
  return with_shape(product(op, unsqueeze(a, 0), unsqueeze(b, 1)), Dims());
}

/// The product of matrices first ... last in the order of least cost. split[i][j]: after which matrix i ... j is cut.
template <FixedString Name>
Tensor chain_product(const Op<Name>& op, const std::vector<Tensor>& matrices,
                     const std::vector<std::vector<size_t>>& split, size_t first, size_t last) {
  if (first == last) return matrices[first];
  const size_t cut = split[first][last];
  return product(op, chain_product(op, matrices, split, first, cut), chain_product(op, matrices, split, cut + 1, last));
}

/// Source of the algorithm: Cormen et al., Introduction to Algorithms, matrix-chain multiplication.
template <FixedString Name>
Tensor chain_product(const Op<Name>& op, const std::vector<Tensor>& matrices) {
  const size_t n = matrices.size();
  for (size_t i = 0; i + 1 < n; ++i) check_product(matrices[i], matrices[i + 1]);
  std::vector<double> edge;  // matrix i is [edge[i], edge[i + 1]]
  for (const Tensor& m : matrices) edge.push_back(static_cast<double>(m.size(0)));
  edge.push_back(static_cast<double>(matrices.back().size(1)));
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> split(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length) {
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t cut = i; cut < j; ++cut) {
        const double c = cost[i][cut] + cost[cut + 1][j] + edge[i] * edge[cut + 1] * edge[j + 1];
        if (c < cost[i][j]) {
          cost[i][j] = c;
          split[i][j] = cut;
        }
      }
    }
  }
  return chain_product(op, matrices, split, 0, n - 1);
}

/// The cross product along dimension d of operands of equal rank. f16 and bf16 are computed in f32.
template <FixedString Name>
Tensor cross_of(const Op<Name>& op, const Tensor& a, const Tensor& b, int64_t dim) {
  checks::defined("a", a);
  checks::defined("b", b);
  TANDEM_CHECK(a.dim() == b.dim(), ShapeError, "a is {}, b is {}; they must have equal ranks, use unsqueeze()",
               checks::show(a), checks::show(b));
  const int64_t d = wrap_dim(dim, a.dim());
  TANDEM_CHECK(a.dim() > 0 && a.size(d) == 3 && b.size(d) == 3, ShapeError,
               "dimension {} of a {} and b {} must have size 3", dim, checks::show(a), checks::show(b));
  checks::not_two_bools(a, b);
  return op.apply(
      [&](const Tensor& a, const Tensor& b) {
        const Dims sizes = broadcast_shapes(a.sizes(), b.sizes());
        const DType dtype = result_type(a, b);
        const DType wide = is_reduced_floating_point(dtype) ? kFloat : dtype;
        const Tensor y = empty(sizes, a.options().dtype(wide));
        if (y.numel() > 0) {
          const Tensor u = broadcast_view(to(a, wide), sizes), v = broadcast_view(to(b, wide), sizes);
          for (int64_t i = 0; i < 3; ++i) {
            const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
            const Tensor part = select(y, d, i), other = empty(part.sizes(), part.options());
            backend(y).binary(part, kernels::Binary::mul, select(u, d, j), select(v, d, k), 1);
            backend(y).binary(other, kernels::Binary::mul, select(u, d, k), select(v, d, j), 1);
            backend(y).binary(part, kernels::Binary::sub, part, other, 1);
          }
        }
        return Result{to(y, dtype), save(a, b), [d](const Backward& g) -> Grads {
                        const Tensor a = g.saved(0), b = g.saved(1);
                        Grads grads(2);
                        if (g.needs(0)) grads[0] = sum_to_size(linalg_cross(b, g.grad(), d), a.sizes());
                        if (g.needs(1)) grads[1] = sum_to_size(linalg_cross(g.grad(), a, d), b.sizes());
                        return grads;
                      }};
      },
      a, b);
}

inline Tensor outer_of(const Tensor& a, const Tensor& b) {
  check_vector("a", a);
  check_vector("b", b);
  return mul(unsqueeze(a, 1), b);
}

inline Tensor power_of(const Tensor& x, int64_t n) {
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() >= 2 && x.size(-1) == x.size(-2), ShapeError,
               "x is {}, but must end in two equal sizes: square matrices", checks::show(x));
  TANDEM_CHECK(n >= 0, NotImplementedError,
               "n = {}: negative powers need the inverse of a matrix, which tandem does not have; n must be at least 0",
               n);
  if (n == 0) return clone(expand(eye(x.size(-1), x.options()), x.sizes()), MemoryFormat::Contiguous);
  Tensor square = x, y;
  for (int64_t rest = n;;) {
    if (rest % 2 == 1) y = y.defined() ? matmul(y, square) : square;
    rest /= 2;
    if (rest == 0) break;
    square = matmul(square, square);
  }
  return n == 1 ? clone(y) : y;
}

}  // namespace detail

TANDEM_OPS Tensor dot(const Tensor& a, const Tensor& b) { return detail::dot_of(Op<"dot">(), a, b); }
TANDEM_OPS Tensor vdot(const Tensor& a, const Tensor& b) { return detail::dot_of(Op<"vdot">(), a, b); }

TANDEM_OPS Tensor inner(const Tensor& a, const Tensor& b) {
  const OpScope op("inner");
  checks::defined("a", a);
  checks::defined("b", b);
  if (a.dim() == 0 || b.dim() == 0) return mul(a, b);
  TANDEM_CHECK(a.size(-1) == b.size(-1), ShapeError, "the last sizes differ: a is {}, b is {}", checks::show(a),
               checks::show(b));
  if (a.dim() == 1 && b.dim() == 1) return dot(a, b);
  return tensordot(a, b, {-1}, {-1});
}

TANDEM_OPS Tensor outer(const Tensor& a, const Tensor& b) {
  const OpScope op("outer");
  return detail::outer_of(a, b);
}
TANDEM_OPS Tensor ger(const Tensor& a, const Tensor& b) {
  const OpScope op("ger");
  return detail::outer_of(a, b);
}

TANDEM_OPS Tensor mv(const Tensor& matrix, const Tensor& vector) {
  const Op<"mv"> op;
  detail::check_matrix("the matrix", matrix, 2);
  detail::check_vector("the vector", vector);
  detail::check_product(matrix, vector);
  return squeeze(detail::product(op, matrix, unsqueeze(vector, 1)), 1);
}

TANDEM_OPS Tensor linalg_vecdot(const Tensor& a, const Tensor& b, int64_t dim) {
  const Op<"linalg_vecdot"> op;
  checks::floating("a", a);
  checks::floating("b", b);
  const Dims sizes = broadcast_shapes(a.sizes(), b.sizes());
  TANDEM_CHECK(!sizes.empty(), ShapeError, "a is {}, b is {}: 0-dim tensors have no dimension to sum; use mul()",
               checks::show(a), checks::show(b));
  return detail::vecdot_of(op, a, b, sizes, wrap_dim(dim, static_cast<int64_t>(sizes.size())));
}

TANDEM_OPS Tensor addmv(const Tensor& input, const Tensor& matrix, const Tensor& vector, Scalar beta, Scalar alpha) {
  const Op<"addmv"> op;
  checks::defined("the input", input);
  detail::check_matrix("the matrix", matrix, 2);
  detail::check_vector("the vector", vector);
  detail::check_product(matrix, vector);
  const Dims sizes{matrix.size(0)};
  TANDEM_CHECK(broadcast_shapes(input.sizes(), sizes) == sizes, ShapeError,
               "input is {}, but must broadcast to the product's {}", checks::show(input), to_string(sizes));
  const Tensor column = input.dim() == 0 ? input : unsqueeze(input, 1);
  return squeeze(detail::add_product(op, column, matrix, unsqueeze(vector, 1), beta, alpha), 1);
}

TANDEM_OPS Tensor addr(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  const Op<"addr"> op;
  checks::defined("the input", input);
  detail::check_vector("a", a);
  detail::check_vector("b", b);
  // Nothing is summed, so that operands of several dtypes promote as those of mul() and add() do.
  const DType dtype = result_type({input, a, b});
  return detail::add_product(op, to(input, dtype), unsqueeze(to(a, dtype), 1), unsqueeze(to(b, dtype), 0), beta, alpha);
}

TANDEM_OPS Tensor addbmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  const Op<"addbmm"> op;
  checks::defined("the input", input);
  detail::check_batches(a, b);
  const int64_t terms = numel_of({a.size(0), a.size(2)});
  const Tensor left = reshape(transpose(a, 0, 1), {a.size(1), terms}), right = reshape(b, {terms, b.size(2)});
  return detail::add_product(op, input, left, right, beta, alpha);
}

TANDEM_OPS Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  const Op<"baddbmm"> op;
  checks::defined("the input", input);
  detail::check_batches(a, b);
  return detail::add_product(op, input, a, b, beta, alpha);
}

TANDEM_OPS Tensor tensordot(const Tensor& a, const Tensor& b, IntArrayRef dims_a, IntArrayRef dims_b) {
  const Op<"tensordot"> op;
  checks::floating("a", a);
  checks::floating("b", b);
  TANDEM_CHECK(dims_a.size() == dims_b.size(), ShapeError, "dims_a is {}, dims_b is {}; give equally many",
               to_string(dims_a), to_string(dims_b));
  Dims sizes_a = a.impl().sizes, sizes_b = b.impl().sizes, order_a, order_b, result;
  bool summed_a[kMaxRank] = {}, summed_b[kMaxRank] = {};
  int64_t terms = 1, rows = 1, columns = 1;
  for (size_t i = 0; i < dims_a.size(); ++i) {
    const auto u = static_cast<size_t>(wrap_dim(dims_a[i], a.dim()));
    const auto v = static_cast<size_t>(wrap_dim(dims_b[i], b.dim()));
    TANDEM_CHECK(a.dim() > 0 && b.dim() > 0 && !summed_a[u] && !summed_b[v], IndexError,
                 "a dimension appears twice in dims_a {} or dims_b {}, or an operand is 0-dim", to_string(dims_a),
                 to_string(dims_b));
    TANDEM_CHECK(sizes_a[u] == sizes_b[v] || sizes_a[u] == 1 || sizes_b[v] == 1, ShapeError,
                 "dimension {} of a {} and dimension {} of b {} have different sizes", u, checks::show(a), v,
                 checks::show(b));
    summed_a[u] = summed_b[v] = true;
    sizes_a[u] = sizes_b[v] = sizes_a[u] == 1 ? sizes_b[v] : sizes_a[u];
  }
  for (size_t d = 0; d < sizes_a.size(); ++d) {
    if (summed_a[d]) continue;
    order_a.push_back(static_cast<int64_t>(d));
    result.push_back(sizes_a[d]);
    rows *= sizes_a[d];
  }
  for (size_t i = 0; i < dims_a.size(); ++i) {
    order_a.push_back(wrap_dim(dims_a[i], a.dim()));
    order_b.push_back(wrap_dim(dims_b[i], b.dim()));
    terms *= sizes_a[static_cast<size_t>(order_a.back())];
  }
  for (size_t d = 0; d < sizes_b.size(); ++d) {
    if (summed_b[d]) continue;
    order_b.push_back(static_cast<int64_t>(d));
    result.push_back(sizes_b[d]);
    columns *= sizes_b[d];
  }
  const auto matrix = [](const Tensor& x, const Dims& sizes, const Dims& order, int64_t n, int64_t m) {
    const Tensor whole = x.sizes() == IntArrayRef(sizes) ? x : expand(x, sizes);
    return reshape(permute(whole, order), {n, m});
  };
  const Tensor y =
      detail::product(op, matrix(a, sizes_a, order_a, rows, terms), matrix(b, sizes_b, order_b, terms, columns));
  return detail::with_shape(y, result);
}

TANDEM_OPS Tensor tensordot(const Tensor& a, const Tensor& b, int64_t dims) {
  const OpScope op("tensordot");
  checks::defined("a", a);
  checks::defined("b", b);
  TANDEM_CHECK(dims >= 0 && dims <= a.dim() && dims <= b.dim(), ShapeError,
               "dims = {}, but a is {} and b is {}; dims must be between 0 and both ranks", dims, checks::show(a),
               checks::show(b));
  Dims dims_a, dims_b;
  for (int64_t d = 0; d < dims; ++d) {
    dims_a.push_back(a.dim() - dims + d);
    dims_b.push_back(d);
  }
  return tensordot(a, b, dims_a, dims_b);
}

TANDEM_OPS Tensor chain_matmul(TensorList matrices) {
  const Op<"chain_matmul"> op;
  TANDEM_CHECK(!matrices.empty(), ShapeError, "no matrices; give at least one");
  for (const Tensor& m : matrices) {
    detail::check_matrix("each matrix", m, 2);
    checks::floating("each matrix", m);
  }
  if (matrices.size() == 1) return clone(detail::cast_operands(op, matrices)[0]);
  return detail::chain_product(op, matrices.vec());
}

TANDEM_OPS Tensor linalg_multi_dot(TensorList tensors) {
  const Op<"linalg_multi_dot"> op;
  const size_t n = tensors.size();
  TANDEM_CHECK(n >= 2, ShapeError, "{} tensors; give at least two", n);
  std::vector<Tensor> matrices = tensors.vec();
  for (size_t i = 0; i < n; ++i) {
    Tensor& m = matrices[i];
    checks::defined_at(i, m);
    TANDEM_CHECK(m.dim() == 2 || (m.dim() == 1 && (i == 0 || i + 1 == n)), ShapeError,
                 "tensor {} is {}, but must be a matrix; only the first and the last may have rank 1", i,
                 checks::show(m));
    if (m.dim() == 1) m = unsqueeze(m, i == 0 ? 0 : 1);
  }
  const Tensor y = detail::chain_product(op, matrices);
  Dims sizes;
  if (tensors.front().dim() == 2) sizes.push_back(y.size(0));
  if (tensors.back().dim() == 2) sizes.push_back(y.size(1));
  return detail::with_shape(y, sizes);
}

TANDEM_OPS Tensor matrix_power(const Tensor& x, int64_t n) {
  const OpScope op("matrix_power");
  return detail::power_of(x, n);
}
TANDEM_OPS Tensor linalg_matrix_power(const Tensor& x, int64_t n) {
  const OpScope op("linalg_matrix_power");
  return detail::power_of(x, n);
}

TANDEM_OPS Tensor kron(const Tensor& a, const Tensor& b) {
  const OpScope op("kron");
  checks::defined("a", a);
  checks::defined("b", b);
  const int64_t rank = std::max(a.dim(), b.dim());
  TANDEM_CHECK(2 * rank <= kMaxRank, ShapeError, "a is {}, b is {}; ranks above {} are not supported", checks::show(a),
               checks::show(b), kMaxRank / 2);
  Dims sizes_a, sizes_b, result;
  const auto size = [rank](const Tensor& x, int64_t d) { return d < rank - x.dim() ? 1 : x.size(d - rank + x.dim()); };
  for (int64_t d = 0; d < rank; ++d) {
    sizes_a.push_back(size(a, d));
    sizes_a.push_back(1);
    sizes_b.push_back(1);
    sizes_b.push_back(size(b, d));
    result.push_back(numel_of({size(a, d), size(b, d)}));
  }
  return detail::with_shape(mul(detail::with_shape(a, sizes_a), detail::with_shape(b, sizes_b)), result);
}

TANDEM_OPS Tensor cross(const Tensor& a, const Tensor& b, std::optional<int64_t> dim) {
  const Op<"cross"> op;
  if (dim) return detail::cross_of(op, a, b, *dim);
  checks::defined("a", a);
  int64_t first = 0;
  while (first < a.dim() && a.size(first) != 3) ++first;
  TANDEM_CHECK(first < a.dim(), ShapeError, "a is {}, which has no dimension of size 3", checks::show(a));
  return detail::cross_of(op, a, b, first);
}
TANDEM_OPS Tensor linalg_cross(const Tensor& a, const Tensor& b, int64_t dim) {
  return detail::cross_of(Op<"linalg_cross">(), a, b, dim);
}

TANDEM_OPS Tensor bilinear(const Tensor& x1, const Tensor& x2, const Tensor& weight, const Tensor& bias) {
  const Op<"bilinear"> op;
  checks::floating("x1", x1);
  checks::floating("x2", x2);
  checks::floating("weight", weight);
  TANDEM_CHECK(weight.dim() == 3 && x1.dim() >= 1 && x1.dim() == x2.dim() && x1.size(-1) == weight.size(1) &&
                   x2.size(-1) == weight.size(2),
               ShapeError, "x1 is {}, x2 is {}, weight is {}; they must be [..., n], [..., m] and [o, n, m]",
               checks::show(x1), checks::show(x2), checks::show(weight));
  Dims sizes = x1.impl().sizes, other = x2.impl().sizes;
  sizes.back() = other.back() = weight.size(0);
  TANDEM_CHECK(sizes == other, ShapeError, "x1 is {}, x2 is {}; all sizes but the last must be equal", checks::show(x1),
               checks::show(x2));
  checks::sizes("bias", bias, {weight.size(0)});
  const Tensor given[] = {x1, x2, weight, bias};
  const std::vector<Tensor> x = detail::cast_operands(op, {given, 4});
  const amp::AutocastOff off;
  const int64_t outputs = weight.size(0), n = weight.size(1), m = weight.size(2);
  sizes.pop_back();
  const int64_t rows = numel_of(sizes);
  const Tensor right = reshape(transpose(x[2], 0, 1), {n, outputs * m});
  const Tensor partial = view(mm(detail::with_shape(x[0], {rows, n}), right), {rows, outputs, m});
  const Tensor y = bmm(partial, detail::with_shape(x[1], {rows, m, 1}));
  sizes.push_back(outputs);
  const Tensor result = detail::with_shape(y, sizes);
  checks::same_dtype("x1", x[0], "bias", x[3]);
  return x[3].defined() ? add(result, x[3]) : result;
}

}  // namespace tandem
