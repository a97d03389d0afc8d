#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/conv_forms-inl.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/fold.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// The blocks of an image.
struct Blocks {
  std::array<int64_t, 2> kernel;
  ConvParams p;

  Blocks(IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride)
      : kernel(checks::pair("kernel_size", kernel_size, 1)), p(conv_params(2, stride, padding, dilation, 1)) {}

  /// The sizes [N, C, KH, KW, OH, OW] of an image's columns. Throws ShapeError unless at least one block fits.
  Dims columns(IntArrayRef image) const {
    Dims sizes{image[0], image[1], kernel[0], kernel[1]};
    for (size_t i = 0; i < 2; ++i) {
      check_conv_entry(p, i);
      const Checked padded = Checked(image[i + 2]) + 2 * p.padding[i];
      const Checked reach = Checked(p.dilation[i]) * (kernel[i] - 1) + 1, room = padded - reach;
      TANDEM_CHECK(room >= 0, ShapeError,
                   "a block spans {} rows or columns, but the image {} with padding {} has {} (kernel_size {}, "
                   "dilation {}); increase padding or use a smaller kernel_size",
                   to_string(reach), to_string(image), p.padding[i], to_string(padded), kernel[i], p.dilation[i]);
      sizes.push_back(*room.value() / p.stride[i] + 1);
    }
    numel_of(sizes);  // throws if it overflows
    return sizes;
  }
};

/// [N, C KH KW, OH OW] from [N, C, KH, KW, OH, OW].
inline Dims merged_columns(const Dims& s) { return {s[0], s[1] * s[2] * s[3], s[4] * s[5]}; }

/// im2col of a batch, with columns of checked sizes.
inline Tensor im2col_op(const Op<"im2col">& op, const Tensor& x, const ConvParams& p, const Dims& columns);

/// col2im of a batch, with images and columns of checked sizes.
inline Tensor col2im_op(const Op<"col2im">& op, const Tensor& x, const ConvParams& p, const Dims& columns,
                        const Dims& image) {
  return op.apply(
      [&](const Tensor& x) {
        const Tensor in = contiguous(x), y = empty(image, x.options());
        if (y.numel() > 0) {
          backend(x).col2im(y, make_view(in, columns, contiguous_strides(columns), in.storage_offset()), p);
        }
        return Result{y, {}, [p, columns](const Backward& b) -> Grads {
                        return {im2col_op(Op<"im2col">(), b.grad(), p, columns)};
                      }};
      },
      x);
}

inline Tensor im2col_op(const Op<"im2col">& op, const Tensor& x, const ConvParams& p, const Dims& columns) {
  return op.apply(
      [&](const Tensor& x) {
        const Tensor y = empty(merged_columns(columns), x.options());
        if (y.numel() > 0) {
          backend(x).im2col(make_view(y, columns, contiguous_strides(columns), 0), checks::dense(x), p);
        }
        return Result{y, {}, [p, columns, image = x.impl().sizes](const Backward& b) -> Grads {
                        return {col2im_op(Op<"col2im">(), b.grad(), p, columns, image)};
                      }};
      },
      x);
}

}  // namespace detail

TANDEM_OPS Tensor im2col(const Tensor& x, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
                         IntArrayRef stride) {
  const Op<"im2col"> op;
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() == 3 || x.dim() == 4, ShapeError, "x is {}, but must be [N, C, H, W] or [C, H, W]",
               checks::show(x));
  const detail::Blocks blocks(kernel_size, dilation, padding, stride);
  const bool single = x.dim() == 3;
  const Tensor batch = single ? unsqueeze(x, 0) : x;
  TANDEM_CHECK(batch.size(1) > 0, ShapeError, "x is {}, but must have channels", checks::show(x));
  const Dims columns = blocks.columns(batch.sizes());
  const Tensor y = detail::im2col_op(op, batch, detail::with_short_strides(blocks.p, batch.sizes()), columns);
  return single ? squeeze(y, 0) : y;
}

TANDEM_OPS Tensor col2im(const Tensor& x, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
                         IntArrayRef padding, IntArrayRef stride) {
  const Op<"col2im"> op;
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() == 2 || x.dim() == 3, ShapeError,
               "x is {}, but must be [N, C KH KW, columns] or [C KH KW, columns]", checks::show(x));
  const std::array<int64_t, 2> size = checks::pair("output_size", output_size, 1);
  const detail::Blocks blocks(kernel_size, dilation, padding, stride);
  const bool single = x.dim() == 2;
  const Tensor batch = single ? unsqueeze(x, 0) : x;
  const Checked cells = Checked(blocks.kernel[0]) * blocks.kernel[1];
  TANDEM_CHECK(cells.fits() && batch.size(1) > 0 && batch.size(1) % *cells.value() == 0, ShapeError,
               "x is {}, but dimension {} must be a multiple of the kernel's {} cells", checks::show(x), x.dim() - 2,
               to_string(cells));
  const Dims image{batch.size(0), batch.size(1) / *cells.value(), size[0], size[1]};
  const Dims columns = blocks.columns(image);
  TANDEM_CHECK(batch.size(2) == columns[4] * columns[5], ShapeError,
               "x {} has {} columns, but output_size {} has {} x {} blocks", checks::show(x), batch.size(2),
               to_string(output_size), columns[4], columns[5]);
  const Tensor y = detail::col2im_op(op, batch, detail::with_short_strides(blocks.p, image), columns, image);
  return single ? squeeze(y, 0) : y;
}

}  // namespace tandem
