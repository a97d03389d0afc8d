#pragma once
// Positions of grid_sample as linear combinations of elements, for both backends. Along each dimension a position has
// kTaps taps: an index, or -1 where there is no element, a weight, and the weight's slope with respect to the
// coordinate. The weights of several dimensions are multiplied. Source: PyTorch's GridSampler.h, whose formulas and
// subgradients these are.
#include "tandem/backend.h"
#include "tandem/math/approx.h"

namespace tandem::kernels {

template <class C, int kTaps>
struct GridTaps {
  int32_t index[kTaps];
  C weight[kTaps], slope[kTaps];
};

/// A coordinate, and its derivative with respect to the grid's number.
template <class C>
struct GridCoordinate {
  C at, slope;
};

/// The coordinate mirrored at the edges low / 2 and high / 2.
template <class C>
TANDEM_MATH GridCoordinate<C> reflected(GridCoordinate<C> x, int32_t low, int32_t high) {
  if (low == high) return {C(0), C(0)};
  const C least = static_cast<C>(low) / C(2), span = static_cast<C>(high - low) / C(2);
  const C d = x.at - least, distance = d < C(0) ? -d : d;
  const C sign = d < C(0) ? C(-1) : C(1);
  const C flips = math::floor(distance / span), extra = distance - flips * span;
  const bool odd = flips - C(2) * math::floor(flips / C(2)) != C(0);
  return odd ? GridCoordinate<C>{span - extra + least, -sign * x.slope}
             : GridCoordinate<C>{extra + least, sign * x.slope};
}

/// The coordinate moved into an image of n elements, as for border and reflection.
template <class C>
TANDEM_MATH GridCoordinate<C> moved_inside(GridCoordinate<C> x, int32_t n, const GridSampling& how) {
  if (how.beyond == GridSampling::Beyond::zeros) return x;
  if (how.beyond == GridSampling::Beyond::reflection) {
    x = how.align_corners ? reflected(x, 0, 2 * (n - 1)) : reflected(x, -1, 2 * n - 1);
  }
  const C last = static_cast<C>(n - 1);
  if (!(x.at > C(0))) return {C(0), C(0)};  // also for NaN
  if (x.at >= last) return {last, C(0)};
  return x;
}

/// The index, or -1 unless it is in [0, n). Coordinates beyond i32, and NaN, have none.
template <class C>
TANDEM_MATH int32_t index_inside(C at, int32_t n) {
  return at >= C(0) && at < static_cast<C>(n) ? static_cast<int32_t>(at) : -1;
}

/// The taps of the number g of the grid along a dimension of n elements; kTaps is 1 for nearest, 2 for linear, 4 for
/// cubic.
template <class C, int kTaps>
TANDEM_MATH GridTaps<C, kTaps> grid_taps(C g, int32_t n, const GridSampling& how) {
  GridTaps<C, kTaps> taps;
  GridCoordinate<C> x;
  if (how.align_corners) {
    x = {(g + C(1)) / C(2) * static_cast<C>(n - 1), static_cast<C>(n - 1) / C(2)};
  } else {
    x = {((g + C(1)) * static_cast<C>(n) - C(1)) / C(2), static_cast<C>(n) / C(2)};
  }
  if constexpr (kTaps == 1) {
    x = moved_inside(x, n, how);
    taps.index[0] = index_inside(math::round(x.at), n);
    taps.weight[0] = C(1);
    taps.slope[0] = C(0);
  } else if constexpr (kTaps == 2) {
    x = moved_inside(x, n, how);
    const C first = math::floor(x.at), right = x.at - first;
    taps.index[0] = index_inside(first, n);
    taps.index[1] = index_inside(first + C(1), n);
    taps.weight[0] = C(1) - right;
    taps.weight[1] = right;
    taps.slope[0] = -x.slope;
    taps.slope[1] = x.slope;
  } else {
    constexpr C a = C(-0.75);
    const C first = math::floor(x.at), t = x.at - first;
    const auto inner = [](C u) { return ((a + C(2)) * u - (a + C(3))) * u * u + C(1); };
    const auto outer = [](C u) { return ((a * u - C(5) * a) * u + C(8) * a) * u - C(4) * a; };
    const auto inner_slope = [](C u) { return (C(3) * (a + C(2)) * u - C(2) * (a + C(3))) * u; };
    const auto outer_slope = [](C u) { return (C(3) * a * u - C(10) * a) * u + C(8) * a; };
    taps.weight[0] = outer(t + C(1));
    taps.weight[1] = inner(t);
    taps.weight[2] = inner(C(1) - t);
    taps.weight[3] = outer(C(2) - t);
    taps.slope[0] = x.slope * outer_slope(t + C(1));
    taps.slope[1] = x.slope * inner_slope(t);
    taps.slope[2] = -x.slope * inner_slope(C(1) - t);
    taps.slope[3] = -x.slope * outer_slope(C(2) - t);
    taps.index[0] = index_inside(moved_inside<C>({first - C(1), C(0)}, n, how).at, n);
    taps.index[1] = index_inside(moved_inside<C>({first, C(0)}, n, how).at, n);
    taps.index[2] = index_inside(moved_inside<C>({first + C(1), C(0)}, n, how).at, n);
    taps.index[3] = index_inside(moved_inside<C>({first + C(2), C(0)}, n, how).at, n);
  }
  return taps;
}

/// The strides of an image [N, C, ...] of kDims spatial dimensions, or of a grid, whose channel is its last dimension.
template <int kDims>
struct ImageStrides {
  int64_t sample = 0, channel = 0, at[kDims] = {};

