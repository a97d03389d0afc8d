#pragma once
// Images for kernels with one thread per element of an [N, C, H, W] tensor. Internal.
#include "tandem/base/macros.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {

/// An [N, C, H, W] tensor.
struct Image {
  void* data;
  DType dtype;
  int64_t sizes[4], strides[4];
  explicit Image(const Tensor& x) : data(x.raw_bytes()), dtype(x.dtype()) {
    for (size_t d = 0; d < 4; ++d) {
      sizes[d] = x.sizes()[d];
      strides[d] = x.strides()[d];
    }
  }
  TANDEM_HOST_DEVICE int64_t at(int64_t n, int64_t c, int64_t h, int64_t w) const {
    return n * strides[0] + c * strides[1] + h * strides[2] + w * strides[3];
  }
};

struct Position {
  int64_t n, c, h, w;
};

/// Maps a linear index to a position, with channels (channels_last) or columns varying fastest.
struct Order {
  int64_t numel, c, h, w;
  bool channels_last;
  explicit Order(const Tensor& x)
      : numel(x.numel()),
        c(x.size(1)),
        h(x.size(2)),
        w(x.size(3)),
        channels_last(x.strides()[1] == 1 && x.size(1) > 1) {}

  TANDEM_HOST_DEVICE Position position(int64_t i) const {
    return numel <= 0x7fffffff ? split(static_cast<uint32_t>(i)) : split(static_cast<uint64_t>(i));
  }

 private:
  template <class I>
  TANDEM_HOST_DEVICE Position split(I i) const {
    const I cs = static_cast<I>(c), hs = static_cast<I>(h), ws = static_cast<I>(w);
    I n, ci, hi, wi;
    if (channels_last) {
      const I a = i / cs, b = a / ws;
      ci = i - a * cs;
      wi = a - b * ws;
      n = b / hs;
      hi = b - n * hs;
    } else {
      const I a = i / ws, b = a / hs;
      wi = i - a * ws;
      hi = a - b * hs;
      n = b / cs;
      ci = b - n * cs;
    }
    return {static_cast<int64_t>(n), static_cast<int64_t>(ci), static_cast<int64_t>(hi), static_cast<int64_t>(wi)};
  }
};

}  // namespace tandem::cuda
