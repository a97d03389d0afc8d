#pragma once
// Linear resampling and windows along one dimension: which inputs an output is made of, and with which weights. For
// interpolation, average pooling and, without weights, max pooling.
#include <cstdint>

#include "tandem/math/approx.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// The inputs [first, first + count) of an output. With `uniform` all have weight[0]; else there are at most four, with
/// a weight each, unless a filter gives the weights of any number.
template <class C>
struct Taps {
  enum class Filter : uint8_t { none, triangle, cubic };
  int64_t first = 0, count = 1;
  bool uniform = true;
  Filter filter = Filter::none;
  /// With a filter: factor, and the argument for the first input and its step.
  C weight[4] = {C(1), C(0), C(0), C(0)};

  /// The triangle 1 - |x|, or the kernel of Keys with a = -1/2.
  TANDEM_MATH C filtered(C x) const {
    constexpr C a = C(-0.5);
    const C d = x < C(0) ? -x : x;
    if (filter == Filter::triangle) return d < C(1) ? C(1) - d : C(0);
    if (d < C(1)) return ((a + C(2)) * d - (a + C(3))) * d * d + C(1);
    return d < C(2) ? (((d - C(5)) * d + C(8)) * d - C(4)) * a : C(0);
  }
  /// The weight of input first + i. Without an index into the array, which would not stay in registers.
  TANDEM_MATH C at(int64_t i) const {
    if (filter != Filter::none) return weight[0] * filtered(weight[1] + static_cast<C>(i) * weight[2]);
    if (uniform || i == 0) return weight[0];
    return i == 1 ? weight[1] : i == 2 ? weight[2] : weight[3];
  }
};

/// The outputs of a dimension as functions of its inputs.
struct Resampling {
  enum class Kind : uint8_t {
    nearest,        ///< input floor(o in / out)
    nearest_exact,  ///< input floor((o + 1/2) in / out)
    linear,         ///< the two neighbours
    cubic,          ///< four neighbours, with the kernel of Keys (a = -3/4); those outside repeat the border
    smooth_linear,  ///< weights of a triangle as wide as two output elements, if these are wider than those of the
                    ///< input
    smooth_cubic,   ///< the same with the kernel of Keys (a = -1/2), as wide as four
    adaptive,       ///< the mean of [floor(o in / out), ceil((o + 1) in / out))
    windows         ///< the mean of windows of `kernel` elements, `dilation` apart, every `stride`
  };
  Kind kind = Kind::nearest;
  int64_t in = 1, out = 1;
  double scale = 0;            ///< output elements per input element if the caller gave it, else 0: out / in
  bool align_corners = false;  ///< linear and cubic: the first and last elements of input and output coincide
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
  bool count_include_pad = true;  ///< windows: the divisor includes the padding
  int64_t divisor = 0;            ///< windows: replaces the number of elements, unless 0

  /// Input elements per output element.
  template <class C>
  TANDEM_MATH C step() const {
    return scale > 0 ? static_cast<C>(1.0 / scale) : static_cast<C>(in) / static_cast<C>(out);
  }
  /// The position of output o between the inputs, for linear and cubic.
  template <class C>
  TANDEM_MATH C source(int64_t o) const {
    if (align_corners) return out > 1 ? static_cast<C>(in - 1) / static_cast<C>(out - 1) * static_cast<C>(o) : C(0);
    return step<C>() * (static_cast<C>(o) + C(0.5)) - C(0.5);
  }

  /// The input of output o: for nearest, in f32 as in PyTorch.
  TANDEM_MATH int64_t nearest_input(int64_t o) const {
    const float at = static_cast<float>(o) + (kind == Kind::nearest_exact ? 0.5f : 0.0f);
    const auto i = static_cast<int64_t>(math::floor(at * step<float>()));
    return i < in ? i : in - 1;
  }

  template <class C>
  TANDEM_MATH Taps<C> linear_taps(int64_t o) const {
    const C s = source<C>(o), at = s < C(0) ? C(0) : s;
    Taps<C> taps;
    taps.first = static_cast<int64_t>(at);
    if (taps.first > in - 1) taps.first = in - 1;
    if (taps.first == in - 1) return taps;
    taps.count = 2;
    taps.uniform = false;
    C right = at - static_cast<C>(taps.first);
    if (right > C(1)) right = C(1);
    taps.weight[0] = C(1) - right;
    taps.weight[1] = right;
    return taps;
  }

