// uniform, normal, random_int, bernoulli and dropout: the Philox streams of math/philox.h, in every dtype and layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/kernels_under_test.h"
#include "layouts.h"
#include "support/simd_levels.h"
#include "tandem/math/distributions.h"
#include "tandem/tensor/threads.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

class RandomKernels : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(RandomKernels);

constexpr PhiloxState kRandomState = {0x0123456789abcdef, 0xfffffffe};  // the counter passes 2^32 during the tests

uint32_t lane(int64_t i, uint32_t block = 0) {
  return math::philox(kRandomState.seed, kRandomState.offset + static_cast<uint64_t>(i / 4), block).lane[i % 4];
}

Values uniforms(int64_t n) {
  Values u;
  for (int64_t i = 0; i < n; ++i) u.push_back(math::uniform_f32(lane(i)));
  return u;
}

TEST_P(RandomKernels, UniformMatchesTheStream) {
  for (int64_t n : {0, 1, 2, 3, 5, 33, 1023, 1025, 5001}) {
    const Tensor y = unwritten({n}, kFloat);
    under_test().uniform(y, 0, 1, kRandomState);
    EXPECT_EQ(read(y), uniforms(n)) << n;
    const Tensor wide = unwritten({n}, kDouble);
    under_test().uniform(wide, 0, 1, kRandomState);
    Values want;
    for (int64_t i = 0; i < n; ++i) want.push_back(math::uniform_f64(lane(i), lane(i, 1)));
    EXPECT_EQ(read(wide), want) << n;
  }
}

TEST_P(RandomKernels, LayoutsHaveTheSameNumbers) {
  const Dims sizes = {3, 5, 7, 43};
  const Values want = uniforms(numel_of(sizes));
  for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::transposed, MemoryLayout::sliced,
                              MemoryLayout::spread, MemoryLayout::channels_last}) {
    const Tensor y = unwritten(sizes, kFloat, layout);
    under_test().uniform(y, 0, 1, kRandomState);
    EXPECT_EQ(read(y), want) << name(layout);
  }
}

TEST_P(RandomKernels, UniformStaysInItsRange) {
  struct Range {
    double from, to;
  };
  for (Range r : {Range{0, 1}, Range{-1, 1}, Range{1000, 1001}, Range{-3, -2}, Range{2, 2}, Range{-1e-3, 0}}) {
    for (DType dtype : kFloatingTypes) {
      const Tensor y = unwritten({20000}, dtype);
      under_test().uniform(y, r.from, r.to, kRandomState);
      for (double v : read(y)) {
        ASSERT_GE(v, r.from - std::abs(r.from) * unit_roundoff(dtype)) << name(dtype);
        if (r.from < r.to) {
          ASSERT_LT(v, r.to) << name(dtype);
        } else {
          ASSERT_EQ(v, r.from);
        }
      }
    }
  }
}

TEST_P(RandomKernels, NormalHasTheRightMoments) {
  for (DType dtype : kFloatingTypes) {
    const int64_t n = 200000;
    const Tensor y = unwritten({n}, dtype);
    under_test().normal(y, 0, 1, kRandomState);
    double sum = 0, squares = 0, fourth = 0;
    for (double v : read(y)) sum += v, squares += v * v, fourth += v * v * v * v;
    EXPECT_NEAR(sum / n, 0, 0.01) << name(dtype);
    EXPECT_NEAR(squares / n, 1, 0.02) << name(dtype);
    EXPECT_NEAR(fourth / n, 3, 0.1) << name(dtype);
  }
}

