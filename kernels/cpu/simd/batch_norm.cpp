// Blocks of batch normalisation, by the formulas of math/norm.h. Contract: batch_norm.h. The sums of a block are in T;
// the caller adds blocks up in f64.
#include "kernels/cpu/simd/batch_norm.h"

#include "tandem/math/norm.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

/// Number of columns processed together, a constant so that their sums and parameters stay in registers.
constexpr int64_t kStrip = 64;

/// Calls f(first column, columns) for strips of the columns.
template <class F>
TANDEM_MATH void for_each_strip(int64_t n, F f) {
  int64_t j = 0;
  for (; j + kStrip <= n; j += kStrip) f(j, kStrip);
  for (; j + kStrip / 4 <= n; j += kStrip / 4) f(j, kStrip / 4);
  if (j < n) f(j, n - j);
}

/// a[c] += f(i, c), b[c] += g(i, c, f(i, c)) for each element i of column c, or of the single channel.
template <bool kColumns, class T, class F, class G>
TANDEM_MATH void add_pairs(T* __restrict a, T* __restrict b, int64_t rows, int64_t n, F f, G g) {
  if constexpr (kColumns) {
    for_each_strip(
        n, [=](int64_t first, int64_t columns) __attribute__((always_inline)) {
          T sums_a[kStrip] = {}, sums_b[kStrip] = {};
          for (int64_t r = 0; r < rows; ++r) {
#pragma omp simd
            for (int64_t j = 0; j < columns; ++j) {
              const T v = f(r * n + first + j, first + j);
              sums_a[j] += v;
              sums_b[j] += g(r * n + first + j, first + j, v);
            }
          }
          for (int64_t j = 0; j < columns; ++j) {
            a[first + j] += sums_a[j];
            b[first + j] += sums_b[j];
          }
        });
  } else {
    T total_a = 0, total_b = 0;
#pragma omp simd reduction(+ : total_a, total_b)
    for (int64_t i = 0; i < rows * n; ++i) {
      const T v = f(i, int64_t{0});
      total_a += v;
      total_b += g(i, int64_t{0}, v);
    }
    a[0] += total_a;
    b[0] += total_b;
  }
}

template <bool kColumns, class T>
void sum(T* __restrict sum, const T* __restrict x, int64_t rows, int64_t n) {
  if constexpr (kColumns) {
    for_each_strip(
        n, [=](int64_t first, int64_t columns) __attribute__((always_inline)) {
          T sums[kStrip] = {};
          for (int64_t r = 0; r < rows; ++r) {
#pragma omp simd
            for (int64_t j = 0; j < columns; ++j) sums[j] += x[r * n + first + j];
          }
          for (int64_t j = 0; j < columns; ++j) sum[first + j] += sums[j];
        });
  } else {
    T total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < rows * n; ++i) total += x[i];
    sum[0] += total;
  }
}

/// y[i] = f(i, c) for each element i of column c, or of the single channel.
template <bool kColumns, class T, class F>
TANDEM_MATH void map(T* __restrict y, int64_t rows, int64_t n, F f) {
  if constexpr (kColumns) {
    for_each_strip(
        n, [=](int64_t first, int64_t columns) __attribute__((always_inline)) {
          for (int64_t r = 0; r < rows; ++r) {
#pragma omp simd
            for (int64_t j = 0; j < columns; ++j) y[r * n + first + j] = f(r * n + first + j, first + j);
          }
        });
  } else {
#pragma omp simd
    for (int64_t i = 0; i < rows * n; ++i) y[i] = f(i, int64_t{0});
  }
}

template <bool kColumns, class T>
void deviations(T* __restrict sum, T* __restrict squares, const T* __restrict x, const T* __restrict centre,
                int64_t rows, int64_t n) {
  add_pairs<kColumns>(
      sum, squares, rows, n, [=](int64_t i, int64_t c) __attribute__((always_inline)) { return x[i] - centre[c]; },
      [=](int64_t, int64_t, T d) __attribute__((always_inline)) { return d * d; });
}

template <bool kColumns, class T>
void gradient_sums(T* __restrict sum_g, T* __restrict sum_gx, const T* __restrict gy, const T* __restrict x,
                   const T* __restrict mean, const T* __restrict rstd, int64_t rows, int64_t n) {
  add_pairs<kColumns>(
      sum_g, sum_gx, rows, n, [=](int64_t i, int64_t) __attribute__((always_inline)) { return gy[i]; },
      [=](int64_t i, int64_t c, T g)
          __attribute__((always_inline)) { return g * math::normalised(x[i], mean[c], rstd[c]); });
}

template <bool kColumns, class T>
void normalise(T* __restrict y, const T* __restrict x, const T* __restrict mean, const T* __restrict rstd,
               const T* __restrict weight, const T* __restrict bias, int64_t rows, int64_t n) {
  map<kColumns>(
      y, rows, n, [=](int64_t i, int64_t c) __attribute__((always_inline)) {
        return math::normalised_affine(x[i], mean[c], rstd[c], weight[c], bias[c]);
      });
}

template <bool kColumns, class T>
void backward(T* __restrict gx, const T* __restrict gy, const T* __restrict x, const T* __restrict mean,
              const T* __restrict rstd, const T* __restrict weight, const T* __restrict mean_g,
              const T* __restrict mean_gx, int64_t rows, int64_t n) {
  map<kColumns>(
      gx, rows, n, [=](int64_t i, int64_t c) __attribute__((always_inline)) {
        const T xhat = math::normalised(x[i], mean[c], rstd[c]);
        return math::normalised_backward(gy[i], xhat, mean_g[c], mean_gx[c], rstd[c]) * weight[c];
      });
}

template <bool kColumns, class T>
constexpr BatchNormBlocks<T> blocks() {
  return {sum<kColumns, T>, deviations<kColumns, T>, normalise<kColumns, T>, gradient_sums<kColumns, T>,
          backward<kColumns, T>};
}

}  // namespace

const BatchNormTable batch_norm_table = {blocks<true, float>(), blocks<false, float>(), blocks<true, double>(),
                                         blocks<false, double>()};

}  // namespace tandem::cpu::TANDEM_SIMD
