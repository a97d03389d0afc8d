// layer_norm and its backward against a plain f64 model, at every SIMD level, and of sums against those of their
// results.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/kernels_under_test.h"
#include "kernels/raw_tensors.h"
#include "support/compare.h"
#include "support/simd_levels.h"
#include "tandem/tensor/threads.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

class LayerNormKernel : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(LayerNormKernel);

struct LayerNormCase {
  int64_t rows, n;
  DType dtype, parameter_dtype;
  bool affine;

  DType compute() const { return dtype == kDouble ? kDouble : kFloat; }
  Tensor matrix(uint32_t seed, double offset = 0) const {
    const Tensor t = empty({rows, n}, dtype);
    write(t, random_values(rows * n, seed, offset - 1, offset + 1));
    return t;
  }
  Tensor vector(uint32_t seed) const {
    if (!affine) return {};
    const Tensor t = empty({n}, parameter_dtype);
    write(t, random_values(n, seed, 0.5, 1.5));
    return t;
  }
};

std::vector<LayerNormCase> layer_norm_cases() {
  std::vector<LayerNormCase> all;
  for (DType dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
    for (auto [rows, n] : {std::pair<int64_t, int64_t>{1, 1},
                           {3, 2},
                           {5, 15},
                           {33, 16},
                           {7, 33},
                           {200, 64},
                           {9, 1025},
                           {4, 5000},
                           {2, 8200}}) {
      all.push_back({rows, n, dtype, dtype, true});
      all.push_back({rows, n, dtype, dtype == kDouble ? kDouble : kFloat, true});
      all.push_back({rows, n, dtype, dtype, false});
    }
  }
  return all;
}

TEST_P(LayerNormKernel, ForwardMatchesTheModel) {
  for (const LayerNormCase& c : layer_norm_cases()) {
    const Tensor x = c.matrix(1, 0.25), weight = c.vector(2), bias = c.vector(3), y = empty({c.rows, c.n}, c.dtype);
    const Tensor mean = empty({c.rows}, c.compute()), rstd = empty({c.rows}, c.compute());
    under_test().layer_norm(y, Tensor(), mean, rstd, x, Tensor(), weight, bias, 1e-5);

    const Values xs = read(x), ws = c.affine ? read(weight) : Values(), bs = c.affine ? read(bias) : Values();
    Values expected, means, rstds;
    for (int64_t r = 0; r < c.rows; ++r) {
      const double* row = xs.data() + r * c.n;
      double m = 0, v = 0;
      for (int64_t i = 0; i < c.n; ++i) m += row[i] / static_cast<double>(c.n);
      for (int64_t i = 0; i < c.n; ++i) v += (row[i] - m) * (row[i] - m) / static_cast<double>(c.n);
      means.push_back(m);
      rstds.push_back(1 / std::sqrt(v + 1e-5));
      for (int64_t i = 0; i < c.n; ++i) {
        const auto k = static_cast<size_t>(i);
        expected.push_back((row[i] - m) * rstds.back() * (c.affine ? ws[k] : 1) + (c.affine ? bs[k] : 0));
      }
    }
    EXPECT_TRUE(near(y, expected, tolerance(c.dtype, 8, 1, 4))) << "y";
    EXPECT_TRUE(near(mean, means, tolerance(c.compute()))) << "mean";
    EXPECT_TRUE(near(rstd, rstds, tolerance(c.compute(), 1, 1, 1 / std::sqrt(1e-5)))) << "rstd";
  }
}

