#pragma once
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/base/op_scope.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/pixel_shuffle.h"
#include "tandem/ops/shape.h"

namespace tandem {

namespace detail {

/// The sizes of [..., C, H, W], with the leading ones merged.
struct ImageSizes {
  Dims lead;
  int64_t images, channels, height, width;

  explicit ImageSizes(const Tensor& x) {
    checks::defined("x", x);
    TANDEM_CHECK(x.dim() >= 3, ShapeError, "x is {}, but must be [..., C, H, W]", checks::show(x));
    lead = x.sizes().slice(0, x.sizes().size() - 3);
    images = numel_of(lead);
    channels = x.size(-3);
    height = x.size(-2);
    width = x.size(-1);
  }
  Dims with(int64_t c, int64_t h, int64_t w) const {
    Dims sizes = lead;
    for (int64_t size : {c, h, w}) sizes.push_back(size);
    return sizes;
  }
};

/// Returns factor^2, or 0 if it is not positive or overflows.
inline int64_t square_of(int64_t factor) { return factor > 0 ? (Checked(factor) * factor).value_or(0) : 0; }

/// Returns x with other sizes, in memory of its own.
inline Tensor copied_as(const Tensor& x, IntArrayRef sizes) {
  return reshape(clone(x, MemoryFormat::Contiguous), sizes);
}

}  // namespace detail

TANDEM_OPS Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor) {
  const OpScope op("pixel_shuffle");
  const detail::ImageSizes s(x);
  const int64_t r = upscale_factor, r2 = detail::square_of(r);
  TANDEM_CHECK(r2 > 0 && s.channels % r2 == 0, ShapeError,
               "upscale_factor = {}, whose square does not divide the channels of x {}", r, checks::show(x));
  const Tensor parts = reshape(x, {s.images, s.channels / r2, r, r, s.height, s.width});
  return detail::copied_as(permute(parts, {0, 1, 4, 2, 5, 3}), s.with(s.channels / r2, s.height * r, s.width * r));
}

TANDEM_OPS Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor) {
  const OpScope op("pixel_unshuffle");
  const detail::ImageSizes s(x);
  const int64_t r = downscale_factor, r2 = detail::square_of(r);
  TANDEM_CHECK(r2 > 0 && s.height % r == 0 && s.width % r == 0, ShapeError,
               "downscale_factor = {}, which does not divide the height and the width of x {}", r, checks::show(x));
  const Tensor parts = reshape(x, {s.images, s.channels, s.height / r, r, s.width / r, r});
  return detail::copied_as(permute(parts, {0, 1, 3, 5, 2, 4}), s.with(s.channels * r2, s.height / r, s.width / r));
}

TANDEM_OPS Tensor channel_shuffle(const Tensor& x, int64_t groups) {
  const OpScope op("channel_shuffle");
  checks::defined("x", x);
  TANDEM_CHECK(x.dim() >= 3, ShapeError, "x is {}, but must be [N, C, ...] of rank 3 or more", checks::show(x));
  TANDEM_CHECK(groups > 0 && x.size(1) % groups == 0, ShapeError,
               "groups = {}, which does not divide the channels of x {}", groups, checks::show(x));
  const int64_t inner = numel_of(x.sizes().slice(2, x.sizes().size() - 2));
  return detail::copied_as(transpose(reshape(x, {x.size(0), groups, x.size(1) / groups, inner}), 1, 2), x.sizes());
}

}  // namespace tandem
