#pragma once
// What the ops that read and write by index share: checks, the form of operands that kernels need, scatter_add and
// index_add of checked arguments, and gradients of tables.
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/index.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// Returns `x` in the form that kernels need: a tensor of rank 0 becomes one of rank 1.
inline Tensor indexed(const Tensor& x) { return x.dim() > 0 ? x : make_view(x, {1}, {1}, x.storage_offset()); }

/// Returns `t`, or its copy on x's device if it is a CPU tensor of rank 0, which ops accept beside a CUDA tensor.
inline Tensor beside(const Tensor& x, const Tensor& t) {
  return t.is_cpu() && t.dim() == 0 && !x.is_cpu() ? to(t, x.device(), t.dtype()) : t;
}

/// `sizes` with entry `d` replaced; rank 0 counts as [1].
inline Dims with_size(IntArrayRef sizes, int64_t d, int64_t size) {
  Dims out(sizes);
  if (!out.empty()) out[static_cast<size_t>(d)] = size;
  return out;
}

inline int64_t size_or_one(const Tensor& x, int64_t d) { return x.dim() == 0 ? 1 : x.size(d); }

/// Throws ShapeError unless index has x's rank and sizes of at most x's; dimension `d` is exempt if `any_along_d`.
inline void check_fits(const Tensor& index, const char* which, IntArrayRef x, DType dtype, int64_t d,
                       bool any_along_d) {
  bool fits = index.sizes().size() == x.size() || (index.dim() <= 1 && x.size() <= 1);
  for (size_t i = 0; fits && i < index.sizes().size() && i < x.size(); ++i) {
    fits = index.sizes()[i] <= x[i] || (any_along_d && static_cast<int64_t>(i) == d);
  }
  TANDEM_CHECK(fits || index.numel() == 0, ShapeError,
               "index is {}, but {} is {} {} and dim is {}; index must have the same rank and no larger sizes{}",
               checks::show(index), which, to_string(x), tandem::name(dtype), d, any_along_d ? " outside dim" : "");
}

/// Returns the leading part of src that index covers; the rest is not used.
inline Tensor covered(Tensor src, const Tensor& index) {
  for (int64_t i = 0; i < index.dim() && i < src.dim(); ++i) {
    if (src.size(i) != index.size(i)) src = narrow(src, i, 0, index.size(i));
  }
  return src;
}

/// Copies x (zeros of `sizes` if x is undefined) to a new tensor y, calls `add(y)`, and returns y. Sums of f16 and bf16
/// are held in f32 and rounded once.
template <class F>
Tensor accumulate(const Tensor& x, IntArrayRef sizes, const Tensor& src, F add) {
  const DType held = is_reduced_floating_point(src.dtype()) ? kFloat : src.dtype();
  const TensorOptions options = src.options().dtype(held);
  const Tensor y = x.defined() ? empty(sizes, options) : zeros(sizes, options);
  if (x.defined()) backend(y).copy(y, x);
  if (src.numel() > 0) add(y);
  return to(y, src.dtype());
}

/// Like accumulate, in self's memory.
template <class F>
void accumulate_in_place(const Tensor& self, const Tensor& src, F add) {
  if (src.numel() == 0) return;
  if (!is_reduced_floating_point(self.dtype())) return add(self);
  backend(self).copy(self, accumulate(self, self.sizes(), src, add));
}

/// scatter_add of checked arguments; src has the sizes of index. An undefined x means zeros of `sizes`.
inline Tensor scatter_add_op(const Tensor& x, const Dims& sizes, int64_t d, const Tensor& index, const Tensor& src) {
  const Op<"scatter_add"> op;
  const Tensor& like = x.defined() ? x : src;
  return op.apply(
      [&](const Tensor& x, const Tensor& index, const Tensor& src) {
        if (x.defined()) checks::same_dtype("x", x, "src", src);
        const Tensor y = empty(sizes, src.options());
        backend(y).scatter_sum(indexed(y), x.defined() ? indexed(x) : x, d, indexed(index), indexed(src));
        return Result{y, save(index), [d](const Backward& b) -> Grads {
                        Grads grads(3);
                        if (b.needs(0)) grads[0] = b.grad();
                        if (b.needs(2)) grads[2] = gather(b.grad(), d, b.saved(0));
                        return grads;
                      }};
      },
      x, beside(like, index), beside(like, src));
}