TEST_P(LayerNormKernel, BackwardMatchesTheModel) {
  for (const LayerNormCase& c : layer_norm_cases()) {
    if (c.n == 1) continue;  // the derivative would be 0 times a large rstd
    const Tensor x = c.matrix(1), gy = c.matrix(4), weight = c.vector(2);
    const Tensor y = empty({c.rows, c.n}, c.dtype), gx = empty({c.rows, c.n}, c.dtype);
    const Tensor mean = empty({c.rows}, c.compute()), rstd = empty({c.rows}, c.compute());
    const Tensor gweight = empty({c.n}, c.parameter_dtype), gbias = empty({c.n}, c.parameter_dtype);
    under_test().layer_norm(y, Tensor(), mean, rstd, x, Tensor(), weight, Tensor(), 1e-3);
    under_test().layer_norm_backward(gx, gweight, gbias, gy, Tensor(), x, mean, rstd, weight);

    const Values xs = read(x), gys = read(gy), means = read(mean), rstds = read(rstd);
    const Values ws = c.affine ? read(weight) : Values(static_cast<size_t>(c.n), 1);
    Values gxs, gws(static_cast<size_t>(c.n)), gbs(static_cast<size_t>(c.n));
    for (int64_t r = 0; r < c.rows; ++r) {
      const auto at = [&](const Values& v, int64_t i) { return v[static_cast<size_t>(r * c.n + i)]; };
      const double m = means[static_cast<size_t>(r)], s = rstds[static_cast<size_t>(r)];
      double sum = 0, sum_xhat = 0;
      for (int64_t i = 0; i < c.n; ++i) {
        const auto k = static_cast<size_t>(i);
        const double xhat = (at(xs, i) - m) * s, g = at(gys, i) * ws[k];
        sum += g / static_cast<double>(c.n);
        sum_xhat += g * xhat / static_cast<double>(c.n);
        gws[k] += at(gys, i) * xhat;
        gbs[k] += at(gys, i);
      }
      for (int64_t i = 0; i < c.n; ++i) {
        const double xhat = (at(xs, i) - m) * s;
        gxs.push_back(s * (at(gys, i) * ws[static_cast<size_t>(i)] - sum - xhat * sum_xhat));
      }
    }
    // Each gradient is a sum of terms as large as rstd, which is at most 1 / sqrt(eps).
    const double scale = c.n == 2 ? 1 / std::sqrt(1e-3) : 4;
    EXPECT_TRUE(near(gx, gxs, tolerance(c.dtype, 8, 1, scale))) << "gx";
    EXPECT_TRUE(near(gweight, gws, tolerance(c.parameter_dtype, c.rows, 1, 2))) << "gweight";
    EXPECT_TRUE(near(gbias, gbs, tolerance(c.parameter_dtype, c.rows, 1, 2))) << "gbias";

    // Computing each output alone gives the same bytes.
    const Tensor only = empty({c.n}, c.parameter_dtype), only_gx = empty({c.rows, c.n}, c.dtype);
    under_test().layer_norm_backward(Tensor(), only, Tensor(), gy, Tensor(), x, mean, rstd, weight);
    EXPECT_EQ(bytes_of(only), bytes_of(gweight));
    under_test().layer_norm_backward(Tensor(), Tensor(), only, gy, Tensor(), x, mean, rstd, weight);
    EXPECT_EQ(bytes_of(only), bytes_of(gbias));
    under_test().layer_norm_backward(only_gx, Tensor(), Tensor(), gy, Tensor(), x, mean, rstd, weight);
    EXPECT_EQ(bytes_of(only_gx), bytes_of(gx));
  }
}

TEST_P(LayerNormKernel, WithoutMeanMatchesTheModelOfRmsNorm) {
  for (const LayerNormCase& c : layer_norm_cases()) {
    const Tensor x = c.matrix(1, 0.25), gy = c.matrix(4), weight = c.vector(2), y = empty({c.rows, c.n}, c.dtype);
    const Tensor gx = empty({c.rows, c.n}, c.dtype), rstd = empty({c.rows}, c.compute());
    const Tensor gweight = empty({c.n}, c.parameter_dtype);
    under_test().layer_norm(y, Tensor(), Tensor(), rstd, x, Tensor(), weight, Tensor(), 1e-3);
    under_test().layer_norm_backward(gx, gweight, Tensor(), gy, Tensor(), x, Tensor(), rstd, weight);

    const Values xs = read(x), gys = read(gy), computed = read(rstd);
    const Values ws = c.affine ? read(weight) : Values(static_cast<size_t>(c.n), 1);
    Values expected, rstds, gxs, gws(static_cast<size_t>(c.n));
    for (int64_t r = 0; r < c.rows; ++r) {
      const double *row = xs.data() + r * c.n, *row_gy = gys.data() + r * c.n;
      double squares = 0, sum_xhat = 0;
      for (int64_t i = 0; i < c.n; ++i) squares += row[i] * row[i] / static_cast<double>(c.n);
      rstds.push_back(1 / std::sqrt(squares + 1e-3));
      const double s = computed[static_cast<size_t>(r)];
      for (int64_t i = 0; i < c.n; ++i) {
        const auto k = static_cast<size_t>(i);
        expected.push_back(row[i] * s * ws[k]);
        sum_xhat += row_gy[i] * ws[k] * row[i] * s / static_cast<double>(c.n);
        gws[k] += row_gy[i] * row[i] * s;
      }
      for (int64_t i = 0; i < c.n; ++i)
        gxs.push_back(s * (row_gy[i] * ws[static_cast<size_t>(i)] - row[i] * s * sum_xhat));
    }
    const double scale = 1 / std::sqrt(1e-3);
    EXPECT_TRUE(near(y, expected, tolerance(c.dtype, 8, 1, 4))) << "y";
    EXPECT_TRUE(near(rstd, rstds, tolerance(c.compute(), 1, 1, scale))) << "rstd";
    EXPECT_TRUE(near(gx, gxs, tolerance(c.dtype, 8, 1, scale))) << "gx";
    EXPECT_TRUE(near(gweight, gws, tolerance(c.parameter_dtype, c.rows, 1, 2))) << "gweight";
  }
}

