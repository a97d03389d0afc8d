// Rows of pooling, vectorised over channels, or over outputs if channels are not innermost. Contract: pool.h; sums are
// in T.
#include "kernels/cpu/simd/pool.h"

#include "tandem/math/arithmetic.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

TANDEM_MATH int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/// Number of channels processed together, a constant so that short rows of channels have no loop overhead.
constexpr int64_t kStrip = 32;

/// Calls f(k, output element, input element, n, step) for runs in which tap k maps consecutive output elements to input
/// elements at distance `step`. The taps of each output come in ascending order.
template <class F>
TANDEM_MATH void for_each_run(const PoolTaps& t, F f) {
  if (t.lanes > 1) {
    for (int64_t o = 0; o < t.out; ++o) {
      const int64_t from = o * t.stride - t.padding;
      const int64_t first = first_tap(from, t.dilation), end = end_tap(from, t.in, t.kernel, t.dilation);
      int64_t j = 0;
      for (; j + kStrip <= t.lanes; j += kStrip) {
        for (int64_t k = first; k < end; ++k) {
          f(k, o * t.lanes + j, (from + k * t.dilation) * t.lanes + j, kStrip, int64_t{1});
        }
      }
      for (int64_t k = first; k < end && j < t.lanes; ++k) {
        f(k, o * t.lanes + j, (from + k * t.dilation) * t.lanes + j, t.lanes - j, int64_t{1});
      }
    }
    return;
  }
  if (t.kernel > t.in) {  // mostly padding: go by outputs, which have few taps inside the image
    for (int64_t o = 0; o < t.out; ++o) {
      const int64_t from = o * t.stride - t.padding, end = end_tap(from, t.in, t.kernel, t.dilation);
      for (int64_t k = first_tap(from, t.dilation); k < end; ++k) {
        f(k, o, from + k * t.dilation, int64_t{1}, int64_t{1});
      }
    }
    return;
  }
  for (int64_t k = 0; k < t.kernel; ++k) {
    const int64_t offset = k * t.dilation - t.padding;
    const int64_t begin = offset >= 0 ? 0 : (-offset - 1) / t.stride + 1;
    const int64_t end = offset >= t.in ? 0 : smaller(t.out, (t.in - 1 - offset) / t.stride + 1);
    if (begin >= end) continue;
    const int64_t from = begin * t.stride + offset;
    // The common steps are constants, so that the compiler shuffles instead of gathering.
    if (t.stride == 1) {
      f(k, begin, from, end - begin, int64_t{1});
    } else if (t.stride == 2) {
      f(k, begin, from, end - begin, int64_t{2});
    } else {
      f(k, begin, from, end - begin, t.stride);
    }
  }
}

template <class T>
void start(T* __restrict best, T* __restrict cell, const PoolTaps& t, T first) {
  for (int64_t o = 0; o < t.out; ++o) {
    const int64_t from = o * t.stride - t.padding;
    const int64_t k = first_tap(from, t.dilation), end = end_tap(from, t.in, t.kernel, t.dilation);
    const T number = k < end ? first + static_cast<T>(k) : static_cast<T>(-1);
#pragma omp simd
    for (int64_t j = o * t.lanes; j < (o + 1) * t.lanes; ++j) {
      best[j] = -math::kInf<T>;
      cell[j] = number;
    }
  }
}

template <class T>
TANDEM_MATH void take_larger(T& best, T& cell, T v, T number) {
  const T b = best, c = cell;
  const bool takes = !(v <= b) & (b == b);  // larger or NaN, unless best is already NaN
  best = takes ? v : b;
  cell = takes ? number : c;
}

