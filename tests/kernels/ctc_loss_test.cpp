// ctc_loss and ctc_loss_backward against the sum over all paths, in f64.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernels_under_test.h"
#include "layouts.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

/// The probability of one sample's target, and of each class at each step together with the target.
struct Reference {
  double probability = 0;
  std::vector<Values> joint;
};

/// Tries every path of classes. x: log-probabilities [steps][classes].
Reference all_paths(const std::vector<Values>& x, const std::vector<int64_t>& target, int64_t blank) {
  const size_t steps = x.size(), classes = x.empty() ? 0 : x[0].size();
  Reference result{0, std::vector<Values>(steps, Values(classes, 0))};
  std::vector<size_t> path(steps, 0);
  while (true) {
    std::vector<int64_t> collapsed;
    double log_p = 0;
    for (size_t t = 0; t < steps; ++t) {
      log_p += x[t][path[t]];
      const auto k = static_cast<int64_t>(path[t]);
      if (k != blank && (t == 0 || path[t - 1] != path[t])) collapsed.push_back(k);
    }
    if (collapsed == target) {
      result.probability += std::exp(log_p);
      for (size_t t = 0; t < steps; ++t) result.joint[t][path[t]] += std::exp(log_p);
    }
    size_t t = 0;
    while (t < steps && ++path[t] == classes) path[t++] = 0;
    if (t == steps) return result;
  }
}

struct Sample {
  int64_t steps;
  std::vector<int64_t> target;
};

void check(DType dtype, int64_t steps, int64_t classes, int64_t blank, const std::vector<Sample>& samples,
           bool zero_infinity) {
  const auto n = static_cast<int64_t>(samples.size());
  Values logs = random_values(steps * n * classes, 3, -2, 2);
  for (size_t row = 0; row < logs.size(); row += static_cast<size_t>(classes)) {
    double sum = 0;
    for (size_t c = 0; c < static_cast<size_t>(classes); ++c) sum += std::exp(logs[row + c]);
    for (size_t c = 0; c < static_cast<size_t>(classes); ++c) logs[row + c] -= std::log(sum);
  }
  const Tensor x = empty({steps, n, classes}, dtype), gx = empty(x.sizes(), dtype);
  write(x, logs);
  logs = read(x);
  Values targets, extents(samples.size() * 3);
  int64_t longest = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    extents[i] = static_cast<double>(samples[i].steps);
    extents[samples.size() + i] = static_cast<double>(samples[i].target.size());
    extents[2 * samples.size() + i] = static_cast<double>(targets.size());
    for (int64_t k : samples[i].target) targets.push_back(static_cast<double>(k));
    longest = std::max(longest, static_cast<int64_t>(samples[i].target.size()));
  }
  const Tensor flat = tensor_of(targets, kLong), where = empty({3, n}, kLong);
  write(where, extents);
  const Tensor loss = empty({n}, dtype), alpha = empty({n, steps, 2 * longest + 1}, dtype);
  const Tensor beta = empty(alpha.sizes(), dtype);
  const Values weights = random_values(n, 4, 0.5, 2);
  const Tensor gy = tensor_of(weights, dtype);
  under_test().ctc_loss(loss, alpha, x, flat, where, blank);
  under_test().ctc_loss_backward(gx, beta, gy, x, flat, where, loss, alpha, blank, zero_infinity);

  Values losses, gradient(logs.size(), 0);
  for (size_t i = 0; i < samples.size(); ++i) {
    std::vector<Values> rows;
    const auto at = [&](int64_t t) { return static_cast<size_t>((t * n + static_cast<int64_t>(i)) * classes); };
    for (int64_t t = 0; t < samples[i].steps; ++t) {
      const auto begin = logs.begin() + static_cast<std::ptrdiff_t>(at(t));
      rows.emplace_back(begin, begin + classes);
    }
    const Reference want = all_paths(rows, samples[i].target, blank);
    losses.push_back(-std::log(want.probability));
    for (int64_t t = 0; t < samples[i].steps; ++t) {
      for (size_t c = 0; c < static_cast<size_t>(classes); ++c) {
        const double p = want.joint[static_cast<size_t>(t)][c] / want.probability;
        const double slope = read(gy)[i] * (std::exp(logs[at(t) + c]) - p);
        gradient[at(t) + c] = want.probability > 0 || !zero_infinity ? slope : 0;
      }
    }
  }
  EXPECT_TRUE(near(loss, losses, tolerance(dtype, 16 * steps, 2, scale_of(losses)))) << name(dtype);
  EXPECT_TRUE(near(gx, gradient, tolerance(dtype, 16 * steps, 2, scale_of(gradient)))) << name(dtype);
}

TEST(CtcLossKernels, MatchTheSumOverAllPaths) {
  for (DType dtype : {kFloat, kDouble}) {
    check(dtype, 5, 3, 0, {{5, {1, 2}}, {4, {1, 1}}, {5, {2, 2, 1}}, {3, {}}}, false);
    check(dtype, 4, 4, 3, {{4, {0, 1, 2}}, {4, {2, 2}}, {1, {0}}, {2, {1}}}, false);
    check(dtype, 1, 2, 1, {{1, {0}}, {1, {}}, {0, {}}}, false);
  }
}

TEST(CtcLossKernels, TargetsThatDoNotFit) {
  for (DType dtype : {kFloat, kDouble}) {
    check(dtype, 4, 3, 0, {{2, {1, 1}}, {4, {1, 2}}, {3, {1, 2, 1, 2}}}, true);
    check(dtype, 4, 3, 0, {{2, {1, 1}}, {4, {1, 2}}, {0, {1}}}, false);
  }
}

TEST(CtcLossKernels, LongTargets) {
  // Twice as many steps as classes in the target, and probabilities that are all equal, so that the loss has a closed
  // form: the number of alignments of 2 n steps to n equal classes in a row, which need a blank between them.
  const int64_t labels = 300, steps = 2 * labels - 1;
  const Tensor x = empty({steps, 1, 2}, kDouble);
  write(x, Values(static_cast<size_t>(2 * steps), -std::log(2.0)));
  const Tensor targets = tensor_of(Values(static_cast<size_t>(labels), 1), kLong), where = empty({3, 1}, kLong);
  write(where, {static_cast<double>(steps), static_cast<double>(labels), 0});
  const Tensor loss = empty({1}, kDouble), alpha = empty({1, steps, 2 * labels + 1}, kDouble);
  under_test().ctc_loss(loss, alpha, x, targets, where, 0);
  EXPECT_NEAR(read(loss)[0], static_cast<double>(steps) * std::log(2.0), 1e-9);  // there is one alignment
}

}  // namespace
}  // namespace tandem
