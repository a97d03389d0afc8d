// row_dots, row_distances and the backward of the latter against plain loops in f64.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernels_under_test.h"
#include "layouts.h"
#include "support/simd_levels.h"
#include "tandem/tensor/threads.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

class RowPairKernels : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(RowPairKernels);

constexpr double kOrders[] = {0, 0.5, 1, 2, 3.5, INFINITY};

/// -1 stands for the dot product.
double plain_fold(const Values& a, const Values& b, double p) {
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]);
    if (p < 0) total += a[i] * b[i];
    if (p == 0) total += d != 0;
    if (p > 0) total = std::isinf(p) ? std::max(total, d) : total + std::pow(d, p);
  }
  return p > 0 && !std::isinf(p) ? std::pow(total, 1 / p) : total;
}

double plain_slope(double d, double distance, double p) {
  const double sign = d > 0 ? 1 : d < 0 ? -1 : 0;
  if (p == 0 || d == 0) return 0;
  if (std::isinf(p)) return std::abs(d) == distance ? sign : 0;
  return sign * std::pow(std::abs(d) / distance, p - 1);
}

/// The row of contiguous values of `sizes` that differs only in `dim`, and to which the k-th of the other elements
/// belongs.
Values row_of(const Values& x, const Dims& sizes, size_t dim, size_t k) {
  size_t step = 1;
  for (size_t d = dim + 1; d < sizes.size(); ++d) step *= static_cast<size_t>(sizes[d]);
  const size_t n = static_cast<size_t>(sizes[dim]), first = k / step * step * n + k % step;
  Values row;
  for (size_t i = 0; i < n; ++i) row.push_back(x[first + i * step]);
  return row;
}

void check_folds(const Dims& sizes, size_t dim, DType dtype, DType result, MemoryLayout layout) {
  const Tensor a = noise(sizes, dtype, 1, layout), b = noise(sizes, dtype, 2, layout);
  Dims others = sizes;
  others.erase(dim);
  const Values as = read(a), bs = read(b);
  for (double p : {-1.0, 0.0, 0.5, 1.0, 2.0, 3.5, double{INFINITY}}) {
    const Tensor y = unwritten(others, result);
    if (p < 0) {
      under_test().row_dots(y, a, b, static_cast<int64_t>(dim));
    } else {
      under_test().row_distances(y, a, b, static_cast<int64_t>(dim), p);
    }
    Values want;
    for (size_t k = 0; k < static_cast<size_t>(y.numel()); ++k)
      want.push_back(plain_fold(row_of(as, sizes, dim, k), row_of(bs, sizes, dim, k), p));
    EXPECT_TRUE(near(y, want, tolerance(result, sizes[dim], 1, std::max(1.0, scale_of(want)))))
        << to_string(sizes) << " dim " << dim << " " << name(dtype) << " " << name(layout) << " p " << p;
  }
}

TEST_P(RowPairKernels, DtypesAndDimensions) {
  for (const Dims& sizes : {Dims{1}, Dims{10}, Dims{7, 10}, Dims{3, 33, 5}, Dims{2, 3, 4, 16}}) {
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      for (DType dtype : kFloatingTypes) check_folds(sizes, dim, dtype, dtype, MemoryLayout::contiguous);
      check_folds(sizes, dim, kHalf, kFloat, MemoryLayout::contiguous);
    }
  }
}

TEST_P(RowPairKernels, Layouts) {
  for (MemoryLayout layout :
       {MemoryLayout::transposed, MemoryLayout::sliced, MemoryLayout::spread, MemoryLayout::channels_last}) {
    for (size_t dim : {size_t{1}, size_t{3}}) check_folds({3, 5, 4, 33}, dim, kFloat, kFloat, layout);
  }
}

TEST_P(RowPairKernels, RowLengths) {
  for (int64_t n : {0, 1, 8, 15, 1024, 1025, 5000}) check_folds({2, n}, 1, kFloat, kFloat, MemoryLayout::contiguous);
  for (int64_t n : {15, 1025}) check_folds({n, 3}, 0, kFloat, kFloat, MemoryLayout::contiguous);
}