// ---- sums

/// The dtypes of x and of residual.
constexpr std::pair<DType, DType> kSums[] = {{kFloat, kFloat},    {kBFloat16, kFloat},    {kHalf, kFloat},
                                             {kFloat, kBFloat16}, {kBFloat16, kBFloat16}, {kHalf, kHalf},
                                             {kBFloat16, kHalf},  {kDouble, kDouble},     {kFloat, kDouble}};

Tensor filled(const LayerNormCase& c, DType dtype, uint32_t seed, double low = -1, double high = 1) {
  const Tensor t = empty({c.rows, c.n}, dtype);
  write(t, random_values(c.rows * c.n, seed, low, high));
  return t;
}

/// Calls f(a case of the sum's dtype, x's dtype, residual's dtype, y's dtype).
template <class F>
void for_each_sum(F f) {
  for (const auto& [a, b] : kSums) {
    const DType sum = promote_types(a, b);
    for (const LayerNormCase& c : layer_norm_cases()) {
      if (c.dtype != sum) continue;
      f(c, a, b, sum);
      if (is_reduced_floating_point(sum)) f(c, a, b, kFloat);  // y of an autocast region
    }
  }
}

TEST_P(LayerNormKernel, SumIsRoundedAndThenNormalised) {
  for_each_sum([](const LayerNormCase& c, DType a, DType b, DType result) {
    SCOPED_TRACE(std::string(name(a)) + " + " + std::string(name(b)) + " " + std::to_string(c.rows) + " x " +
                 std::to_string(c.n));
    const Tensor x = filled(c, a, 1), residual = filled(c, b, 5, -0.75, 1.25), weight = c.vector(2), bias = c.vector(3);
    const Tensor sum = empty({c.rows, c.n}, c.dtype), y = empty({c.rows, c.n}, result);
    const Tensor mean = empty({c.rows}, c.compute()), rstd = empty({c.rows}, c.compute());
    under_test().layer_norm(y, sum, mean, rstd, x, residual, weight, bias, 1e-5);

    // The sum of two numbers of few digits is exact in f64, so that writing it rounds once.
    const Values xs = read(x), residuals = read(residual);
    Values sums;
    for (size_t i = 0; i < xs.size(); ++i) {
      sums.push_back(c.dtype == kDouble ? xs[i] + residuals[i] : static_cast<float>(xs[i] + residuals[i]));
    }
    const Tensor expected = empty({c.rows, c.n}, c.dtype);
    write(expected, sums);
    ASSERT_EQ(bytes_of(sum), bytes_of(expected));

    const Tensor y_apart = empty({c.rows, c.n}, result);
    const Tensor mean_apart = empty({c.rows}, c.compute()), rstd_apart = empty({c.rows}, c.compute());
    under_test().layer_norm(y_apart, Tensor(), mean_apart, rstd_apart, sum, Tensor(), weight, bias, 1e-5);
    EXPECT_EQ(bytes_of(y), bytes_of(y_apart));
    EXPECT_EQ(bytes_of(mean), bytes_of(mean_apart));
    EXPECT_EQ(bytes_of(rstd), bytes_of(rstd_apart));
  });
}