TEST_P(RandomKernels, NormalMatchesTheFormula) {
  for (int64_t n : {1, 3, 33, 1025, 3001}) {
    const Tensor y = unwritten({n}, kFloat), wide = unwritten({n}, kDouble);
    under_test().normal(y, 2, 3, kRandomState);
    under_test().normal(wide, 2, 3, kRandomState);
    Values want, want_wide;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t even = i / 2 * 2;
      float z[2];
      double w[2];
      math::normal_f32(lane(even), lane(even + 1), z[0], z[1]);
      math::normal_f64(lane(even), lane(even + 1), lane(even, 1), lane(even + 1, 1), w[0], w[1]);
      want.push_back(2 + 3 * static_cast<double>(z[i % 2]));
      want_wide.push_back(2 + 3 * w[i % 2]);
    }
    EXPECT_TRUE(near(y, want, tolerance(kFloat, 1, 1, 20)));
    EXPECT_TRUE(near(wide, want_wide, tolerance(kDouble, 1, 1, 20)));
    EXPECT_TRUE(near(y, want_wide, Tolerance{1e-5, 1e-5}));  // all dtypes get the same numbers
  }
}

TEST_P(RandomKernels, Integers) {
  for (DType dtype : {kLong, kInt, kByte, kFloat}) {
    const Tensor y = unwritten({30000}, dtype);
    under_test().random_int(y, 3, 13, kRandomState);
    std::vector<int> counts(16);
    const Values values = read(y);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto k = static_cast<int64_t>(i);
      ASSERT_EQ(values[i], static_cast<double>(math::random_integer(lane(k), lane(k, 1), 3, 10)));
      ++counts[static_cast<size_t>(values[i])];
    }
    for (size_t v = 3; v < 13; ++v) EXPECT_NEAR(counts[v], 3000, 300) << v;
  }
  const Tensor y = unwritten({1000}, kLong);
  under_test().random_int(y, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), kRandomState);
  int64_t negative = 0;
  for (const int64_t value : elements_of<int64_t>(y)) negative += value < 0;
  EXPECT_NEAR(static_cast<double>(negative), 500, 100);
}

TEST_P(RandomKernels, Bernoulli) {
  for (double p : {0.0, 0.3, 1.0}) {
    for (DType dtype : {kFloat, kHalf, kBool, kLong}) {
      const Tensor y = unwritten({5000}, dtype);
      under_test().bernoulli(y, p, kRandomState);
      Values want = uniforms(5000);
      for (double& u : want) u = u < p;
      EXPECT_EQ(read(y), want) << p << " " << name(dtype);
    }
  }
}

TEST_P(RandomKernels, Dropout) {
  const Dims sizes = {3, 7, 143};
  for (DType dtype : kFloatingTypes) {
    for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::transposed, MemoryLayout::spread}) {
      for (double p : {0.0, 0.1, 0.5, 1.0}) {
        const Tensor x = noise(sizes, dtype, 1, layout), y = unwritten(sizes, dtype),
                     mask = unwritten(sizes, kBool, layout);
        write(x, [&] {
          Values v = random_values(x.numel(), 1);
          v[0] = INFINITY;
          return v;
        }());
        under_test().dropout(y, mask, x, p, kRandomState);
        const Values u = uniforms(x.numel()), vx = read(x);
        Values want_mask, want;
        for (size_t i = 0; i < u.size(); ++i) {
          want_mask.push_back(u[i] >= p);
          want.push_back(u[i] >= p ? vx[i] / (1 - p) : 0);
        }
        EXPECT_EQ(read(mask), want_mask) << p;
        EXPECT_TRUE(near(y, want, tolerance(dtype, 1, 1, scale_of(want))))
            << p << " " << name(dtype) << " " << name(layout);
      }
    }
  }
}

