// softmax and log_softmax and their derivatives reject dimensions, dtypes and sizes that do not fit.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

BadInputs softmax_bad_input() {
  const Tensor none, x = ones({2, 3}), y = ones({4}), n = ones({2, 3}, kLong), far = on_another_device({2, 3});
  BadInputs rows = {
      UNDEFINED("softmax", softmax(none, 0)),
      BAD_INPUT("softmax", softmax(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("softmax", softmax(scalar_tensor(1), 1), IndexError, "dimension 1", "rank 0", "[-1, 0]"),
      BAD_INPUT("softmax", softmax(n, 0), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("softmax", softmax(x, 0, kInt), DTypeError, "[2, 3] f32", "i32", "floating dtype"),
      UNDEFINED("log_softmax", log_softmax(none, 0)),
      BAD_INPUT("log_softmax", log_softmax(x, -3), IndexError, "dimension -3", "rank 2", "[-2, 1]"),
      BAD_INPUT("log_softmax", log_softmax(n, 0), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("log_softmax", log_softmax(x, 0, kInt), DTypeError, "[2, 3] f32", "i32", "floating dtype"),
  };
  struct Derivative {
    const char* name;
    Tensor (*run)(const Tensor& gy, const Tensor& y, int64_t dim);
  };
  for (const Derivative& op :
       {Derivative{"softmax_backward", softmax_backward}, Derivative{"log_softmax_backward", log_softmax_backward}}) {
    rows.push_back(UNDEFINED(op.name, op.run(none, x, 0)));
    rows.push_back(UNDEFINED(op.name, op.run(x, none, 0)));
    rows.push_back(BAD_INPUT(op.name, op.run(x, y, 0), ShapeError, "gy is [2, 3] f32", "[4]"));
    rows.push_back(BAD_INPUT(op.name, op.run(x.to(kHalf), x, 0), DTypeError, "gy is [2, 3] f16", "y is [2, 3] f32"));
    rows.push_back(BAD_INPUT(op.name, op.run(x, x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"));
    rows.push_back(BAD_INPUT(op.name, op.run(n, x, 0), DTypeError, "gy is [2, 3] i64", ".to(kFloat)"));
    rows.push_back(BAD_INPUT(op.name, op.run(x, n, 0), DTypeError, "y is [2, 3] i64", ".to(kFloat)"));
    rows.push_back(ON_TWO_DEVICES(op.name, op.run(x, far, 0)));
  }
  return rows;
}

TEST(SoftmaxErrors, BadInputIsRefused) { expect_refused(softmax_bad_input()); }

}  // namespace tandem::testing