/// Every row of a [n, d] against every row of b [m, d], as cdist calls the kernels.
void check_all_pairs(int64_t n, int64_t m, int64_t d, DType dtype, double p) {
  const std::string what = std::string(name(dtype)) + " p " + std::to_string(p);
  const Tensor a = noise({n, d}, dtype, 1), b = noise({m, d}, dtype, 2), y = unwritten({n, m}, dtype);
  const Tensor rows_a = make_view(a, {n, m, d}, {d, 0, 1}, 0), rows_b = make_view(b, {n, m, d}, {0, d, 1}, 0);
  under_test().row_distances(y, rows_a, rows_b, 2, p);
  const Values as = read(a), bs = read(b), distances = read(y);
  const auto row = [d](const Values& x, int64_t i) { return Values(x.begin() + i * d, x.begin() + (i + 1) * d); };
  Values want;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) want.push_back(plain_fold(row(as, i), row(bs, j), p));
  }
  const double scale = std::max(1.0, scale_of(want));
  EXPECT_TRUE(near(y, want, tolerance(dtype, d, 1, scale))) << what;

  const Tensor gy = noise({n, m}, dtype, 3), ga = unwritten({n, d}, dtype);
  under_test().row_distances_backward(ga, make_view(gy, {n, d, m}, {m, 0, 1}, 0), make_view(y, {n, d, m}, {m, 0, 1}, 0),
                                      make_view(a, {n, d, m}, {d, 1, 0}, 0), make_view(b, {n, d, m}, {0, 1, d}, 0), 2,
                                      p);
  const Values gys = read(gy);
  Values gradients;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t e = 0; e < d; ++e) {
      double total = 0;
      for (int64_t j = 0; j < m; ++j) {
        const auto at = static_cast<size_t>(i * m + j);
        const double difference = as[static_cast<size_t>(i * d + e)] - bs[static_cast<size_t>(j * d + e)];
        // As the kernel rounds it: for p = inf it is compared with the distance.
        const double rounded = dtype == kDouble ? difference : static_cast<double>(static_cast<float>(difference));
        total += gys[at] * plain_slope(rounded, distances[at], p);
      }
      gradients.push_back(total);
    }
  }
  EXPECT_TRUE(near(ga, gradients, tolerance(dtype, 4 * m, 1, std::max(1.0, scale_of(gradients))))) << what;
}

TEST_P(RowPairKernels, AllPairsAndGradients) {
  for (double p : kOrders) {
    for (DType dtype : {kFloat, kDouble}) {
      check_all_pairs(5, 9, 6, dtype, p);
      check_all_pairs(2, 70, 3, dtype, p);
    }
  }
}

TEST_P(RowPairKernels, NaNIsPropagated) {
  const Tensor a = noise({2, 40}, kFloat, 1), b = noise({2, 40}, kFloat, 2), y = unwritten({2}, kFloat);
  Values values = read(a);
  values[17] = NAN;
  write(a, values);
  for (double p : kOrders) {
    if (p == 0) continue;
    under_test().row_distances(y, a, b, 1, p);
    EXPECT_TRUE(std::isnan(read(y)[0])) << p;
    EXPECT_FALSE(std::isnan(read(y)[1])) << p;
  }
}

TEST_P(RowPairKernels, ResultsDoNotDependOnThreads) {
  const int threads = get_num_threads();
  std::vector<char> results[2];
  for (int run = 0; run < 2; ++run) {
    set_num_threads(run == 0 ? 1 : 3);
    const Tensor a = noise({400, 300}, kFloat, 1), b = noise({400, 300}, kFloat, 2), y = unwritten({400}, kFloat);
    under_test().row_dots(y, a, b, 1);
    results[run] = bytes_of(y);
  }
  set_num_threads(threads);
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace tandem
