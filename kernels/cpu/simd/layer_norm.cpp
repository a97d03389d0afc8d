// Rows of layer normalisation, by the formulas of math/norm.h. Sums of a row are computed in blocks of the compute
// type, and the blocks are added up in f64, so the error does not grow with the length of the row.
#include "kernels/cpu/simd/layer_norm.h"

#include "kernels/cpu/simd/row_loops.h"
#include "tandem/math/norm.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

template <class T>
void add(T* y, const T* a, const T* b, int64_t n) {
  using C = Compute<T>;
  map_row(
      y, n, [](C a, C b) { return a + b; }, Row<T>(a, n), Row<T>(b, n));
}

template <class T>
void moments(const T* x, int64_t n, double* mean, double* variance) {
  using C = Compute<T>;
  const Row<T> row(x, n);
  *mean = sum_row<T>(
              n, [](C x) { return x; }, row) /
          static_cast<double>(n);
  const C centre = static_cast<C>(*mean);
  double squares, rest;
  const auto add = [&](C& square, C& deviation, C x) {
    const C d = x - centre;
    square += d * d;
    deviation += d;
  };
  sum_row_twice<T>(squares, rest, n, add, row);
  // The mean of the deviations is the rounding error of the first sum, and corrects both results. For a row of one
  // value the uncorrected result would consist of that error alone.
  const double error = rest / static_cast<double>(n);
  *mean = static_cast<double>(centre) + error;
  *variance = squares / static_cast<double>(n) - error * error;
  if (*variance < 0) *variance = 0;
}

template <class T>
double mean_square(const T* x, int64_t n) {
  return sum_row<T>(
             n, [](Compute<T> x) { return x * x; }, Row<T>(x, n)) /
         static_cast<double>(n);
}

template <class T>
void normalise(T* y, const T* x, const T* weight, const T* bias, int64_t n, Compute<T> mean, Compute<T> rstd) {
  using C = Compute<T>;
  map_row(
      y, n, [=](C x, C w, C b) { return math::normalised_affine(x, mean, rstd, w, b); }, Row<T>(x, n),
      Row<T>(weight, n), Row<T>(bias, n));
}

template <class T>
void backward(T* gx, const T* gy, const T* x, const T* weight, int64_t n, Compute<T> mean, Compute<T> rstd,
              bool centred) {
  using C = Compute<T>;
  const Row<T> in_gy(gy, n), in_x(x, n), in_weight(weight, n);
  double sum, sum_xhat;
  const auto add = [=](C& g_sum, C& g_xhat_sum, C gy, C x, C w) {
    const C g = gy * w;
    g_sum += g;
    g_xhat_sum += g * math::normalised(x, mean, rstd);
  };
  sum_row_twice<T>(sum, sum_xhat, n, add, in_gy, in_x, in_weight);
  const C mean_g = centred ? static_cast<C>(sum / static_cast<double>(n)) : C(0);
  const C mean_gx = static_cast<C>(sum_xhat / static_cast<double>(n));
  const auto gradient = [=](C gy, C x, C w) {
    return math::normalised_backward(gy * w, math::normalised(x, mean, rstd), mean_g, mean_gx, rstd);
  };
  map_row(gx, n, gradient, in_gy, in_x, in_weight);
}

template <class T>
void add_columns(Compute<T>* gweight, Compute<T>* gbias, const T* gy, const T* x, int64_t n, Compute<T> mean,
                 Compute<T> rstd) {
  using C = Compute<T>;
  const auto add = [=](C& gw, C& gb, C gy, C x) {
    gw += gy * math::normalised(x, mean, rstd);
    gb += gy;
  };
  for_row<T>(n, add, Buffer<T>(gweight, n), Buffer<T>(gbias, n), Row<T>(gy, n), Row<T>(x, n));
}

template <class T>
int64_t position(int64_t i, int64_t n) {
  return position_in_row<T>(i, n);
}

template <class T>
constexpr LayerNormRows<T, Compute<T>> kRows = {add<T>,      moments<T>,     mean_square<T>, normalise<T>,
                                                backward<T>, add_columns<T>, position<T>};

}  // namespace

const LayerNormTable layer_norm_table = {kRows<float>, kRows<double>, kRows<uint16_t>};

}  // namespace tandem::cpu::TANDEM_SIMD
