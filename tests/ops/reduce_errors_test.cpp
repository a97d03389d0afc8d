// Reductions reject missing and repeated dimensions, integer dtypes where fractions are needed, and empty tensors where
// an extremum is required.
#include <cmath>

#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

BadInputs reduce_bad_input() {
  const Tensor none, x = ones({2, 3}), n = ones({2, 3}, kLong), b = ones({2, 3}, kBool), no_rows = ones({0, 3});
  const Tensor number = scalar_tensor(1);
  return {
      BAD_INPUT("norm", norm(x, 2, kLong), DTypeError, "[2, 3] f32", "i64", "floating dtype"),
      BAD_INPUT("norm", norm(x, 3, kInt), DTypeError, "[2, 3] f32", "i32", "floating dtype"),
      BAD_INPUT("argmax", argmax(number, 3), IndexError, "dimension 3", "rank 0", "[-1, 0]"),
      BAD_INPUT("argmin", argmin(number, -2), IndexError, "dimension -2", "rank 0", "[-1, 0]"),
      UNDEFINED("sum", sum(none)),
      UNDEFINED("sum", sum(none, {0})),
      BAD_INPUT("sum", sum(x, {2}), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("sum", sum(x, {0, -2}), IndexError, "dimension 0", "twice", "[0, -2]"),

      UNDEFINED("cumsum", cumsum(none, 0)),
      BAD_INPUT("cumsum", cumsum(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),

      UNDEFINED("mean", mean(none)),
      UNDEFINED("mean", mean(none, {0})),
      BAD_INPUT("mean", mean(x, {-3}), IndexError, "dimension -3", "rank 2", "[-2, 1]"),
      BAD_INPUT("mean", mean(x, {1, 1}), IndexError, "dimension 1", "twice", "[1, 1]"),
      BAD_INPUT("mean", mean(n), DTypeError, "[2, 3] i64", "floating", ".to(kFloat)"),
      BAD_INPUT("mean", mean(b, {0}), DTypeError, "[2, 3] bool", "floating", ".to(kFloat)"),
      BAD_INPUT("mean", mean(x, kLong), DTypeError, "[2, 3] f32", "floating"),

      UNDEFINED("var", var(none)),
      UNDEFINED("var", var(none, true)),
      UNDEFINED("var", var(none, {0})),
      BAD_INPUT("var", var(x, {2}), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("var", var(x, {0, 0}), IndexError, "dimension 0", "twice", "[0, 0]"),
      BAD_INPUT("var", var(n), DTypeError, "[2, 3] i64", "floating", ".to(kFloat)"),
      BAD_INPUT("var", var(n, false), DTypeError, "[2, 3] i64", "floating", ".to(kFloat)"),

      UNDEFINED("norm", norm(none)),
      UNDEFINED("norm", norm(none, 3)),
      BAD_INPUT("norm", norm(x, 2, {2}), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("norm", norm(x, 3, {5}), IndexError, "dimension 5", "rank 2", "[-2, 1]"),
      BAD_INPUT("norm", norm(x, 1, {0, 0}), IndexError, "dimension 0", "twice", "[0, 0]"),
      BAD_INPUT("norm", norm(n), DTypeError, "[2, 3] i64", "floating", ".to(kFloat)"),
      BAD_INPUT("norm", norm(x, std::nan("")), StateError, "ord = nan"),

      UNDEFINED("max", max(none)),
      UNDEFINED("max", max(none, 0)),
      BAD_INPUT("max", max(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("max", max(number, 1), IndexError, "dimension 1", "rank 0", "[-1, 0]"),
      BAD_INPUT("max", max(no_rows), ShapeError, "[0, 3]", "no elements"),
      BAD_INPUT("max", max(no_rows, 0), ShapeError, "dimension 0", "[0, 3]", "no elements"),

      UNDEFINED("min", min(none)),
      UNDEFINED("min", min(none, 0)),
      BAD_INPUT("min", min(x, -3), IndexError, "dimension -3", "rank 2", "[-2, 1]"),
      BAD_INPUT("min", min(no_rows), ShapeError, "[0, 3]", "no elements"),
      BAD_INPUT("min", min(no_rows, 0), ShapeError, "dimension 0", "[0, 3]", "no elements"),

      UNDEFINED("argmax", argmax(none)),
      BAD_INPUT("argmax", argmax(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("argmax", argmax(no_rows), ShapeError, "[0, 3]", "no elements"),
      BAD_INPUT("argmax", argmax(no_rows, 0), ShapeError, "[0, 3]", "no elements"),

      UNDEFINED("argmin", argmin(none)),
      BAD_INPUT("argmin", argmin(x, -3), IndexError, "dimension -3", "rank 2", "[-2, 1]"),
      BAD_INPUT("argmin", argmin(no_rows), ShapeError, "[0, 3]", "no elements"),

      UNDEFINED("any", any(none)),
      UNDEFINED("all", all(none)),
  };
}

TEST(ReduceErrors, BadInputIsRefused) { expect_refused(reduce_bad_input()); }

}  // namespace tandem::testing