TEST_P(RandomKernels, SameOnAnyNumberOfThreads) {
  const int threads = get_num_threads();
  std::vector<std::vector<char>> results;
  for (int count : {1, 2, 5}) {
    set_num_threads(count);
    const Tensor y = unwritten({200003}, kFloat);
    under_test().normal(y, 0, 1, kRandomState);
    results.push_back(bytes_of(y));
  }
  set_num_threads(threads);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

/// Mean and variance.
std::pair<double, double> moments(const Values& v) {
  double mean = 0, square = 0;
  for (double x : v) mean += x / static_cast<double>(v.size());
  for (double x : v) square += (x - mean) * (x - mean) / static_cast<double>(v.size());
  return {mean, square};
}

TEST_P(RandomKernels, DistributionsFollowTheirFormulas) {
  using kernels::Distribution;
  for (int64_t n : {0, 1, 3, 5, 1025, 5001}) {
    for (DType dtype : {kFloat, kDouble}) {
      for (Distribution which :
           {Distribution::exponential, Distribution::geometric, Distribution::cauchy, Distribution::log_normal}) {
        const double a = which == Distribution::geometric ? std::log1p(-0.3) : 0.75, b = 1.5;
        const Tensor y = unwritten({n}, dtype);
        under_test().random_from(y, which, a, b, kRandomState);
        Values want;
        for (int64_t i = 0; i < n; i += 4) {
          const math::PhiloxBlock lanes =
              math::philox(kRandomState.seed, kRandomState.offset + static_cast<uint64_t>(i / 4), 0);
          const math::PhiloxBlock further =
              math::philox(kRandomState.seed, kRandomState.offset + static_cast<uint64_t>(i / 4), 1);
          double wide[4];
          float narrow[4];
          math::draw(which, a, b, lanes.lane, further.lane, wide);
          math::draw(which, static_cast<float>(a), static_cast<float>(b), lanes.lane, further.lane, narrow);
          for (int64_t j = 0; j < 4 && i + j < n; ++j)
            want.push_back(dtype == kDouble ? wide[j] : static_cast<double>(narrow[j]));
        }
        const Values actual = read(y);
        for (size_t i = 0; i < want.size(); ++i) {
          const double most = 1e-5 * (1 + std::abs(want[i]));
          ASSERT_NEAR(actual[i], want[i], std::abs(want[i]) > 1e3 ? 1e-2 * std::abs(want[i]) : most)
              << static_cast<int>(which) << " " << i;
        }
      }
    }
  }
}

TEST_P(RandomKernels, DistributionsHaveTheRightMoments) {
  using kernels::Distribution;
  for (DType dtype : kFloatingTypes) {
    const Tensor y = unwritten({100000}, dtype);
    const double slack = dtype == kBFloat16 ? 0.03 : 0.02;
    under_test().random_from(y, Distribution::exponential, 0.5, 0, kRandomState);
    const auto [mean, variance] = moments(read(y));
    EXPECT_NEAR(mean, 2, 2 * slack) << name(dtype);
    EXPECT_NEAR(variance, 4, 8 * slack) << name(dtype);
    for (double v : read(y)) ASSERT_GT(v, 0);
    under_test().random_from(y, Distribution::geometric, std::log1p(-0.25), 0, kRandomState);
    const auto [trials, spread] = moments(read(y));
    EXPECT_NEAR(trials, 4, 4 * slack) << name(dtype);
    EXPECT_NEAR(spread, 12, 24 * slack) << name(dtype);
    for (double v : read(y)) ASSERT_GE(v, 1);
  }
  const Tensor y = unwritten({100001}, kFloat);
  under_test().random_from(y, Distribution::cauchy, 3, 2, kRandomState);
  Values sorted = read(y);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_NEAR(sorted[50000], 3, 0.05);
  EXPECT_NEAR(sorted[75000], 5, 0.1);
  EXPECT_NEAR(sorted[25000], 1, 0.1);
  const Tensor counts = unwritten({1000}, kInt);
  under_test().random_from(counts, Distribution::geometric, std::log1p(-0.5), 0, kRandomState);
  EXPECT_NEAR(moments(read(counts)).first, 2, 0.2);
}

TEST_P(RandomKernels, PoissonHasTheRightMoments) {
  for (double rate : {0.0, 0.5, 4.0, 9.9, 10.0, 40.0, 1000.0, 1e6}) {
    const int64_t n = 50000;
    const Tensor y = unwritten({n}, kDouble), rates = unwritten({n}, kDouble);
    write(rates, Values(static_cast<size_t>(n), rate));
    under_test().poisson(y, rates, kRandomState);
    const auto [mean, variance] = moments(read(y));
    EXPECT_NEAR(mean, rate, 5 * std::sqrt(rate / static_cast<double>(n)));
    EXPECT_NEAR(variance, rate, 0.05 * rate);
    for (double v : read(y)) ASSERT_TRUE(v >= 0 && v == std::floor(v));
  }
  const Tensor y = unwritten({3}, kFloat);
  under_test().poisson(y, tensor_of({-1, NAN, INFINITY}, kFloat), kRandomState);
  const Values v = read(y);
  EXPECT_TRUE(std::isnan(v[0]) && std::isnan(v[1]) && std::isinf(v[2]));
}

TEST_P(RandomKernels, BinomialHasTheRightDistribution) {
  const int64_t n = 50000;
  const auto draw = [n](double count, double prob) {
    const Tensor y = unwritten({n}, kDouble), counts = unwritten({n}, kDouble), probs = unwritten({n}, kDouble);
    write(counts, Values(static_cast<size_t>(n), count));
    write(probs, Values(static_cast<size_t>(n), prob));
    under_test().binomial(y, counts, probs, kRandomState);
    return read(y);
  };
  for (double count : {0.0, 1.0, 7.0, 19.9, 25.0, 100.0, 1e4, 1e7, 1e12}) {
    for (double prob : {0.0, 1e-7, 0.003, 0.3, 0.5, 0.62, 0.999, 1.0}) {
      const double whole = std::floor(count), expected = whole * prob, spread = expected * (1 - prob);
      const Values v = draw(count, prob);
      const auto [mean, variance] = moments(v);
      const double slack = 5 * std::sqrt(spread / static_cast<double>(n));
      EXPECT_NEAR(mean, expected, slack + 1e-12 * expected) << count << " x " << prob;
      if (spread > 0.1) {
        EXPECT_NEAR(variance, spread, 0.1 * spread) << count << " x " << prob;
      }
      for (double k : v) ASSERT_TRUE(k >= 0 && k <= whole && k == std::floor(k)) << count << " x " << prob;
    }
  }
  // The frequency of each number, where inversion and rejection are used.
  for (double count : {20.0, 60.0}) {
    const double prob = 0.25;
    std::vector<double> seen(static_cast<size_t>(count) + 1);
    for (double k : draw(count, prob)) seen[static_cast<size_t>(k)] += 1;
    for (double k = 0; k <= count; k += 1) {
      const double log_choose = std::lgamma(count + 1) - std::lgamma(k + 1) - std::lgamma(count - k + 1);
      const double p = std::exp(log_choose + k * std::log(prob) + (count - k) * std::log1p(-prob));
      const double times = static_cast<double>(n) * p;
      EXPECT_NEAR(seen[static_cast<size_t>(k)], times, 5 * std::sqrt(times) + 3) << k << " of " << count;
    }
  }
  const Tensor y = unwritten({4}, kFloat);
  under_test().binomial(y, tensor_of({-1, 5, 5, NAN}, kFloat), tensor_of({0.5, -0.1, 1.5, 0.5}, kFloat), kRandomState);
  for (double k : read(y)) EXPECT_TRUE(std::isnan(k));
}

TEST_P(RandomKernels, PickWeightedFindsTheFirstLargerSum) {
  for (DType dtype : {kFloat, kDouble}) {
    const Tensor sums = unwritten({2, 4}, dtype), u = unwritten({2, 5}, dtype), y = unwritten({2, 5}, kLong);
    write(sums, {0, 1, 1, 4, 2, 2, 2, 2});
    write(u, {0, 0.24, 0.25, 0.5, 0.999999, 0, 0.3, 0.6, 0.9, 0.999999});
    under_test().pick_weighted(y, sums, u);
    EXPECT_EQ(read(y), (Values{1, 1, 3, 3, 3, 0, 0, 0, 0, 0})) << name(dtype);
  }
}

}  // namespace
}  // namespace tandem