  ImageStrides() = default;
  explicit ImageStrides(const Tensor& x, bool is_grid = false) {
    if (!x.defined()) return;
    const IntArrayRef s = x.strides();
    sample = s[0];
    channel = s[is_grid ? kDims + 1 : 1];
    for (size_t d = 0; d < kDims; ++d) at[d] = s[d + (is_grid ? 1 : 2)];
  }
  TANDEM_HOST_DEVICE int64_t offset(int64_t n, const int32_t (&place)[kDims]) const {
    int64_t sum = n * sample;
    for (int d = 0; d < kDims; ++d) sum += place[d] * at[d];
    return sum;
  }
};

/// The sizes of a call, and its places: the spatial positions of y in row-major order.
template <int kDims>
struct GridGeometry {
  int64_t samples, channels;
  uint32_t places = 1;
  int32_t in[kDims], out[kDims];

  GridGeometry(const Tensor& x, const Tensor& grid) : samples(x.sizes()[0]), channels(x.sizes()[1]) {
    for (size_t d = 0; d < kDims; ++d) {
      in[d] = static_cast<int32_t>(x.sizes()[d + 2]);
      out[d] = static_cast<int32_t>(grid.sizes()[d + 1]);
      places *= static_cast<uint32_t>(out[d]);
    }
  }
  TANDEM_HOST_DEVICE void place(uint32_t i, int32_t (&at)[kDims]) const {
    for (int d = kDims - 1; d >= 0; --d) {
      const auto size = static_cast<uint32_t>(out[d]);
      const uint32_t quotient = d > 0 ? i / size : 0;
      at[d] = static_cast<int32_t>(i - quotient * size);
      i = quotient;
    }
  }
};

constexpr int grid_cells(int dims, int taps) { return dims == 0 ? 1 : taps * grid_cells(dims - 1, taps); }

/// The elements of x that a position is made of: cell k has the offset within a channel of x, or -1 where there is
/// none.
template <class C, int kDims, int kTaps>
struct GridCells {
  static constexpr int kCells = grid_cells(kDims, kTaps);
  GridTaps<C, kTaps> taps[kDims];

  /// number(d) is the grid's number for dimension d.
  template <class Number>
  TANDEM_HOST_DEVICE GridCells(const GridGeometry<kDims>& sizes, const GridSampling& how, Number number) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int d = 0; d < kDims; ++d) taps[d] = grid_taps<C, kTaps>(number(d), sizes.in[d], how);
  }
  TANDEM_HOST_DEVICE static constexpr int tap(int cell, int d) {
    return (d == kDims - 1 ? cell : d == kDims - 2 ? cell / kTaps : cell / (kTaps * kTaps)) % kTaps;
  }
  TANDEM_HOST_DEVICE int64_t offset(int cell, const ImageStrides<kDims>& x) const {
    int64_t sum = 0;
    bool inside = true;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int d = 0; d < kDims; ++d) {
      const int32_t i = taps[d].index[tap(cell, d)];
      inside = inside && i >= 0;
      sum += i * x.at[d];
    }
    return inside ? sum : -1;
  }
  TANDEM_HOST_DEVICE C weight(int cell) const {
    C product = C(1);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int d = 0; d < kDims; ++d) product *= taps[d].weight[tap(cell, d)];
    return product;
  }
  /// The slope of the weight with respect to the grid's number for dimension `along`.
  TANDEM_HOST_DEVICE C slope(int cell, int along) const {
    C product = C(1);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int d = 0; d < kDims; ++d) {
      product *= d == along ? taps[d].slope[tap(cell, d)] : taps[d].weight[tap(cell, d)];
    }
    return product;
  }
};

/// Calls f(dims, taps) with the number of spatial dimensions and of taps as types.
template <class F>
void visit_grid(const Tensor& x, const GridSampling& how, F f) {
  using Way = GridSampling::Interpolation;
  constexpr std::integral_constant<int, 1> one;
  constexpr std::integral_constant<int, 2> two;
  constexpr std::integral_constant<int, 3> three;
  constexpr std::integral_constant<int, 4> four;
  if (x.dim() == 4) {
    if (how.interpolation == Way::nearest) return f(two, one);
    if (how.interpolation == Way::linear) return f(two, two);
    return f(two, four);
  }
  if (how.interpolation == Way::nearest) return f(three, one);
  f(three, two);
}

}  // namespace tandem::kernels
