#pragma once
// Images for kernels with one thread per element, or per run of channels, of an [N, C, H, W] tensor. Internal.
#include "kernels/cuda/divisor.h"
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
  int64_t n, c;
  int32_t h, w;  ///< windows.h limits them
};

/// Maps a linear index to a position, with channels (channels_last) or columns varying fastest. Runs of `run` channels,
/// or columns, count as one: channels must be contiguous and a multiple of it, a row's last run of columns may be
/// short.
struct Order {
  int64_t numel;  ///< runs
  int64_t run;
  bool channels_last;
  int64_t sizes[3];  ///< of all but N, the fastest first
  Divisor divisors[3];

  /// Runs of channels.
  explicit Order(const Tensor& x, int64_t run = 1)
      : numel(x.numel() / run), run(run), channels_last(x.strides()[1] == 1 && x.size(1) > 1) {
    const int64_t c = x.size(1) / run, h = x.size(2), w = x.size(3);
    set_sizes(channels_last ? c : w, channels_last ? w : h, channels_last ? h : c);
  }
  /// Runs of columns of any image, columns fastest.
  static Order of_columns(const Tensor& x, int64_t run) {
    Order order(x);
    const int64_t runs = (x.size(3) + run - 1) / run;
    order.numel = x.size(0) * x.size(1) * x.size(2) * runs;
    order.run = run;
    order.channels_last = false;
    order.set_sizes(runs, x.size(2), x.size(1));
    return order;
  }
  TANDEM_HOST_DEVICE Position position(int64_t i) const {
    if (numel <= kDivisorLimit) {
      return split(static_cast<uint32_t>(i), [&](uint32_t n, int d) { return divisors[d].quotient(n); });
    }
    return split(static_cast<uint64_t>(i), [&](uint64_t n, int d) { return n / static_cast<uint64_t>(sizes[d]); });
  }

 private:
  void set_sizes(int64_t first, int64_t second, int64_t third) {
    sizes[0] = first, sizes[1] = second, sizes[2] = third;
    for (int d = 0; d < 3; ++d) divisors[d] = Divisor(sizes[d]);
  }
  template <class I, class Divide>
  TANDEM_HOST_DEVICE Position split(I rest, const Divide& divide) const {
    int64_t at[3];
    for (int d = 0; d < 3; ++d) {
      const I quotient = divide(rest, d);
      at[d] = static_cast<int64_t>(rest - quotient * static_cast<I>(sizes[d]));
      rest = quotient;
    }
    const auto n = static_cast<int64_t>(rest);
    if (channels_last) return {n, at[0] * run, static_cast<int32_t>(at[2]), static_cast<int32_t>(at[1])};
    return {n, at[2], static_cast<int32_t>(at[1]), static_cast<int32_t>(at[0]) * static_cast<int32_t>(run)};
  }
};

}  // namespace tandem::cuda
