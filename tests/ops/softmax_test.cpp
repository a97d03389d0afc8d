// softmax and log_softmax: error messages, dtypes, memory formats and second derivatives. Values are compared with
// PyTorch through tests/cases.
#include <gtest/gtest.h>

#include "support/device.h"
#include "support/op_test.h"
#include "tandem/amp/autocast.h"
#include "tandem/autograd/engine.h"
#include "tandem/base/error.h"

namespace tandem {
namespace {

using namespace testing;

class Softmax : public OpTest {};

TEST_F(Softmax, RefusesBadInput) {
  const Tensor x = randn({2, 3});
  EXPECT_THROWS(softmax(Tensor(), 0), StateError, "softmax: ", "undefined");
  EXPECT_THROWS(softmax(x, 2), IndexError, "softmax", "2");
  EXPECT_THROWS(log_softmax(x, -3), IndexError, "log_softmax", "-3");
  EXPECT_THROWS(softmax(ones({2}, kLong), 0), DTypeError, "softmax: ", "i64", ".to(kFloat)");
  EXPECT_THROWS(log_softmax(x, 0, kInt), DTypeError, "log_softmax: ", "i32");
  EXPECT_THROWS(softmax_backward(randn({2, 2}), x, 1), ShapeError, "softmax_backward: ", "[2, 2]", "[2, 3]");
  EXPECT_THROWS(log_softmax_backward(Tensor(), x, 1), StateError, "log_softmax_backward: ");
}

TEST_F(Softmax, DTypes) {
  const Tensor x = leaf({3, 5}, kHalf), integers = ones({2, 4}, kLong);
  EXPECT_EQ(softmax(x, 1).dtype(), kHalf);
  EXPECT_EQ(x.softmax(1, kFloat).dtype(), kFloat);
  EXPECT_EQ(log_softmax(randn({3}, kDouble), 0, kFloat).dtype(), kFloat);
  EXPECT_TRUE(near(softmax(integers, 1, kFloat), full({2, 4}, 0.25), kExact));
  amp::AutocastGuard autocast(device_type());
  const Tensor y = softmax(x, 1);
  EXPECT_EQ(y.dtype(), kFloat);
  EXPECT_EQ(softmax(x, 1, kHalf).dtype(), kHalf);
  y.backward(randn({3, 5}));
  EXPECT_EQ(x.grad().dtype(), kHalf);
}

TEST_F(Softmax, DerivativesAreDifferentiable) {
  check_twice([](In v) -> Out { return {softmax_backward(v[0], v[1], 0)}; }, {f64({4, 2}), f64({4, 2})});
  check_twice([](In v) -> Out { return {log_softmax_backward(v[0], v[1], -1)}; }, {f64({2, 4}), f64({2, 4})});
}

}  // namespace
}  // namespace tandem
