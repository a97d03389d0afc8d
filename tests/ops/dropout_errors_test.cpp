// dropout and its derivative reject invalid probabilities and masks that do not fit.
#include <cmath>

#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

namespace {

struct InPlaceDropout {
  const char* name;
  const Tensor& (*run)(const Tensor& x, double p, bool training);
};
#define OP(NAME) \
  { #NAME, NAME }
constexpr InPlaceDropout in_place_dropouts[] = {OP(dropout_), OP(alpha_dropout_), OP(feature_dropout_),
                                                OP(feature_alpha_dropout_)};
#undef OP

}  // namespace

BadInputs dropout_bad_input() {
  const Tensor none, x = ones({2, 3}), n = ones({2, 3}, kLong), mask = ones({2, 3}, kBool);
  const Tensor weight = ones({2, 3}).requires_grad_(), repeated = ones({2, 1}).expand({2, 3});
  BadInputs rows = {
      BAD_INPUT("dropout_backward", dropout_backward(x, x, 0.5), DTypeError, "mask is [2, 3] f32", "bool"),
      UNDEFINED("dropout", dropout(none, 0.5, true)),
      UNDEFINED("dropout", dropout(none, 0.5, false)),
      BAD_INPUT("dropout", dropout(x, 1.5, true), StateError, "p = 1.5", "[0, 1]"),
      BAD_INPUT("dropout", dropout(x, -0.1, false), StateError, "p = -0.1", "[0, 1]"),
      BAD_INPUT("dropout", dropout(x, std::nan(""), true), StateError, "p = nan", "[0, 1]"),
      BAD_INPUT("dropout", dropout(n, 0.5, true), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      UNDEFINED("dropout_backward", dropout_backward(none, mask, 0.5)),
      UNDEFINED("dropout_backward", dropout_backward(x, none, 0.5)),
      BAD_INPUT("dropout_backward", dropout_backward(x, ones({3}, kBool), 0.5), ShapeError, "[3] bool", "[2, 3]"),
      BAD_INPUT("dropout_backward", dropout_backward(x, mask, 1), StateError, "p = 1", "[0, 1)"),
      BAD_INPUT("dropout_backward", dropout_backward(x, mask, -1), StateError, "p = -1", "[0, 1)"),
      BAD_INPUT("dropout_backward", dropout_backward(n, mask, 0.5), DTypeError, "gy is [2, 3] i64", ".to(kFloat)"),
      ON_TWO_DEVICES("dropout_backward", dropout_backward(x, on_another_device({2, 3}, kBool), 0.5)),
  };
  for (const InPlaceDropout& op : in_place_dropouts) {
    rows.push_back(UNDEFINED(op.name, op.run(none, 0.5, true)));
    rows.push_back(BAD_INPUT(op.name, op.run(x, 1.5, true), StateError, "p = 1.5", "[0, 1]"));
    rows.push_back(BAD_INPUT(op.name, op.run(n, 0.5, true), DTypeError, "[2, 3] i64", ".to(kFloat)"));
    rows.push_back(BAD_INPUT(op.name, op.run(weight, 0.5, true), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"));
    rows.push_back(BAD_INPUT(op.name, op.run(repeated, 0.5, true), ShapeError, "[2, 3]", "expanded", "clone()"));
  }
  return rows;
}

TEST(DropoutErrors, BadInputIsRefused) { expect_refused(dropout_bad_input()); }

}  // namespace tandem::testing
