#pragma once
#include <limits>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/pool.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

inline void check_image(const Tensor& x) {
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() == 3 || x.dim() == 4, ShapeError, "x is {}, but must be [N, C, H, W] or [C, H, W]",
               checks::show(x));
  for (int64_t d = 1; d <= 3; ++d) {
    TANDEM_CHECK(x.size(-d) > 0, ShapeError, "x is {}, whose channels, rows and columns must not be empty",
                 checks::show(x));
  }
}

/// The sizes of a pooled [N, C, H, W]. Source: PyTorch's pooling_output_shape.
inline Dims pool_sizes(IntArrayRef x, const Pool2dParams& p) {
  TANDEM_CHECK(x.size() == 4, ShapeError, "x is {}, but must be [N, C, H, W]", to_string(x));
  Dims y(x);
  for (size_t i = 0; i < 2; ++i) {
    TANDEM_CHECK(p.kernel[i] >= 1 && p.stride[i] >= 1 && p.dilation[i] >= 1 && p.padding[i] >= 0, StateError,
                 "kernel {}, stride {}, dilation {} and padding {}; padding must be at least 0, the others at least 1",
                 p.kernel[i], p.stride[i], p.dilation[i], p.padding[i]);
    const Checked reach = Checked(p.dilation[i]) * (p.kernel[i] - 1) + 1;
    const Checked end = Checked(x[i + 2]) + p.padding[i], padded = end + p.padding[i], room = padded - reach;
    TANDEM_CHECK(room >= (p.ceil_mode ? 1 - p.stride[i] : 0), ShapeError,
                 "no window fits: it spans {} rows or columns, but x {} with padding {} has {}; use a smaller "
                 "kernel_size {} or dilation {}",
                 to_string(reach), to_string(x), p.padding[i], to_string(padded), p.kernel[i], p.dilation[i]);
    const int64_t free = *room.value();
    int64_t last = free < 0 ? 0 : free / p.stride[i] + (p.ceil_mode && free % p.stride[i] != 0 ? 1 : 0);
    // The last window must begin in the image or in the padding before it.
    if (p.ceil_mode && !(Checked(last) * p.stride[i] <= end - 1)) --last;
    y[i + 2] = last + 1;
  }
  // max_pool2d numbers the cells of a window in an int32.
  TANDEM_CHECK(Checked(p.kernel[0]) * p.kernel[1] <= std::numeric_limits<int32_t>::max(), ShapeError,
               "kernel_size {} x {} has more than 2^31 - 1 cells; use a smaller one", p.kernel[0], p.kernel[1]);
  return y;
}

/// Returns the dtype of max_pool2d's indices: the narrowest that can number the cells of the window.
inline DType cell_dtype(const Pool2dParams& p) { return p.kernel[0] * p.kernel[1] <= 256 ? kByte : kInt; }

/// Checks that sizes and dtype of `indices` are those of max_pool2d for an x of these sizes. The values are not
/// checked.
inline void check_indices(const Tensor& indices, IntArrayRef x, const Pool2dParams& p) {
  checks::defined("indices", indices);
  checks::sizes("indices", indices, pool_sizes(x, p));
  TANDEM_CHECK(indices.dtype() == cell_dtype(p), DTypeError,
               "indices are {}, but max_pool2d returns {}; pass the ones that it returned",
               tandem::name(indices.dtype()), tandem::name(cell_dtype(p)));
}

/// Runs `op` on [N, C, H, W]; [C, H, W] is temporarily extended to it.
template <class F>
Tensor on_batch(const Tensor& x, F op) {
  return x.dim() == 3 ? squeeze(op(unsqueeze(x, 0)), 0) : op(x);
}

/// avg_pool2d of rank 4 with checked parameters.
inline Tensor avg_pool2d_op(const Tensor& x, const Pool2dParams& p) {
  const Op<"avg_pool2d"> op;
  const Dims sizes = pool_sizes(x.sizes(), p);
  return op.apply(
      [&](const Tensor& x) {
        const Tensor in = checks::dense(x);
        Tensor y = empty(sizes, x.options().memory_format(checks::layout(in)));
        if (y.numel() > 0) backend(x).avg_pool2d(y, in, p);
        return Result{y, {}, [p, xs = x.impl().sizes](const Backward& b) -> Grads {
                        return {avg_pool2d_backward(b.grad(), xs, p)};
                      }};
      },
      x);
}

}  // namespace detail

// ---- max_pool2d

TANDEM_OPS Tensor max_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                             IntArrayRef dilation, bool ceil_mode) {
  const Op<"max_pool2d"> op;
  detail::check_image(x);
  const Pool2dParams p = checks::windows(kernel_size, stride, padding, dilation, ceil_mode);
  return detail::on_batch(x, [&](const Tensor& x) {
    const Dims sizes = detail::pool_sizes(x.sizes(), p);
    return op.apply(
        [&](const Tensor& x) {
          const Tensor in = checks::dense(x);
          const TensorOptions options = x.options().memory_format(checks::layout(in));
          Tensor y = empty(sizes, options), indices = empty(sizes, options.dtype(detail::cell_dtype(p)));
          if (y.numel() > 0) backend(x).max_pool2d(y, indices, in, p);
          return Result{y, save(indices), [p, xs = x.impl().sizes](const Backward& b) -> Grads {
                          return {max_pool2d_backward(b.grad(), b.saved(0), xs, p)};
                        }};
        },
        x);
  });
}

