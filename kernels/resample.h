#pragma once
// The geometry of resample and window_argmax, for both backends.
#include <cstddef>
#include <cstdint>

#include "tandem/backend.h"
#include "tandem/math/resample.h"

namespace tandem::kernels {

/// A tensor without gaps as [outer, n, inner] in memory, where n is one of its dimensions.
struct Along {
  int64_t outer, n, inner;

  Along(const Tensor& x, int64_t dim)
      : n(x.sizes()[static_cast<size_t>(dim)]), inner(x.strides()[static_cast<size_t>(dim)]) {
    outer = x.numel() == 0 ? 0 : x.numel() / (n * inner);
  }
};

/// The index of the largest of the inputs of output o: the first of equals, or the first NaN. value(i) is input i. If
/// no input is in the window, the result is at least r.in.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
template <class Value>
TANDEM_MATH int64_t largest_in_window(const math::Resampling& r, int64_t o, Value value) {
  int64_t begin, end, step = 1, unused;
  if (r.kind == math::Resampling::Kind::adaptive) {
    r.window(o, begin, end, unused);
  } else {
    step = r.dilation;
    begin = o * r.stride - r.padding;
    const int64_t reach = (r.kernel - 1) * step;
    end = reach < r.in - begin ? begin + reach + 1 : r.in;
    if (begin < 0) begin += (-begin + step - 1) / step * step;
  }
  if (begin >= r.in) return begin;
  int64_t best = begin;
  auto largest = value(begin);
  for (int64_t i = begin; step < end - i;) {
    i += step;
    const auto v = value(i);
    if (v > largest || (v != v && largest == largest)) {
      largest = v;
      best = i;
    }
  }
  return best;
}

}  // namespace tandem::kernels
