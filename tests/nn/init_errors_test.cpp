// Initialisers reject invalid tensors and numbers.
#include <cmath>

#include "support/bad_input.h"
#include "support/throws.h"
#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

namespace init = nn::init;

TEST(InitErrors, BadInputIsRefused) {
  const Tensor none, x = ones({2, 3}), y = ones({5}), n = ones({2, 3}, kLong), filter = ones({4, 2, 3, 3});
  const double nan = std::nan("");
  expect_refused({
      BAD_INPUT("init::eye_", init::eye_(y), ShapeError, "rank 2", "[5] f32", "give a matrix"),
      UNDEFINED("init::eye_", init::eye_(none)),
      UNDEFINED("init::uniform_", init::uniform_(none)),
      BAD_INPUT("init::uniform_", init::uniform_(x, 1, -1), StateError, "from = 1", "to = -1", "swap"),
      BAD_INPUT("init::uniform_", init::uniform_(n), DTypeError, "i64", ".to(kFloat)"),
      UNDEFINED("init::normal_", init::normal_(none)),
      BAD_INPUT("init::normal_", init::normal_(x, 0, -1), StateError, "std = -1", "at least 0"),
      BAD_INPUT("init::normal_", init::normal_(n), DTypeError, "i64", ".to(kFloat)"),
      BAD_INPUT("init::xavier_uniform_", init::xavier_uniform_(n), DTypeError, "i64", ".to(kFloat)"),
      BAD_INPUT("init::kaiming_normal_", init::kaiming_normal_(n), DTypeError, "i64", ".to(kFloat)"),
      UNDEFINED("init::constant_", init::constant_(none, 1)),
      BAD_INPUT("init::constant_", init::constant_(ones({2}, kInt), 1e10), StateError, "10000000000", "i32"),
      UNDEFINED("init::zeros_", init::zeros_(none)),
      UNDEFINED("init::ones_", init::ones_(none)),
      UNDEFINED("init::xavier_uniform_", init::xavier_uniform_(none)),
      BAD_INPUT("init::xavier_uniform_", init::xavier_uniform_(y), ShapeError, "rank 2 or more", "[5] f32", "uniform_"),
      BAD_INPUT("init::xavier_uniform_", init::xavier_uniform_(x, -1), StateError, "gain = -1", "at least 0"),
      UNDEFINED("init::xavier_normal_", init::xavier_normal_(none)),
      BAD_INPUT("init::xavier_normal_", init::xavier_normal_(y), ShapeError, "rank 2 or more", "[5] f32", "normal_"),
      BAD_INPUT("init::xavier_normal_", init::xavier_normal_(x, nan), StateError, "gain = nan", "finite"),
      UNDEFINED("init::kaiming_uniform_", init::kaiming_uniform_(none)),
      BAD_INPUT("init::kaiming_uniform_", init::kaiming_uniform_(y), ShapeError, "rank 2 or more", "[5] f32"),
      BAD_INPUT("init::kaiming_uniform_", init::kaiming_uniform_(x, nan), StateError, "param = nan", "finite"),
      UNDEFINED("init::kaiming_normal_", init::kaiming_normal_(none)),
      BAD_INPUT("init::kaiming_normal_", init::kaiming_normal_(y), ShapeError, "rank 2 or more", "[5] f32"),
      BAD_INPUT("init::kaiming_normal_", init::kaiming_normal_(x, nan), StateError, "param = nan", "finite"),
      UNDEFINED("init::dirac_", init::dirac_(none)),
      BAD_INPUT("init::dirac_", init::dirac_(x), ShapeError, "rank 3, 4 or 5", "[2, 3] f32", "eye_"),
      BAD_INPUT("init::dirac_", init::dirac_(filter, 3), StateError, "groups = 3", "4 outputs", "give a divisor"),
      UNDEFINED("init::orthogonal_", init::orthogonal_(none)),
      BAD_INPUT("init::orthogonal_", init::orthogonal_(y), ShapeError, "rank 2 or more", "[5] f32", "uniform_"),
      BAD_INPUT("init::orthogonal_", init::orthogonal_(n), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("init::orthogonal_", init::orthogonal_(x, nan), StateError, "gain = nan", "finite"),
      UNDEFINED("init::sparse_", init::sparse_(none, 0.5)),
      BAD_INPUT("init::sparse_", init::sparse_(y, 0.5), ShapeError, "rank 2", "[5] f32"),
      BAD_INPUT("init::sparse_", init::sparse_(x, 2), StateError, "sparsity = 2", "[0, 1]"),
      BAD_INPUT("init::sparse_", init::sparse_(x, 0.5, -1), StateError, "std = -1", "at least 0"),
      BAD_INPUT("init::calculate_gain", init::calculate_gain(kLeakyReLU, nan), StateError, "param = nan", "finite"),
      UNDEFINED("init::calculate_fan_in_and_fan_out", init::calculate_fan_in_and_fan_out(none)),
      BAD_INPUT("init::calculate_fan_in_and_fan_out", init::calculate_fan_in_and_fan_out(y), ShapeError,
                "rank 2 or more", "[5] f32"),
  });
  EXPECT_EQ(x.sum().item<float>() + filter.sum().item<float>(), 6 + 72) << "refused calls change nothing";
}

}  // namespace
}  // namespace tandem::testing
