// logspace, range, windows, and factories with the dtype of a tensor, against their formulas.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/compare.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

void expect_formula(const Tensor& actual, int64_t n, const std::function<double(double)>& f) {
  ASSERT_EQ(actual.numel(), n);
  const std::vector<double> values = values_of(actual);
  for (int64_t i = 0; i < n; ++i) {
    const double want = f(static_cast<double>(i));
    EXPECT_NEAR(values[static_cast<size_t>(i)], want, 1e-6 * (1 + std::abs(want))) << i;
  }
}

TEST(Logspace, RaisesTheBaseToALinspace) {
  expect_formula(logspace(0, 3, 4), 4, [](double i) { return std::pow(10, i); });
  expect_formula(logspace(-2, 2, 9, 2, kDouble), 9, [](double i) { return std::exp2(-2 + i / 2); });
  expect_formula(logspace(2, 5, 1), 1, [](double) { return 100; });
  EXPECT_EQ(logspace(0, 2, 3, 10, kLong).dtype(), kLong);
  EXPECT_EQ(logspace(0, 1, 0).numel(), 0);
}

TEST(Range, IncludesTheEnd) {
  expect_formula(range(0, 4), 5, [](double i) { return i; });
  expect_formula(range(1, 2, 0.25), 5, [](double i) { return 1 + i / 4; });
  expect_formula(range(3, -4, -2, kLong), 4, [](double i) { return 3 - 2 * i; });
  expect_formula(range(2, 2), 1, [](double) { return 2; });
  EXPECT_EQ(range(0, 3).dtype(), kFloat);
  EXPECT_EQ(range(0, 3, 1, kInt).dtype(), kInt);
}

TEST(Windows, FollowTheirFormulas) {
  for (bool periodic : {true, false}) {
    const double steps = periodic ? 7 : 6;
    const auto turn = [&](double i) { return 2 * M_PI * i / steps; };
    expect_formula(hann_window(7, periodic), 7, [&](double i) { return std::pow(std::sin(turn(i) / 2), 2); });
    expect_formula(hamming_window(7, periodic), 7, [&](double i) { return 0.54 - 0.46 * std::cos(turn(i)); });
    expect_formula(hamming_window(7, periodic, 0.6, 0.3), 7, [&](double i) { return 0.6 - 0.3 * std::cos(turn(i)); });
    expect_formula(blackman_window(7, periodic), 7,
                   [&](double i) { return 0.42 - 0.5 * std::cos(turn(i)) + 0.08 * std::cos(2 * turn(i)); });
    expect_formula(bartlett_window(7, periodic), 7, [&](double i) { return 1 - std::abs(2 * i / steps - 1); });
    expect_formula(kaiser_window(7, periodic, 8), 7, [&](double i) {
      const double t = 2 * i / steps - 1;
      return std::cyl_bessel_i(0.0, 8 * std::sqrt(1 - t * t)) / std::cyl_bessel_i(0.0, 8.0);
    });
  }
  EXPECT_EQ(hann_window(0).numel(), 0);
  EXPECT_EQ(hann_window(1, false).item<float>(), 1.0F);
  EXPECT_EQ(kaiser_window(4, true, 12, kHalf).dtype(), kHalf);
}

TEST(NewTensors, HaveTheDtypeOfTheTensor) {
  const Tensor x = ones({2, 3}, kHalf);
  EXPECT_EQ(x.new_empty({4}).dtype(), kHalf);
  EXPECT_EQ(x.new_empty_strided({2, 2}, {1, 2}).strides(), IntArrayRef({1, 2}));
  EXPECT_EQ(values_of(x.new_zeros({2})), std::vector<double>({0, 0}));
  EXPECT_EQ(values_of(x.new_ones({2}, kLong)), std::vector<double>({1, 1}));
  EXPECT_EQ(x.new_ones({2}, kLong).dtype(), kLong);
  EXPECT_EQ(values_of(x.new_full({1}, 2.5)), std::vector<double>({2.5}));
  EXPECT_EQ(x.new_full({1}, 2).dtype(), kHalf);
  EXPECT_EQ(x.new_zeros({2}).device(), x.device());
}

}  // namespace
}  // namespace tandem::testing
