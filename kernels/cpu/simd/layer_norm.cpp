// Rows of layer normalisation, by the formulas of math/norm.h. Sums of a row are computed in blocks of the row's type,
// and the blocks are added up in f64, so the error does not grow with the length of the row.
#include "kernels/cpu/simd/layer_norm.h"

#include "tandem/math/norm.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

constexpr int64_t kBlock = 1024;

TANDEM_MATH int64_t block_end(int64_t begin, int64_t n) { return n - begin < kBlock ? n : begin + kBlock; }

template <class T>
void moments(const T* x, int64_t n, double* mean, double* variance) {
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    T block = 0;
    const int64_t end = block_end(begin, n);
#pragma omp simd reduction(+ : block)
    for (int64_t i = begin; i < end; ++i) block += x[i];
    sum += static_cast<double>(block);
  }
  *mean = sum / static_cast<double>(n);
  const T centre = static_cast<T>(*mean);
  double squares = 0, rest = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    T block = 0, block_rest = 0;
    const int64_t end = block_end(begin, n);
#pragma omp simd reduction(+ : block, block_rest)
    for (int64_t i = begin; i < end; ++i) {
      const T d = x[i] - centre;
      block += d * d;
      block_rest += d;
    }
    squares += static_cast<double>(block);
    rest += static_cast<double>(block_rest);
  }
  // The mean of the deviations is the rounding error of the first sum, and corrects both results. For a row of one
  // value the uncorrected result would consist of that error alone.
  const double error = rest / static_cast<double>(n);
  *mean = static_cast<double>(centre) + error;
  *variance = squares / static_cast<double>(n) - error * error;
  if (*variance < 0) *variance = 0;
}

template <class T>
double mean_square(const T* x, int64_t n) {
  double squares = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    T block = 0;
    const int64_t end = block_end(begin, n);
#pragma omp simd reduction(+ : block)
    for (int64_t i = begin; i < end; ++i) block += x[i] * x[i];
    squares += static_cast<double>(block);
  }
  return squares / static_cast<double>(n);
}

template <class T>
void normalise(T* y, const T* x, const T* weight, const T* bias, int64_t n, T mean, T rstd) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = math::normalised_affine(x[i], mean, rstd, weight[i], bias[i]);
}

template <class T>
void backward(T* gx, const T* gy, const T* x, const T* weight, int64_t n, T mean, T rstd, bool centred) {
  double sum = 0, sum_xhat = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    T block = 0, block_xhat = 0;
    const int64_t end = block_end(begin, n);
#pragma omp simd reduction(+ : block, block_xhat)
    for (int64_t i = begin; i < end; ++i) {
      const T g = gy[i] * weight[i];
      block += g;
      block_xhat += g * math::normalised(x[i], mean, rstd);
    }
    sum += static_cast<double>(block);
    sum_xhat += static_cast<double>(block_xhat);
  }
  const T mean_g = centred ? static_cast<T>(sum / static_cast<double>(n)) : T(0);
  const T mean_gx = static_cast<T>(sum_xhat / static_cast<double>(n));
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    gx[i] = math::normalised_backward(gy[i] * weight[i], math::normalised(x[i], mean, rstd), mean_g, mean_gx, rstd);
  }
}

template <class T>
void add_columns(T* gweight, T* gbias, const T* gy, const T* x, int64_t n, T mean, T rstd) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    gweight[i] += gy[i] * math::normalised(x[i], mean, rstd);
    gbias[i] += gy[i];
  }
}

}  // namespace

const LayerNormTable layer_norm_table = {
    {moments<float>, mean_square<float>, normalise<float>, backward<float>, add_columns<float>},
    {moments<double>, mean_square<double>, normalise<double>, backward<double>, add_columns<double>}};

}  // namespace tandem::cpu::TANDEM_SIMD
