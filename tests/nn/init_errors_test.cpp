// Initial values refuse tensors and numbers that they cannot use.
#include "support/bad_input.h"
#include "support/throws.h"
#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

namespace init = nn::init;

TEST(InitErrors, BadInputIsRefused) {
  const Tensor none, x = ones({2, 3}), y = ones({5}), n = ones({2, 3}, kLong);
  expect_refused({
      BAD_INPUT("init::eye_", init::eye_(y), ShapeError, "rank 2", "[5]"),
      UNDEFINED("init::eye_", init::eye_(none)),
      UNDEFINED("uniform_", init::uniform_(none)),
      BAD_INPUT("uniform_", init::uniform_(x, 1, -1), StateError, "from = 1", "to = -1", "swap"),
      BAD_INPUT("uniform_", init::uniform_(n), DTypeError, "i64", ".to(kFloat)"),
      UNDEFINED("normal_", init::normal_(none)),
      BAD_INPUT("normal_", init::normal_(x, 0, -1), StateError, "std = -1", "at least 0"),
      BAD_INPUT("normal_", init::normal_(n), DTypeError, "i64", ".to(kFloat)"),
      BAD_INPUT("uniform_", init::xavier_uniform_(n), DTypeError, "i64", ".to(kFloat)"),
      BAD_INPUT("normal_", init::kaiming_normal_(n), DTypeError, "i64", ".to(kFloat)"),
  });
  // Those that call others: the message names the inner function.
  for (auto* f : {&init::zeros_, &init::ones_}) EXPECT_THROWS(f(none), StateError, "undefined tensor", "give it a");
  EXPECT_THROWS(init::constant_(none, 1), StateError, "undefined tensor", "give it a value first");
  for (auto* f : {&init::xavier_uniform_, &init::xavier_normal_}) {
    EXPECT_THROWS(f(none, 1), StateError, "undefined tensor", "give it a value first");
    EXPECT_THROWS(f(y, 1), ShapeError, "init: ", "rank 2 or more", "[5]", "uniform_ or normal_");
  }
  for (auto* f : {&init::kaiming_uniform_, &init::kaiming_normal_}) {
    EXPECT_THROWS(f(none, 0, kFanIn, kReLU), StateError, "undefined tensor", "give it a value first");
    EXPECT_THROWS(f(y, 0, kFanIn, kReLU), ShapeError, "init: ", "rank 2 or more", "[5]", "uniform_ or normal_");
  }
  EXPECT_THROWS(init::calculate_fan_in_and_fan_out(none), StateError, "undefined tensor", "give it a value first");
  EXPECT_THROWS(init::calculate_fan_in_and_fan_out(y), ShapeError, "init: ", "rank 2 or more", "[5]");
}

}  // namespace
}  // namespace tandem::testing
