// compare_accuracy against errors computed in the test, for runs with known differences.
#include "tandem/amp/tools/compare_accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "src/amp/tools/align.h"
#include "support/compare.h"
#include "support/device.h"
#include "tandem/amp/tools.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using testing::device_type;

using amp::AccuracyReport;
using amp::AccuracyRow;
using amp::compare_accuracy;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Returns the length of the longest common subsequence, by the textbook dynamic program.
size_t longest(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<std::vector<size_t>> t(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j)
      t[i][j] = a[i - 1] == b[j - 1] ? t[i - 1][j - 1] + 1 : std::max(t[i - 1][j], t[i][j - 1]);
  }
  return t[a.size()][b.size()];
}

TEST(Align, FindsALongestCommonSubsequence) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 3000; ++trial) {
    const auto make = [&] {
      std::vector<int> v(random() % 12);
      for (int& e : v) e = static_cast<int>(random() % (1 + trial % 5));
      return v;
    };
    const std::vector<int> a = make(), b = make();
    const auto pairs = amp::align(a, b);
    ASSERT_EQ(pairs.size(), longest(a, b));
    for (size_t i = 0; i < pairs.size(); ++i) {
      ASSERT_EQ(a[pairs[i].first], b[pairs[i].second]);
      ASSERT_TRUE(i == 0 || (pairs[i].first > pairs[i - 1].first && pairs[i].second > pairs[i - 1].second));
    }
  }
}

/// Checks one row against errors computed from the values.
void expect_row(const AccuracyRow& row, const Tensor& a, const Tensor& b, double scale = 1) {
  const std::vector<double> x = testing::values_of(a), y = testing::values_of(b);
  double num = 0, den = 0, dot = 0, yy = 0, worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = y[i] / scale;
    if (!std::isfinite(x[i]) || !std::isfinite(v)) continue;
    num += (v - x[i]) * (v - x[i]);
    den += x[i] * x[i];
    yy += v * v;
    dot += x[i] * v;
    worst = std::max(worst, std::abs(v - x[i]));
  }
  EXPECT_NEAR(row.relative_l2, std::sqrt(num / den), 1e-12);
  EXPECT_NEAR(row.cosine, dot / std::sqrt(den * yy), 1e-12);
  EXPECT_DOUBLE_EQ(row.max_error, worst);
  EXPECT_EQ(row.sizes, a.impl().sizes);
  EXPECT_EQ(row.dtype_a, a.dtype());
  EXPECT_EQ(row.dtype_b, b.dtype());
}

struct CompareAccuracyTest : ::testing::Test {
  CompareAccuracyTest() {
    manual_seed(3);
    x = randn({16, 8});
    w = randn({4, 8}).requires_grad_();
  }
  Tensor x, w;
};

TEST_F(CompareAccuracyTest, ComparesForwardAndBackwardWithoutCasts) {
  Tensor a, b;
  const auto run = [&](Tensor& result, bool amp) {
    w.mutable_grad() = Tensor();
    amp::AutocastGuard autocast(device_type(), {}, amp);
    result = linear(x, w);
    const Tensor wide = result.to(kDouble).to(kFloat);
    tanh(wide).sum().backward();
  };
  const AccuracyReport report = compare_accuracy([&] { run(a, false); }, [&] { run(b, true); });
  ASSERT_GE(report.rows.size(), 5u);
  EXPECT_EQ(report.rows[0].what, "linear");
  EXPECT_EQ(report.rows[0].call_a, 0);
  expect_row(report.rows[0], a, b);
  EXPECT_EQ(report.rows[1].what, "tanh");
  expect_row(report.rows[1], tanh(a), tanh(b.to(kFloat)));
  EXPECT_EQ(report.rows[2].what, "sum");
  EXPECT_THAT(report.only_a, SizeIs(0));
  EXPECT_THAT(report.only_b, SizeIs(0));
  EXPECT_TRUE(std::any_of(report.rows.begin(), report.rows.end(),
                          [](const AccuracyRow& r) { return r.what == "gradient of input 1 of linear"; }));
  for (const AccuracyRow& r : report.rows) EXPECT_NE(r.what, "to");
}

TEST_F(CompareAccuracyTest, FindsTheFirstAndWorstDeviation) {
  const auto run = [&](double fault) {
    Tensor h = x * 2;
    h = h * (1 + fault);
    h = tanh(h);
  };
  const AccuracyReport report = compare_accuracy([&] { run(0); }, [&] { run(0.5); });
  ASSERT_THAT(report.rows, SizeIs(3));
  EXPECT_EQ(report.rows[0].deviation(), 0);
  EXPECT_EQ(report.first(), &report.rows[1]);
  EXPECT_NEAR(report.first()->relative_l2, 0.5, 1e-6);
  EXPECT_EQ(report.worst(), &report.rows[1]);
  EXPECT_EQ(report.first(0.9), nullptr);
  const std::string worst = report.table(AccuracyReport::Order::worst, 1);
  EXPECT_THAT(worst, HasSubstr("5.00e-01"));
  EXPECT_THAT(worst, HasSubstr("... and 2 more"));
}