/// index_add of checked arguments. An undefined x means zeros of `sizes`.
inline Tensor index_add_op(const Tensor& x, const Dims& sizes, int64_t d, const Tensor& index, const Tensor& src) {
  const Op<"index_add"> op;
  const Tensor& like = x.defined() ? x : src;
  return op.apply(
      [&](const Tensor& x, const Tensor& index, const Tensor& src) {
        if (x.defined()) checks::same_dtype("x", x, "src", src);
        const Tensor y = empty(sizes, src.options());
        backend(y).index_sum(indexed(y), x.defined() ? indexed(x) : x, d, indexed(index), indexed(src));
        return Result{y, save(index), [d](const Backward& b) -> Grads {
                        Grads grads(3);
                        if (b.needs(0)) grads[0] = b.grad();
                        if (b.needs(2)) grads[2] = index_select(b.grad(), d, b.saved(0));
                        return grads;
                      }};
      },
      x, beside(like, index), beside(like, src));
}

/// Checks the arguments of scatter_add. Returns the wrapped dimension.
inline int64_t check_scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  checks::defined("x", x);
  checks::index("index", index);
  checks::defined("src", src);
  const int64_t d = wrap_dim(dim, x.dim());
  check_fits(index, "x", x.sizes(), x.dtype(), d, true);
  check_fits(index, "src", src.sizes(), src.dtype(), d, false);
  return d;
}

/// Checks the arguments of index_add. Returns the wrapped dimension.
inline int64_t check_index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  checks::defined("x", x);
  checks::index("index", index);
  checks::defined("src", src);
  const int64_t d = wrap_dim(dim, x.dim());
  TANDEM_CHECK(index.dim() <= 1, ShapeError, "index is {}, but must have rank 1; flatten() it", checks::show(index));
  checks::sizes("src", src, with_size(x.sizes(), d, index.numel()));
  TANDEM_CHECK(x.dim() > 0 || index.numel() == 1, ShapeError, "index is {}, but x has rank 0; give one entry",
               checks::show(index));
  return d;
}

/// Returns `t`, or a copy if it shares self's storage: an in-place kernel writes self in another order than it reads.
inline Tensor apart(const Tensor& self, const Tensor& t) {
  return t.defined() && t.impl().storage == self.impl().storage ? clone(t) : t;
}

/// A copy of x in its own memory order.
inline Tensor copy_of(const Tensor& x) {
  Tensor y = empty_like(x);
  backend(y).copy(y, x);
  return y;
}

/// The scatter kernel on checked arguments; src broadcasts to the sizes of index.
inline void scatter_kernel(const Tensor& y, kernels::Scatter op, int64_t d, const Tensor& index, const Tensor& src) {
  if (index.numel() == 0) return;
  const Tensor k = indexed(to(index, kLong));
  backend(y).scatter(indexed(y), op, d, k, broadcast_view(src, k.sizes()));
}

/// A tensor of rank 0 with the dtype and device of x. Throws StateError if the dtype cannot hold the value.
inline Tensor number_like(const Tensor& x, Scalar value) {
  check_fits(value, x.dtype());
  return full({}, value, x.options());
}

/// Throws unless `value` is one number that can be stored in x's dtype. Its gradient flows through the conversion.
inline Tensor number_for(const Tensor& x, const Tensor& value) {
  checks::defined("value", value);
  TANDEM_CHECK(value.dim() == 0, ShapeError, "value is {}, but must have rank 0; pass a number, or one element of it",
               checks::show(value));
  TANDEM_CHECK(can_cast(value.dtype(), x.dtype()), DTypeError,
               "value is {}, which x {} cannot hold; convert x with .to()", checks::show(value), checks::show(x));
  return value.dtype() == x.dtype() && value.device() == x.device() ? value : to(value, x.device(), x.dtype());
}

inline void check_table(const Tensor& weight, const Tensor& indices) {
  checks::defined("weight", weight);
  checks::index("indices", indices);
  TANDEM_CHECK(weight.dim() == 2, ShapeError, "weight is {}, but must be [entries, features]", checks::show(weight));
}

/// Row i of g divided by the number of indices that equal indices[i]; 0 <= indices < rows.
inline Tensor over_frequency(const Tensor& g, const Tensor& indices, int64_t rows) {
  const Tensor one = ones(indices.sizes(), g.options().dtype(checks::sum_dtype(g.dtype())));
  const Tensor count = index_select(index_select_backward(one, {rows}, 0, indices), 0, indices);
  return to(div(g, unsqueeze(count, 1)), g.dtype());
}

}  // namespace detail

}  // namespace tandem
