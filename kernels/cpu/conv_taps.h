#pragma once
// Which outputs of a convolution a cell of its kernel contributes to.
#include <algorithm>
#include <cstdint>

namespace tandem::cpu {

/// The outputs along one dimension for which tap `k` of the kernel is inside the input: output i reads i stride +
/// offset.
struct ConvTaps {
  int64_t offset, begin, end;
  ConvTaps(int64_t k, int64_t out, int64_t in, int64_t stride, int64_t padding, int64_t dilation)
      : offset(k * dilation - padding),
        begin(offset >= 0 ? 0 : std::min(out, (-offset - 1) / stride + 1)),
        end(offset >= in ? begin : std::clamp((in - 1 - offset) / stride + 1, begin, out)) {}
};

}  // namespace tandem::cpu
