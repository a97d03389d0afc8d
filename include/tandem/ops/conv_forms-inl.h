#pragma once
// Checks that convolutions and their columns (fold-inl.h) share.
#include <algorithm>
#include <array>

#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"

namespace tandem::detail {

/// The names of a convolution's dimensions in messages, for 1 to 3 dimensions.
struct ConvNames {
  const char *image, *kernel;
};
inline const ConvNames& conv_names(size_t dims) {
  static constexpr ConvNames names[] = {
      {"L", "K"},
      {"H, W", "KH, KW"},
      {"D, H, W", "KD, KH, KW"},
  };
  return names[std::clamp<size_t>(dims, 1, 3) - 1];
}

/// checks::entries, followed by `rest`.
inline std::array<int64_t, 3> conv_entries(const char* which, IntArrayRef values, size_t dims, int64_t least,
                                           int64_t rest) {
  std::array<int64_t, 3> all{rest, rest, rest};
  const Dims given = checks::entries(which, values, dims, least);
  std::copy(given.begin(), given.end(), all.begin());
  return all;
}

inline ConvParams conv_params(size_t dims, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                              int64_t groups) {
  ConvParams p;
  p.stride = conv_entries("stride", stride, dims, 1, 1);
  p.padding = conv_entries("padding", padding, dims, 0, 0);
  p.dilation = conv_entries("dilation", dilation, dims, 1, 1);
  p.groups = groups;
  return p;
}

/// Checks entry i of the parameters, which need not come from conv_params.
inline void check_conv_entry(const ConvParams& p, size_t i) {
  constexpr int64_t most = int64_t{1} << 31;
  TANDEM_CHECK(
      p.stride[i] >= 1 && p.dilation[i] >= 1 && p.dilation[i] < most && p.padding[i] >= 0 && p.padding[i] < most,
      StateError,
      "stride {}, padding {} and dilation {}; stride and dilation must be at least 1, padding at least 0, and padding "
      "and dilation below 2^31",
      p.stride[i], p.padding[i], p.dilation[i]);
}

/// Limits the strides to the size of the padded image. Larger strides give the same single window, but would overflow
/// in kernels and in the ints of vendor libraries.
inline ConvParams with_short_strides(ConvParams p, IntArrayRef x) {
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    p.stride[i] = std::min(p.stride[i], std::max<int64_t>(x[i + 2] + 2 * p.padding[i], 1));
  }
  return p;
}

}  // namespace tandem::detail
