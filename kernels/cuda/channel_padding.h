#pragma once
// Decides whether 16-bit channels-last convolutions are padded to multiples of 8 channels inside the backend. Host code
// that can be tested without a GPU.
#include <algorithm>
#include <cstdint>

#include "tandem/base/shape.h"

namespace tandem::cuda {

/// Tensor cores load 16 bytes, 8 channels, at a time. If the channel count is only divisible by a smaller power of two,
/// a convolution takes this many times as long. These are unmeasured estimates (420 channels are expected to cost 10 to
/// 25 % more than 424).
constexpr double slowdown_of(int64_t channels) {
  return channels % 8 == 0 ? 1 : channels % 4 == 0 ? 1.15 : channels % 2 == 0 ? 1.5 : 2;
}

constexpr int64_t padded_channels(int64_t channels) { return (channels + 7) / 8 * 8; }

/// Whether padding pays off for x: [N, C, H, W], weight: [O, C, KH, KW], y: [N, O, OH, OW], without groups, in any
/// direction, or with a depth before the height.
///
/// Padding saves flops * (slowdown - padded flops / flops). It costs one copy per padded tensor, which reads or writes
/// 2 * (C + padded C) bytes per pixel. The two are compared at the machine balance of an H100 or H200, 180 flops per
/// byte; the gain must be twice the cost of the copies, since both are estimates. So 420 channels are padded for a 3x3
/// convolution with 1000 outputs, but a first layer of 1 or 3 channels, which would compute 8 or 2.7 times as much, is
/// not.
inline bool channel_padding_pays(IntArrayRef x, IntArrayRef weight, IntArrayRef y) {
  const int64_t c = x[1], o = y[1], padded_c = padded_channels(c), padded_o = padded_channels(o);
  if (c == padded_c && o == padded_o) return false;
  const auto plane = [](IntArrayRef t) {
    double size = 1;
    for (size_t d = 2; d < t.size(); ++d) size *= static_cast<double>(t[d]);
    return size;
  };
  const auto pixels = [&](IntArrayRef t) { return static_cast<double>(t[0]) * plane(t); };
  const double taps = plane(weight);
  const double flops = 2 * pixels(y) * taps * static_cast<double>(c * o);
  const double padded_flops = 2 * pixels(y) * taps * static_cast<double>(padded_c * padded_o);
  const auto copied = [](double lines, int64_t channels, int64_t padded) {
    return channels == padded ? 0 : 2 * lines * static_cast<double>(channels + padded);
  };
  const double bytes = copied(pixels(x), c, padded_c) + copied(pixels(y), o, padded_o) +
                       2 * taps * static_cast<double>(c * o + padded_c * padded_o);
  constexpr double kFlopsPerByte = 180, kMargin = 2;
  const double gain = flops * std::max(slowdown_of(c), slowdown_of(o)) - padded_flops;
  return gain > kMargin * kFlopsPerByte * bytes;
}

}  // namespace tandem::cuda
