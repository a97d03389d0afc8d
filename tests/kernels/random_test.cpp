// uniform, normal, random_int, bernoulli and dropout: the Philox streams of math/philox.h, in every dtype and layout.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernels_under_test.h"
#include "layouts.h"
#include "support/simd_levels.h"
#include "tandem/math/philox.h"
#include "tandem/tensor/threads.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

class RandomKernels : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(RandomKernels);

constexpr PhiloxState kState = {0x0123456789abcdef, 0xfffffffe};  // the counter passes 2^32 during the tests

uint32_t lane(int64_t i, uint32_t block = 0) {
  return math::philox(kState.seed, kState.offset + static_cast<uint64_t>(i / 4), block).lane[i % 4];
}

Values uniforms(int64_t n) {
  Values u;
  for (int64_t i = 0; i < n; ++i) u.push_back(math::uniform_f32(lane(i)));
  return u;
}

TEST_P(RandomKernels, UniformMatchesTheStream) {
  for (int64_t n : {0, 1, 2, 3, 5, 33, 1023, 1025, 5001}) {
    const Tensor y = unwritten({n}, kFloat);
    under_test().uniform(y, 0, 1, kState);
    EXPECT_EQ(read(y), uniforms(n)) << n;
    const Tensor wide = unwritten({n}, kDouble);
    under_test().uniform(wide, 0, 1, kState);
    Values want;
    for (int64_t i = 0; i < n; ++i) want.push_back(math::uniform_f64(lane(i), lane(i, 1)));
    EXPECT_EQ(read(wide), want) << n;
  }
}

TEST_P(RandomKernels, LayoutsHaveTheSameNumbers) {
  const Dims sizes = {3, 5, 7, 43};
  const Values want = uniforms(numel_of(sizes));
  for (Layout layout :
       {Layout::contiguous, Layout::transposed, Layout::sliced, Layout::spread, Layout::channels_last}) {
    const Tensor y = unwritten(sizes, kFloat, layout);
    under_test().uniform(y, 0, 1, kState);
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
      under_test().uniform(y, r.from, r.to, kState);
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
    under_test().normal(y, 0, 1, kState);
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
    under_test().normal(y, 2, 3, kState);
    under_test().normal(wide, 2, 3, kState);
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
    under_test().random_int(y, 3, 13, kState);
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
  under_test().random_int(y, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), kState);
  int64_t negative = 0;
  for (const int64_t value : elements_of<int64_t>(y)) negative += value < 0;
  EXPECT_NEAR(static_cast<double>(negative), 500, 100);
}

TEST_P(RandomKernels, Bernoulli) {
  for (double p : {0.0, 0.3, 1.0}) {
    for (DType dtype : {kFloat, kHalf, kBool, kLong}) {
      const Tensor y = unwritten({5000}, dtype);
      under_test().bernoulli(y, p, kState);
      Values want = uniforms(5000);
      for (double& u : want) u = u < p;
      EXPECT_EQ(read(y), want) << p << " " << name(dtype);
    }
  }
}

TEST_P(RandomKernels, Dropout) {
  const Dims sizes = {3, 7, 143};
  for (DType dtype : kFloatingTypes) {
    for (Layout layout : {Layout::contiguous, Layout::transposed, Layout::spread}) {
      for (double p : {0.0, 0.1, 0.5, 1.0}) {
        const Tensor x = noise(sizes, dtype, 1, layout), y = unwritten(sizes, dtype),
                     mask = unwritten(sizes, kBool, layout);
        write(x, [&] {
          Values v = random_values(x.numel(), 1);
          v[0] = INFINITY;
          return v;
        }());
        under_test().dropout(y, mask, x, p, kState);
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
    under_test().normal(y, 0, 1, kState);
    results.push_back(bytes_of(y));
  }
  set_num_threads(threads);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace tandem
