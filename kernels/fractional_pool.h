#pragma once
// The windows of fractional max pooling, for both backends.
#include <array>

#include "tandem/backend.h"
#include "tandem/math/approx.h"

namespace tandem::kernels {

/// The sizes of a call; channels counts those of all samples.
struct FractionalPool {
  int64_t channels;
  int32_t in[3], out[3], kernel[3];

  FractionalPool(const Tensor& index, const Tensor& x, const std::array<int64_t, 3>& window)
      : channels(x.sizes()[0] * x.sizes()[1]) {
    for (size_t d = 0; d < 3; ++d) {
      in[d] = static_cast<int32_t>(x.sizes()[d + 2]);
      out[d] = static_cast<int32_t>(index.sizes()[d + 2]);
      kernel[d] = static_cast<int32_t>(window[d]);
    }
  }
  TANDEM_HOST_DEVICE int64_t plane() const { return int64_t{in[0]} * in[1] * in[2]; }
  TANDEM_HOST_DEVICE uint32_t windows() const { return static_cast<uint32_t>(int64_t{out[0]} * out[1] * out[2]); }

  /// Where window o begins along dimension d. Source: PyTorch's generate_intervals.
  template <class C>
  TANDEM_MATH int32_t begin(int d, int32_t o, C sample) const {
    if (o == out[d] - 1) return in[d] - kernel[d];
    const C step = static_cast<C>(in[d] - kernel[d]) / static_cast<C>(out[d] - 1);
    const int32_t at = static_cast<int32_t>((static_cast<C>(o) + sample) * step) - static_cast<int32_t>(sample * step);
    const int32_t last = in[d] - kernel[d];
    return at < 0 ? 0 : at > last ? last : at;  // for samples outside [0, 1)
  }

  /// The index in its channel of the largest element of window i: the first of equals, or the last NaN. value(k) is
  /// element k, sample(d) the channel's sample.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
  template <class C, class Value, class Sample>
  TANDEM_MATH int64_t largest(uint32_t i, Value value, Sample sample) const {
    const auto width = static_cast<uint32_t>(out[2]), height = static_cast<uint32_t>(out[1]);
    const uint32_t rest = i / width, depth = rest / height;
    const int32_t from[3] = {begin<C>(0, static_cast<int32_t>(depth), sample(0)),
                             begin<C>(1, static_cast<int32_t>(rest - depth * height), sample(1)),
                             begin<C>(2, static_cast<int32_t>(i - rest * width), sample(2))};
    int64_t best = (int64_t{from[0]} * in[1] + from[1]) * in[2] + from[2];
    C largest = value(best);
    for (int32_t z = from[0]; z < from[0] + kernel[0]; ++z) {
      for (int32_t y = from[1]; y < from[1] + kernel[1]; ++y) {
        const int64_t row = (int64_t{z} * in[1] + y) * in[2];
        for (int32_t x = from[2]; x < from[2] + kernel[2]; ++x) {
          const C v = value(row + x);
          if (v > largest || v != v) {
            largest = v;
            best = row + x;
          }
        }
      }
    }
    return best;
  }
};

}  // namespace tandem::kernels