/// A strip of one output's channels, kept in registers over its taps.
template <class T>
TANDEM_MATH void max_strip(T* best, T* cell, const T* x, int64_t from, const PoolTaps& t, T first) {
  T strip[kStrip], cells[kStrip];
  for (int64_t j = 0; j < kStrip; ++j) strip[j] = best[j], cells[j] = cell[j];
  const int64_t end = end_tap(from, t.in, t.kernel, t.dilation);
  for (int64_t k = first_tap(from, t.dilation); k < end; ++k) {
    const int64_t i = from + k * t.dilation;
#pragma omp simd
    for (int64_t j = 0; j < kStrip; ++j) take_larger(strip[j], cells[j], x[i * t.lanes + j], first + static_cast<T>(k));
  }
  for (int64_t j = 0; j < kStrip; ++j) best[j] = strip[j], cell[j] = cells[j];
}

template <class T>
void max(T* __restrict best, T* __restrict cell, const T* __restrict x, const PoolTaps& taps, T first) {
  if (taps.lanes % kStrip == 0) {
    for (int64_t o = 0; o < taps.out; ++o) {
      for (int64_t j = 0; j < taps.lanes; j += kStrip) {
        const int64_t at = o * taps.lanes + j;
        max_strip(best + at, cell + at, x + j, o * taps.stride - taps.padding, taps, first);
      }
    }
    return;
  }
  for_each_run(
      taps, [=](int64_t k, int64_t o, int64_t i, int64_t n, int64_t step) __attribute__((always_inline)) {
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
          take_larger(best[o + j], cell[o + j], x[i + j * step], first + static_cast<T>(k));
        }
      });
}

template <class T>
void pick(T* __restrict y, const T* __restrict x, const T* __restrict cell, const PoolTaps& taps, T first) {
  for_each_run(
      taps, [=](int64_t k, int64_t o, int64_t i, int64_t n, int64_t step) __attribute__((always_inline)) {
        const T number = first + static_cast<T>(k);
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) y[o + j] = cell[o + j] == number ? x[i + j * step] : y[o + j];
      });
}

template <class T>
void scatter(T* __restrict gx, const T* __restrict gy, const T* __restrict cell, const PoolTaps& taps, T first) {
  for_each_run(
      taps, [=](int64_t k, int64_t o, int64_t i, int64_t n, int64_t step) __attribute__((always_inline)) {
        const T number = first + static_cast<T>(k);
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) gx[i + j * step] += cell[o + j] == number ? gy[o + j] : 0;
      });
}

template <class T>
void sum(T* __restrict y, const T* __restrict x, const PoolWindows& w) {
  for (int64_t o = 0; o < w.out; ++o) {
    if (w.lanes == 1) {
      T total = 0;
#pragma omp simd reduction(+ : total)
      for (int64_t i = w.begin[o]; i < w.end[o]; ++i) total += x[i];
      y[o] += total;
      continue;
    }
    for (int64_t i = w.begin[o]; i < w.end[o]; ++i) {
#pragma omp simd
      for (int64_t j = 0; j < w.lanes; ++j) y[o * w.lanes + j] += x[i * w.lanes + j];
    }
  }
}

template <class T>
void spread(T* __restrict gx, const T* __restrict gy, const PoolWindows& w) {
  for (int64_t o = 0; o < w.out; ++o) {
    for (int64_t i = w.begin[o]; i < w.end[o]; ++i) {
#pragma omp simd
      for (int64_t j = 0; j < w.lanes; ++j) gx[i * w.lanes + j] += gy[o * w.lanes + j];
    }
  }
}

template <class T>
void divide(T* y, const T* x, const T* divisor, int64_t out, int64_t lanes) {
  for (int64_t o = 0; o < out; ++o) {
    const T d = divisor[o];
#pragma omp simd
    for (int64_t j = o * lanes; j < (o + 1) * lanes; ++j) y[j] = x[j] / d;
  }
}

template <class T>
constexpr PoolRows<T> rows() {
  return {start<T>, max<T>, pick<T>, scatter<T>, sum<T>, spread<T>, divide<T>};
}

}  // namespace

const PoolTable pool_table = {rows<float>(), rows<double>()};

}  // namespace tandem::cpu::TANDEM_SIMD
