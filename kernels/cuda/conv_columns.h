#pragma once
// The gradient of a convolution's weight as matrix products over columns (im2col): one row per output pixel, with the
// inputs that its kernel reads.
#include <algorithm>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/window_rows.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {

/// Elements between rows of columns, rounded up so that rows of 16-bit elements start at multiples of 16 bytes.
inline int64_t column_stride(int64_t taps_and_channels) { return (taps_and_channels + 7) / 8 * 8; }

/// gweight = gradient of the weight [O, C, KH, KW], f32, from gy: [N, O, OH, OW] and x: [N, C, H, W] of the same 16-bit
/// dtype, without groups. All sums are f32. The columns are KH KW times as large as x (for a 1x1 kernel with stride 1
/// they are x itself), so they are computed for as many images at a time as fit into `most_bytes`, at least one, and
/// the products are added up.
inline void conv_backward_weight_by_columns(const Tensor& gweight, const Tensor& gy, const Tensor& x,
                                            const ConvParams& p, int64_t most_bytes) {
  const int64_t n = x.size(0), c = x.size(1), h = x.size(2), w = x.size(3), o = gy.size(1), oh = gy.size(2),
                ow = gy.size(3), kh = gweight.size(2), kw = gweight.size(3), taps = kh * kw * c, pixels = oh * ow;
  const auto channels_last = [&](const Tensor& t) {
    if (t.is_contiguous(MemoryFormat::ChannelsLast)) return t;
    const Tensor copied = empty(t.sizes(), t.options().memory_format(MemoryFormat::ChannelsLast));
    copy(copied, t);
    return copied;
  };
  const Tensor g = channels_last(gy), in = channels_last(x);
  // [O, KH, KW, C] in memory: the channels-last layout of the weight.
  const Tensor sums = gweight.dtype() == kFloat && gweight.is_contiguous(MemoryFormat::ChannelsLast)
                          ? gweight
                          : empty(gweight.sizes(), gweight.options().dtype(kFloat).memory_format(kChannelsLast));
  const Tensor product = make_view(sums, {o, taps}, {taps, 1}, sums.storage_offset());

  const bool is_x = kh * kw == 1 && p.stride[0] * p.stride[1] == 1 && p.padding[0] + p.padding[1] == 0;
  const int64_t ld = is_x ? c : column_stride(taps), size = static_cast<int64_t>(element_size(x.dtype()));
  const int64_t at_once = is_x ? n : std::clamp<int64_t>(most_bytes / (pixels * ld * size), 1, n);
  Tensor columns;  // reused for every slice
  if (!is_x) columns = empty({at_once * pixels, ld}, x.options());
  for (int64_t i = 0; i < n; i += at_once) {
    const int64_t images = std::min(at_once, n - i);
    const int64_t first = in.storage_offset() + i * h * w * c;
    Tensor rows = make_view(in, {images * pixels, taps}, {ld, 1}, first);
    if (!is_x) {
      rows = make_view(columns, {images * pixels, taps}, {ld, 1}, 0);
      window_rows(make_view(columns, {images * pixels, ld}, {ld, 1}, 0),
                  make_view(in, {images, c, h, w}, {h * w * c, 1, w * c, c}, first), {kh, kw}, {oh, ow}, p);
    }
    gemm({.d = product,
          .a = make_view(g, {o, images * pixels}, {1, o}, g.storage_offset() + i * pixels * o),
          .b = rows,
          .bias = {},
          .accumulate = i > 0});
  }
  if (!sums.is_same(gweight)) copy(gweight, sums);
}

}  // namespace tandem::cuda
