// multilabel_margin and its backward against plain loops in f64.
#include <gtest/gtest.h>

#include <set>

#include "kernels/kernels_under_test.h"
#include "layouts.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

void check(DType dtype, int64_t samples, int64_t classes) {
  const Tensor x = empty({samples, classes}, dtype), gx = empty(x.sizes(), dtype);
  write(x, random_values(x.numel(), 1, -2, 2));
  // Sample n lists n classes, then -1 if there is room for it.
  Values listed(static_cast<size_t>(x.numel()), 0);
  for (int64_t n = 0; n < samples; ++n) {
    for (int64_t j = 0; j < classes; ++j) {
      listed[static_cast<size_t>(n * classes + j)] = j < n    ? static_cast<double>((3 * j + n) % classes)
                                                     : j == n ? -1
                                                              : 0;
    }
  }
  const Tensor target = empty(x.sizes(), kLong), marked = empty(x.sizes(), kBool), loss = empty({samples}, dtype);
  write(target, listed);
  const Tensor gy = tensor_of(random_values(samples, 2, -1, 1), dtype);
  under_test().multilabel_margin(loss, marked, x, target);
  under_test().multilabel_margin_backward(gx, gy, x, target, marked);

  const Values v = read(x), weights = read(gy);
  Values losses, gradient(v.size(), 0), marks(v.size(), 0);
  const auto c = static_cast<size_t>(classes);
  for (size_t n = 0; n < static_cast<size_t>(samples); ++n) {
    std::vector<size_t> labels;
    for (size_t j = 0; j < c && listed[n * c + j] >= 0; ++j) labels.push_back(static_cast<size_t>(listed[n * c + j]));
    const std::set<size_t> unique(labels.begin(), labels.end());
    for (size_t k : unique) marks[n * c + k] = 1;
    double sum = 0;
    for (size_t label : labels) {
      for (size_t k = 0; k < c; ++k) {
        const double term = 1 - v[n * c + label] + v[n * c + k];
        if (unique.count(k) || term <= 0) continue;
        sum += term;
        gradient[n * c + k] += weights[n] / static_cast<double>(c);
        gradient[n * c + label] -= weights[n] / static_cast<double>(c);
      }
    }
    losses.push_back(sum / static_cast<double>(c));
  }
  EXPECT_EQ(read(marked), marks);
  EXPECT_TRUE(near(loss, losses, tolerance(dtype, classes, 2, scale_of(losses)))) << name(dtype);
  EXPECT_TRUE(near(gx, gradient, tolerance(dtype, classes, 2, scale_of(gradient)))) << name(dtype);
}

TEST(MultilabelMarginKernels, Sizes) {
  for (DType dtype : {kFloat, kDouble}) {
    check(dtype, 1, 1);
    check(dtype, 3, 2);
    check(dtype, 7, 5);
    check(dtype, 9, 300);
  }
}

}  // namespace
}  // namespace tandem