TEST_F(CompareAccuracyTest, OverflowIsTheWorstDeviation) {
  const AccuracyReport report = compare_accuracy([&] { static_cast<void>(exp(tanh(x * 2) * 60)); },
                                                 [&] {
                                                   const amp::AutocastGuard autocast(device_type(), kHalf);
                                                   const amp::PolicyGuard policy({{"exp", amp::Cast::lower}});
                                                   static_cast<void>(exp(tanh(x * 2) * 60));
                                                 });
  ASSERT_NE(report.worst(), nullptr);
  EXPECT_EQ(report.worst()->what, "exp");
  EXPECT_GT(report.worst()->nonfinite_b, 0);
  EXPECT_EQ(report.worst()->nonfinite_a, 0);
  EXPECT_TRUE(std::isfinite(report.worst()->relative_l2)) << "of the elements that are finite in both";
}

TEST_F(CompareAccuracyTest, ReportsOpsOfOnlyOneRun) {
  const AccuracyReport report = compare_accuracy(
      [&] {
        const Tensor h = relu(x * 2);
        h.sum();
      },
      [&] {
        const Tensor h = sigmoid(relu(x * 2));
        h.sum();
        h.mean();
      });
  EXPECT_THAT(report.rows, SizeIs(3));
  EXPECT_THAT(report.only_a, SizeIs(0));
  EXPECT_THAT(report.only_b, ::testing::ElementsAre("call 2: sigmoid", "call 4: mean"));
  EXPECT_THAT(report.table(), HasSubstr("only in b: call 4: mean"));
}

TEST_F(CompareAccuracyTest, BackwardIsDividedByTheLossScale) {
  const auto run = [&](double scale) {
    w.mutable_grad() = Tensor();
    linear(x, w).backward(full({16, 4}, scale));
  };
  const amp::CompareOptions options{.loss_scale = 1024};
  const AccuracyReport report = compare_accuracy([&] { run(1); }, [&] { run(1024); }, options);
  ASSERT_GE(report.rows.size(), 2u);
  EXPECT_EQ(report.worst()->relative_l2, 0) << report;
  EXPECT_DOUBLE_EQ(report.rows[1].cosine, 1);
}

TEST_F(CompareAccuracyTest, EqualRunsDoNotDeviate) {
  const auto run = [&] {
    const Tensor h = dropout(x, 0.5, true);
    h.mul_(3);
    h.add_(1);
  };
  const AccuracyReport report = compare_accuracy(run, run);
  EXPECT_EQ(report.worst()->deviation(), 0);
  EXPECT_THAT(report.rows, SizeIs(3));
}

TEST_F(CompareAccuracyTest, ComparesParametersAndGradientsByName) {
  nn::Linear a(8, 4), b(8, 4);
  {
    NoGradGuard no_grad;
    b->weight.copy_(a->weight * 1.5);
    b->bias.copy_(a->bias);
  }
  a->weight.mutable_grad() = ones({4, 8});
  b->weight.mutable_grad() = full({4, 8}, 2048.0);
  const AccuracyReport report = compare_accuracy(*a, *b, {.loss_scale = 1024});
  ASSERT_THAT(report.rows, SizeIs(3));
  EXPECT_EQ(report.rows[0].what, "weight");
  expect_row(report.rows[0], a->weight, b->weight);
  EXPECT_EQ(report.rows[1].what, "weight.grad");
  expect_row(report.rows[1], a->weight.grad(), b->weight.grad(), 1024);
  EXPECT_NEAR(report.rows[1].relative_l2, 1, 1e-12);
  EXPECT_EQ(report.rows[2].what, "bias");
  b->bias.mutable_grad() = ones({4});
  EXPECT_THAT(compare_accuracy(*a, *b).only_b, ::testing::ElementsAre("bias.grad"));
  nn::Linear without(nn::LinearOptions(8, 4).bias(false));
  EXPECT_THAT(compare_accuracy(*a, *without).only_a, ::testing::Contains("bias"));
}

TEST_F(CompareAccuracyTest, EmptyAndThrowingRuns) {
  const AccuracyReport report = compare_accuracy([] {}, [] {});
  EXPECT_EQ(report.worst(), nullptr);
  EXPECT_EQ(report.first(), nullptr);
  EXPECT_THROW(compare_accuracy([&] { mm(x, x); }, [] {}), ShapeError);
  EXPECT_FALSE(thread_state().observers);
}

}  // namespace
}  // namespace tandem
