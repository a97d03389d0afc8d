// dropout: error messages, dtypes, memory formats and second derivatives. Values are compared with PyTorch through
// tests/cases.
#include <gtest/gtest.h>

#include <cmath>

#include "support/op_test.h"
#include "tandem/autograd/engine.h"
#include "tandem/base/error.h"

namespace tandem {
namespace {

using namespace testing;

class Dropout : public OpTest {};

TEST_F(Dropout, RefusesBadInput) {
  EXPECT_THROWS(dropout(Tensor(), 0.5, true), StateError, "dropout: ", "undefined");
  EXPECT_THROWS(dropout(randn({2}), 1.5, true), StateError, "dropout: p = 1.5", "[0, 1]");
  EXPECT_THROWS(dropout(randn({2}), -0.1, false), StateError, "dropout: p = -0.1");
  EXPECT_THROWS(dropout(randn({2}), std::nan(""), true), StateError, "dropout: p = nan");
  EXPECT_THROWS(dropout(ones({2}, kLong), 0.5, true), DTypeError, "dropout: x", "i64");
  EXPECT_THROWS(dropout_backward(randn({2}), ones({3}, kBool), 0.5), ShapeError, "dropout_backward: mask");
}

TEST_F(Dropout, ScalesKeptElements) {
  const Tensor x = ones({1000}).requires_grad_();
  EXPECT_TRUE(dropout(x, 0.5, false).is_same(x));
  EXPECT_TRUE(dropout(x, 0, true).is_same(x));
  manual_seed(3);
  const Tensor y = dropout(x, 0.25, true);
  manual_seed(3);
  EXPECT_TRUE(near(dropout(x, 0.25, true), y, kExact));
  const double kept = y.ne(0).to(kFloat).mean().item<double>();
  EXPECT_NEAR(kept, 0.75, 0.06);
  y.sum().backward();
  EXPECT_TRUE(near(x.grad(), y, kExact));  // the same mask, times 1 / 0.75
  EXPECT_NEAR(y.max().item<double>(), 1 / 0.75, 1e-6);
  const Tensor none = dropout(full({4}, kInf).requires_grad_(), 1, true);
  EXPECT_TRUE(near(none, zeros({4}), kExact));
}

TEST_F(Dropout, Derivatives) {
  check_twice(
      [](In v) -> Out {
        manual_seed(5);
        return {dropout(v[0], 0.5, true).square()};
      },
      {f64({3, 4})});
  check_twice([](In v) -> Out { return {dropout(v[0], 1, true)}; }, {f64({3})});
}

}  // namespace
}  // namespace tandem
