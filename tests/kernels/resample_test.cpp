// resample and window_argmax against plain loops in f64.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernels_under_test.h"
#include "layouts.h"
#include "tandem/math/resample.h"

namespace tandem {
namespace {

using namespace testing;
using math::Resampling;
using Kind = Resampling::Kind;
using Values = std::vector<double>;

/// The weight of input i in output o, from the definitions.
double weight_of(const Resampling& r, int64_t o, int64_t i) {
  const auto in = static_cast<double>(r.in), out = static_cast<double>(r.out), at = static_cast<double>(o);
  const double step = in / out;
  const auto inside = [&](double v) { return std::min(std::max(v, 0.0), in - 1); };
  const double corners = r.out > 1 ? at * (in - 1) / (out - 1) : 0;
  const double source = r.align_corners ? corners : (at + 0.5) * step - 0.5;
  const auto place = static_cast<double>(i);
  switch (r.kind) {
    case Kind::nearest:
      return std::floor(at * step) == place;
    case Kind::nearest_exact:
      return std::floor((at + 0.5) * step) == place;
    case Kind::linear:
      return std::max(0.0, 1 - std::abs(inside(source) - place));
    case Kind::cubic: {
      double sum = 0;
      for (double k = std::floor(source) - 1; k <= std::floor(source) + 2; ++k) {
        if (inside(k) != place) continue;
        const double d = std::abs(k - source), a = -0.75;
        sum += d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
      }
      return sum;
    }
    case Kind::smooth_linear:
    case Kind::smooth_cubic: {
      const bool cubic = r.kind == Kind::smooth_cubic;
      const double width = r.align_corners ? (r.out > 1 ? (in - 1) / (out - 1) : 0) : step,
                   stretch = std::max(width, 1.0);
      const double center = width * (at + 0.5), half = (cubic ? 2 : 1) * stretch;
      const auto filter = [&](double k) {
        if (k < std::trunc(center - half + 0.5) || k >= std::trunc(center + half + 0.5)) return 0.0;
        const double d = std::abs((k + 0.5 - center) / stretch), a = -0.5;
        if (!cubic) return std::max(0.0, 1 - d);
        if (d < 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
        return d < 2 ? ((d - 5) * d + 8) * d * a - 4 * a : 0.0;
      };
      double total = 0;
      for (double k = 0; k < in; ++k) total += filter(k);
      return filter(place) / (total == 0 ? 1 : total);
    }
    case Kind::adaptive: {
      const double begin = std::floor(at * step), end = std::ceil((at + 1) * step);
      return place >= begin && place < end ? 1 / (end - begin) : 0;
    }
    case Kind::windows: {
      const int64_t begin = o * r.stride - r.padding, end = std::min(begin + r.kernel, r.in + r.padding);
      const int64_t first = std::max<int64_t>(begin, 0), last = std::min(end, r.in);
      const int64_t cells = r.count_include_pad ? end - begin : last - first;
      return i >= first && i < last ? 1 / static_cast<double>(r.divisor != 0 ? r.divisor : cells) : 0;
    }
  }
  return 0;
}

/// Maps a tensor of `sizes` along `dim`; sizes[dim] must be r.in.
void check(const Resampling& r, Dims sizes, size_t dim, DType from, DType to) {
  Dims mapped = sizes;
  mapped[dim] = r.out;
  int64_t inner = 1;
  for (size_t d = dim + 1; d < sizes.size(); ++d) inner *= sizes[d];
  for (const bool transposed : {false, true}) {
    const Tensor x = empty(transposed ? mapped : sizes, from), y = empty(transposed ? sizes : mapped, to);
    write(x, random_values(x.numel(), 5, -2, 2));
    const Values v = read(x);
    Values want(static_cast<size_t>(y.numel()), 0);
    const int64_t n = transposed ? r.in : r.out, m = transposed ? r.out : r.in;
    for (int64_t at = 0; at < y.numel(); ++at) {
      const int64_t rest = at % inner, row = at / inner % n, outer = at / inner / n;
      for (int64_t k = 0; k < m; ++k) {
        const double w = transposed ? weight_of(r, k, row) : weight_of(r, row, k);
        want[static_cast<size_t>(at)] += w * v[static_cast<size_t>((outer * m + k) * inner + rest)];
      }
    }
    under_test().resample(y, x, static_cast<int64_t>(dim), r, transposed);
    const DType narrow = from == kDouble ? kDouble : to == kDouble ? kFloat : to;
    EXPECT_TRUE(near(y, want, tolerance(narrow, 8 * m, 1, scale_of(want))))
        << static_cast<int>(r.kind) << " " << r.in << " to " << r.out << (transposed ? " transposed" : "");
  }
}

TEST(ResampleKernels, Kinds) {
  for (const Kind kind : {Kind::nearest, Kind::nearest_exact, Kind::linear, Kind::cubic, Kind::smooth_linear,
                          Kind::smooth_cubic, Kind::adaptive}) {
    for (const bool corners : {false, true}) {
      if (corners && (kind < Kind::linear || kind == Kind::adaptive)) continue;
      for (const auto& [in, out] : {std::pair{1, 5}, {5, 1}, {4, 8}, {8, 4}, {3, 7}, {7, 3}, {6, 6}, {33, 70}}) {
        Resampling r{.kind = kind, .in = in, .out = out, .align_corners = corners};
        check(r, {2, in, 3}, 1, kFloat, kFloat);
        check(r, {3, in}, 1, kDouble, kDouble);
      }
    }
  }
}

TEST(ResampleKernels, Windows) {
  for (const bool padded : {false, true}) {
    for (const int64_t divisor : {0, 3}) {
      Resampling r{.kind = Kind::windows,
                   .in = 9,
                   .out = 5,
                   .kernel = 3,
                   .stride = 2,
                   .padding = 1,
                   .count_include_pad = padded,
                   .divisor = divisor};
      check(r, {2, 9, 4}, 1, kFloat, kFloat);
      r = {.kind = Kind::windows,
           .in = 6,
           .out = 4,
           .kernel = 2,
           .stride = 2,
           .padding = 1,
           .count_include_pad = padded,
           .divisor = divisor};
      check(r, {6, 5}, 0, kDouble, kDouble);
    }
  }
}

TEST(ResampleKernels, Dtypes) {
  const Resampling r{.kind = Kind::linear, .in = 9, .out = 13};
  for (DType dtype : {kHalf, kBFloat16}) {
    check(r, {3, 9, 100}, 1, dtype, dtype);
    check(r, {3, 9, 2}, 1, dtype, kFloat);
    check(r, {3, 9}, 1, kFloat, dtype);
  }
}

void check_maxima(const Resampling& r, Dims sizes, size_t dim, DType dtype) {
  Dims mapped = sizes;
  mapped[dim] = r.out;
  int64_t inner = 1;
  for (size_t d = dim + 1; d < sizes.size(); ++d) inner *= sizes[d];
  const Tensor x = empty(sizes, dtype), index = empty(mapped, kLong);
  Values v = random_values(x.numel(), 6, -3, 3);
  for (double& value : v) value = std::round(value);  // with equal values
  v[v.size() / 2] = std::nan("");
  write(x, v);
  Values want;
  for (int64_t at = 0; at < index.numel(); ++at) {
    const int64_t rest = at % inner, o = at / inner % r.out, outer = at / inner / r.out;
    int64_t begin = o * r.stride - r.padding, end = begin + (r.kernel - 1) * r.dilation + 1, step = r.dilation;
    if (r.kind == Kind::adaptive) {
      begin = o * r.in / r.out, end = ((o + 1) * r.in + r.out - 1) / r.out, step = 1;
    }
    int64_t best = -1;
    const auto value = [&](int64_t i) { return v[static_cast<size_t>((outer * r.in + i) * inner + rest)]; };
    for (int64_t i = begin; i < end; i += step) {
      if (i < 0 || i >= r.in) continue;
      if (best < 0 || value(i) > value(best) || (std::isnan(value(i)) && !std::isnan(value(best)))) best = i;
    }
    want.push_back(static_cast<double>(best));
  }
  under_test().window_argmax(index, x, static_cast<int64_t>(dim), r);
  EXPECT_EQ(read(index), want);
}

TEST(WindowArgmaxKernels, Windows) {
  for (DType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    check_maxima({.kind = Kind::adaptive, .in = 9, .out = 4}, {2, 9, 3}, 1, dtype);
    check_maxima({.kind = Kind::windows, .in = 9, .out = 5, .kernel = 3, .stride = 2, .padding = 1}, {2, 9, 3}, 1,
                 dtype);
    check_maxima({.kind = Kind::windows, .in = 9, .out = 7, .kernel = 3, .padding = 1, .dilation = 2}, {4, 9}, 1,
                 dtype);
  }
}

}  // namespace
}  // namespace tandem
