// Samples reject parameters of wrong dtype and out of range.
#include <cmath>

#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

BadInputs random_bad_input() {
  using tandem::normal;  // not that of cases/cases.h
  const Tensor none, x = ones({2, 3}), n = ones({2, 3}, kLong), nans = full({2}, NAN), row = ones({4});
  return {
      UNDEFINED("bernoulli", bernoulli(none)),
      UNDEFINED("bernoulli", bernoulli(none, 0.5)),
      BAD_INPUT("bernoulli", bernoulli(n), DTypeError, "p", "[2, 3] i64"),
      BAD_INPUT("bernoulli", bernoulli(mul(x, 2)), StateError, "from 2 to 2", "[0, 1]"),
      BAD_INPUT("bernoulli", bernoulli(nans), StateError, "nan", "[0, 1]"),
      BAD_INPUT("bernoulli", bernoulli(x, 1.5), StateError, "p = 1.5", "[0, 1]"),
      UNDEFINED("normal", normal(none, x)),
      UNDEFINED("normal", normal(x, none)),
      UNDEFINED("normal", normal(none, 1.0)),
      UNDEFINED("normal", normal(0.0, none)),
      BAD_INPUT("normal", normal(x, row), ShapeError, "[2, 3]", "[4]"),
      BAD_INPUT("normal", normal(n, x), DTypeError, "mean", "[2, 3] i64"),
      BAD_INPUT("normal", normal(x, neg(x)), StateError, "std", "from -1 to -1"),
      BAD_INPUT("normal", normal(x, -1.0), StateError, "std = -1", "at least 0"),
      BAD_INPUT("normal", normal(0.0, -1.0, {2}), StateError, "std = -1", "at least 0"),
      BAD_INPUT("normal", normal(0.0, 1.0, {-2}), ShapeError, "[-2]", "at least 0"),
      ON_TWO_DEVICES("normal", normal(x, on_another_device({2, 3}))),
      UNDEFINED("poisson", poisson(none)),
      BAD_INPUT("poisson", poisson(n), DTypeError, "rate", "[2, 3] i64"),
      BAD_INPUT("poisson", poisson(neg(x)), StateError, "rate", "from -1 to -1"),
      UNDEFINED("binomial", binomial(none, x)),
      UNDEFINED("binomial", binomial(x, none)),
      BAD_INPUT("binomial", binomial(n, x), DTypeError, "count", "[2, 3] i64"),
      BAD_INPUT("binomial", binomial(x, x.to(kDouble)), DTypeError, "[2, 3] f32", "[2, 3] f64"),
      BAD_INPUT("binomial", binomial(neg(x), x), StateError, "count", "from -1 to -1"),
      BAD_INPUT("binomial", binomial(x, mul(x, 2)), StateError, "prob", "from 2 to 2", "[0, 1]"),
      BAD_INPUT("binomial", binomial(x, row), ShapeError, "[2, 3]", "[4]"),
      ON_TWO_DEVICES("binomial", binomial(x, on_another_device({2, 3}))),
      UNDEFINED("multinomial", multinomial(none, 1)),
      BAD_INPUT("multinomial", multinomial(n, 1), DTypeError, "weights", "[2, 3] i64"),
      BAD_INPUT("multinomial", multinomial(ones({1, 2, 3}), 1), ShapeError, "[1, 2, 3] f32", "rank 1 or 2"),
      BAD_INPUT("multinomial", multinomial(x, 0), StateError, "num_samples = 0", "at least 1"),
      BAD_INPUT("multinomial", multinomial(x, 4), StateError, "4 samples of 3", "set replacement"),
      BAD_INPUT("multinomial", multinomial(zeros({2, 0}), 1, true), ShapeError, "[2, 0] f32", "nothing to choose"),
      BAD_INPUT("multinomial", multinomial(neg(x), 1), StateError, "weights", "from -1 to -1"),
      BAD_INPUT("multinomial", multinomial(div(x, 0), 1), StateError, "weights", "inf"),
      BAD_INPUT("multinomial", multinomial(zeros({3}), 1), StateError, "[3] f32", "all 0", "positive"),
  };
}

TEST(RandomOpErrors, BadInputIsRefused) { expect_refused(random_bad_input()); }

}  // namespace tandem::testing