TEST_P(LayerNormKernel, GradientOfTheSumIsAddedBeforeRounding) {
  for_each_sum([](const LayerNormCase& c, DType a, DType b, DType result) {
    if (a != c.dtype || b != c.dtype || c.n == 1) return;  // one of the cases of each sum is enough
    SCOPED_TRACE(std::string(name(c.dtype)) + " " + std::to_string(c.rows) + " x " + std::to_string(c.n));
    const Tensor x = c.matrix(1), gy = filled(c, result, 4), gsum = c.matrix(6), weight = c.vector(2);
    const Tensor y = empty({c.rows, c.n}, result), gx = empty({c.rows, c.n}, c.dtype);
    const Tensor mean = empty({c.rows}, c.compute()), rstd = empty({c.rows}, c.compute());
    const Tensor gweight = empty({c.n}, c.parameter_dtype), gbias = empty({c.n}, c.parameter_dtype);
    under_test().layer_norm(y, Tensor(), mean, rstd, x, Tensor(), weight, Tensor(), 1e-3);
    under_test().layer_norm_backward(gx, gweight, gbias, gy, gsum, x, mean, rstd, weight);

    const Tensor alone = empty({c.rows, c.n}, c.compute()), more = empty({c.n}, c.parameter_dtype);
    under_test().layer_norm_backward(alone, Tensor(), Tensor(), gy, Tensor(), x, mean, rstd, weight);
    Values expected = read(alone);
    const Values terms = read(gsum);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += terms[i];
    EXPECT_TRUE(near(gx, expected, tolerance(c.dtype, 2, 1, c.n == 2 ? 1 / std::sqrt(1e-3) : 4))) << "gx";
    // The gradients of the parameters do not depend on it.
    under_test().layer_norm_backward(Tensor(), more, Tensor(), gy, Tensor(), x, mean, rstd, weight);
    EXPECT_EQ(bytes_of(gweight), bytes_of(more));
    under_test().layer_norm_backward(Tensor(), Tensor(), more, gy, Tensor(), x, mean, rstd, weight);
    EXPECT_EQ(bytes_of(gbias), bytes_of(more));
  });
}

TEST_P(LayerNormKernel, LargeMeanLosesNoPrecision) {
  const LayerNormCase c{2, 4096, kFloat, kFloat, false};
  const Tensor x = c.matrix(1, 1000), y = empty({2, 4096}), mean = empty({2}), rstd = empty({2});
  under_test().layer_norm(y, Tensor(), mean, rstd, x, Tensor(), Tensor(), Tensor(), 1e-5);
  double sum = 0, squares = 0;
  for (double v : read(y)) sum += v, squares += v * v;
  EXPECT_NEAR(sum / 8192, 0, 2e-4);
  EXPECT_NEAR(squares / 8192, 1, 1e-4);
}

TEST_P(LayerNormKernel, ResultsDoNotDependOnThreads) {
  const int threads = get_num_threads();
  std::vector<std::vector<char>> results[2];
  for (int run = 0; run < 2; ++run) {
    set_num_threads(run == 0 ? 1 : 3);
    const LayerNormCase c{1001, 300, kBFloat16, kFloat, true};
    const Tensor x = c.matrix(1), gy = c.matrix(4), weight = c.vector(2), y = c.matrix(0), gx = c.matrix(0);
    const Tensor mean = empty({c.rows}), rstd = empty({c.rows}), gweight = empty({c.n}), gbias = empty({c.n});
    under_test().layer_norm(y, Tensor(), mean, rstd, x, Tensor(), weight, weight, 1e-5);
    under_test().layer_norm_backward(gx, gweight, gbias, gy, Tensor(), x, mean, rstd, weight);
    for (const Tensor& t : {y, mean, rstd, gx, gweight, gbias}) results[run].push_back(bytes_of(t));
    const Tensor sum = c.matrix(0);
    under_test().layer_norm(y, sum, mean, rstd, x, gy, weight, weight, 1e-5);
    under_test().layer_norm_backward(gx, gweight, gbias, gy, x, sum, mean, rstd, weight);
    for (const Tensor& t : {sum, y, mean, rstd, gx, gweight, gbias}) results[run].push_back(bytes_of(t));
  }
  set_num_threads(threads);
  EXPECT_TRUE(results[0] == results[1]);
}

TEST_P(LayerNormKernel, EmptyBatch) {
  const LayerNormCase c{0, 8, kFloat, kFloat, true};
  const Tensor x = c.matrix(1), weight = c.vector(2), mean = empty({0}), gweight = c.vector(3), gbias = c.vector(3);
  under_test().layer_norm(x, Tensor(), mean, mean, x, Tensor(), weight, weight, 1e-5);
  under_test().layer_norm_backward(x, gweight, gbias, x, Tensor(), x, mean, mean, weight);
  EXPECT_EQ(read(gweight), Values(8, 0));
  EXPECT_EQ(read(gbias), Values(8, 0));
}

}  // namespace
}  // namespace tandem