  template <class C>
  TANDEM_MATH Taps<C> cubic_taps(int64_t o) const {
    constexpr C a = C(-0.75);
    const C s = source<C>(o), base = math::floor(s), t = s - base;
    const auto inner = [](C x) { return ((a + C(2)) * x - (a + C(3))) * x * x + C(1); };
    const auto outer = [](C x) { return ((a * x - C(5) * a) * x + C(8) * a) * x - C(4) * a; };
    const C weight[4] = {outer(t + C(1)), inner(t), inner(C(1) - t), outer(C(2) - t)};
    const auto middle = static_cast<int64_t>(base);
    const auto inside = [this](int64_t i) { return i < 0 ? int64_t{0} : i < in ? i : in - 1; };
    Taps<C> taps;
    taps.uniform = false;
    taps.first = inside(middle - 1);
    taps.count = inside(middle + 2) - taps.first + 1;
    const auto total = [&](int64_t i) {
      C sum = C(0);
      if (inside(middle - 1) == taps.first + i) sum += weight[0];
      if (inside(middle) == taps.first + i) sum += weight[1];
      if (inside(middle + 1) == taps.first + i) sum += weight[2];
      if (inside(middle + 2) == taps.first + i) sum += weight[3];
      return sum;
    };
    taps.weight[0] = total(0);
    taps.weight[1] = total(1);
    taps.weight[2] = total(2);
    taps.weight[3] = total(3);
    return taps;
  }

  /// The inputs of output o for the smooth kinds, and the arguments of their filter; without its factor. Source:
  /// PyTorch's _upsample_bilinear2d_aa.
  template <class C>
  TANDEM_MATH Taps<C> smooth_span(int64_t o) const {
    const bool is_cubic = kind == Kind::smooth_cubic;
    const C size = align_corners ? (out > 1 ? static_cast<C>(in - 1) / static_cast<C>(out - 1) : C(0)) : step<C>();
    const C stretch = size >= C(1) ? size : C(1), half = (is_cubic ? C(2) : C(1)) * stretch;
    const C center = size * (static_cast<C>(o) + C(0.5));
    const auto begin = static_cast<int64_t>(center - half + C(0.5)), end = static_cast<int64_t>(center + half + C(0.5));
    Taps<C> taps;
    taps.uniform = false;
    taps.filter = is_cubic ? Taps<C>::Filter::cubic : Taps<C>::Filter::triangle;
    taps.first = begin > 0 ? begin : 0;
    taps.count = (end < in ? end : in) - taps.first;
    taps.weight[2] = C(1) / stretch;
    taps.weight[1] = (static_cast<C>(taps.first) - center + C(0.5)) * taps.weight[2];
    return taps;
  }
  template <class C>
  TANDEM_MATH Taps<C> smooth_taps(int64_t o) const {
    Taps<C> taps = smooth_span<C>(o);
    C total = C(0);
    for (int64_t i = 0; i < taps.count; ++i) total += taps.at(i);
    if (total != C(0)) taps.weight[0] = C(1) / total;
    return taps;
  }

  /// The window [begin, end) of output o within the input, and what its sum is divided by. Without dilation.
  TANDEM_MATH void window(int64_t o, int64_t& begin, int64_t& end, int64_t& divided_by) const {
    if (kind == Kind::adaptive) {
      begin = o / out * in + o % out * in / out;
      end = 1 + ((o + 1) * in - 1) / out;
      divided_by = end - begin;
      return;
    }
    begin = o * stride - padding;
    const int64_t padded = kernel < in + padding - begin ? begin + kernel : in + padding;
    divided_by = padded - begin;
    end = padded < in ? padded : in;
    if (begin < 0) begin = 0;
    if (!count_include_pad) divided_by = end - begin;
    if (divisor != 0) divided_by = divisor;
  }

  template <class C>
  TANDEM_MATH Taps<C> taps(int64_t o) const {
    Taps<C> taps;
    int64_t end = 0, divided_by = 1;
    switch (kind) {
      case Kind::nearest:
      case Kind::nearest_exact:
        taps.first = nearest_input(o);
        return taps;
      case Kind::linear:
        return linear_taps<C>(o);
      case Kind::cubic:
        return cubic_taps<C>(o);
      case Kind::smooth_linear:
      case Kind::smooth_cubic:
        return smooth_taps<C>(o);
      default:
        window(o, taps.first, end, divided_by);
        taps.count = end > taps.first ? end - taps.first : 0;
        taps.weight[0] = C(1) / static_cast<C>(divided_by);
        return taps;
    }
  }

  /// taps() whose weights are not needed.
  template <class C>
  TANDEM_MATH Taps<C> span(int64_t o) const {
    return kind == Kind::smooth_linear || kind == Kind::smooth_cubic ? smooth_span<C>(o) : taps<C>(o);
  }
  /// The first output that uses input i or a later one. An output's first and last inputs do not decrease with o.
  template <class C>
  TANDEM_MATH int64_t first_output(int64_t i) const {
    int64_t low = 0, high = out;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const Taps<C> t = span<C>(middle);
      if (t.first + t.count <= i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /// Calls f(index, weight) for the outputs that input i is part of.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
  template <class C, class F>
  TANDEM_MATH void for_outputs(int64_t i, F f) const {
    for (int64_t o = first_output<C>(i); o < out; ++o) {
      if (span<C>(o).first > i) return;
      const Taps<C> t = taps<C>(o);
      if (i < t.first + t.count) f(o, t.at(i - t.first));
    }
  }
};

}  // namespace tandem::math
#pragma GCC visibility pop
