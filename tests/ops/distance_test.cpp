// Second derivatives of distances where they have kinks. Values and first derivatives are compared with PyTorch through
// tests/cases.
#include "tandem/ops/distance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/op_test.h"
#include "tandem/autograd/engine.h"

namespace tandem {
namespace {

using namespace testing;

class Distance : public OpTest {};

/// The gradient of the sum of y by x.
Tensor slope(const Tensor& y, const Tensor& x, bool create_graph) {
  return autograd::grad({y.sum()}, {x}, {}, true, create_graph)[0];
}

TEST_F(Distance, EqualRowsHaveFiniteSecondDerivatives) {
  const Tensor rows = tensor({{1.0, 2.0}, {3.0, 5.0}, {1.0, 2.0}}, kDouble);
  for (double p : {0.5, 1.0, 1.5, 2.0, 3.0, static_cast<double>(INFINITY)}) {
    const Tensor x = rows.clone().requires_grad_();
    for (bool pairs : {false, true}) {
      const Tensor y = pairs ? pdist(x, p) : cdist(x, rows, p);
      const Tensor plain = slope(y, x, false), recorded = slope(y, x, true);
      EXPECT_TRUE(near(recorded, plain, kExact)) << p;
      if (!recorded.requires_grad()) continue;  // constant slopes: p = 1 and infinity
      EXPECT_TRUE(isfinite(slope(recorded.square(), x, false)).all().item<bool>()) << p;
    }
  }
}

}  // namespace
}  // namespace tandem