TANDEM_OPS Tensor max_pool2d_backward(const Tensor& gy, const Tensor& indices, IntArrayRef sizes,
                                      const Pool2dParams& params) {
  const Op<"max_pool2d_backward"> op;
  checks::floating("gy", gy);
  checks::defined("indices", indices);
  checks::sizes("gy", gy, indices.sizes());
  detail::check_indices(indices, sizes, params);
  const Dims xs(sizes);
  return op.apply(
      [&](const Tensor& gy, const Tensor& indices) {
        const MemoryFormat format = checks::layout(indices);
        Tensor gx = empty(xs, gy.options().memory_format(format));
        if (gx.numel() > 0) backend(gy).max_pool2d_backward(gx, checks::dense(gy, format), indices, params);
        return Result{gx, save(indices), [p = params](const Backward& b) -> Grads {
                        return {max_pool2d_gather(b.grad(), b.saved(0), p), Tensor()};
                      }};
      },
      gy, indices);
}

TANDEM_OPS Tensor max_pool2d_gather(const Tensor& x, const Tensor& indices, const Pool2dParams& params) {
  const Op<"max_pool2d_gather"> op;
  checks::floating("x", x);
  detail::check_indices(indices, x.sizes(), params);
  return op.apply(
      [&](const Tensor& x, const Tensor& indices) {
        const MemoryFormat format = checks::layout(indices);
        Tensor y = empty(indices.sizes(), x.options().memory_format(format));
        if (y.numel() > 0) backend(x).max_pool2d_gather(y, checks::dense(x, format), indices, params);
        return Result{y, save(indices), [p = params, xs = x.impl().sizes](const Backward& b) -> Grads {
                        return {max_pool2d_backward(b.grad(), b.saved(0), xs, p), Tensor()};
                      }};
      },
      x, indices);
}

// ---- avg_pool2d

TANDEM_OPS Tensor avg_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                             bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  const OpScope op("avg_pool2d");
  detail::check_image(x);
  Pool2dParams p = checks::windows(kernel_size, stride, padding, {1}, ceil_mode);
  p.count_include_pad = count_include_pad;
  TANDEM_CHECK(!divisor_override || *divisor_override != 0, StateError,
               "divisor_override = 0 divides by zero; omit it to divide by the window's size");
  p.divisor_override = divisor_override.value_or(0);
  return detail::on_batch(x, [&](const Tensor& x) { return detail::avg_pool2d_op(x, p); });
}

TANDEM_OPS Tensor avg_pool2d_backward(const Tensor& gy, IntArrayRef sizes, const Pool2dParams& params) {
  const Op<"avg_pool2d_backward"> op;
  checks::floating("gy", gy);
  const Dims xs(sizes);
  checks::sizes("gy", gy, detail::pool_sizes(xs, params));
  return op.apply(
      [&](const Tensor& gy) {
        const Tensor g = checks::dense(gy);
        Tensor gx = empty(xs, gy.options().memory_format(checks::layout(g)));
        if (gx.numel() > 0) backend(gy).avg_pool2d_backward(gx, g, params);
        return Result{
            gx, {}, [p = params](const Backward& b) -> Grads { return {detail::avg_pool2d_op(b.grad(), p)}; }};
      },
      gy);
}

// ---- adaptive_avg_pool2d

TANDEM_OPS Tensor adaptive_avg_pool2d(const Tensor& x, IntArrayRef output_size) {
  const Op<"adaptive_avg_pool2d"> op;
  detail::check_image(x);
  const auto [height, width] = checks::pair("output_size", output_size, 1);
  const Dims tail{height, width};
  return detail::on_batch(x, [&](const Tensor& x) {
    return op.apply(
        [&](const Tensor& x) {
          const Tensor in = checks::dense(x);
          Tensor y = empty({x.size(0), x.size(1), tail[0], tail[1]}, x.options().memory_format(checks::layout(in)));
          if (y.numel() > 0) backend(x).adaptive_avg_pool2d(y, in);
          return Result{y, {}, [xs = x.impl().sizes](const Backward& b) -> Grads {
                          return {adaptive_avg_pool2d_backward(b.grad(), xs)};
                        }};
        },
        x);
  });
}

TANDEM_OPS Tensor adaptive_avg_pool2d_backward(const Tensor& gy, IntArrayRef sizes) {
  const Op<"adaptive_avg_pool2d_backward"> op;
  checks::floating("gy", gy);
  const Dims xs(sizes);
  TANDEM_CHECK(gy.dim() == 4 && xs.size() == 4 && gy.size(0) == xs[0] && gy.size(1) == xs[1] &&
                   std::min(gy.size(2), gy.size(3)) > 0 && std::min(xs[2], xs[3]) > 0,
               ShapeError,
               "gy is {}, x is {}; both must be [N, C, H, W] with equal N and C, and H and W must be at least 1",
               checks::show(gy), to_string(xs));
  return op.apply(
      [&](const Tensor& gy) {
        const Tensor g = checks::dense(gy);
        Tensor gx = empty(xs, gy.options().memory_format(checks::layout(g)));
        if (gx.numel() > 0) backend(gy).adaptive_avg_pool2d_backward(gx, g);
        return Result{gx, {}, [tail = Dims{gy.size(2), gy.size(3)}](const Backward& b) -> Grads {
                        return {adaptive_avg_pool2d(b.grad(), tail)};
                      }};
      },
      gy);
}

}  // namespace tandem
