// Index ops reject indices of wrong dtype, rank or size, and out of range.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

BadInputs index_bad_input() {
  const Tensor none, x = ones({4, 3}), src = ones({2, 3}), number = scalar_tensor(1);
  const Tensor index = zeros({2, 3}, kLong), rows = tensor({0, 1}), outside = full({2, 3}, 4, kLong);
  const Tensor far_index = on_another_device({2, 3}, kLong), far_rows = on_another_device({2}, kLong);
  const Tensor far_src = on_another_device({2, 3}), repeated = ones({1, 3}).expand({4, 3});
  const Tensor weight = ones({4, 3}).requires_grad_(), src_f64 = ones({2, 3}, kDouble);
  return {
      BAD_INPUT("index_add", index_add(ones({4, 3}, kLong), 0, rows, ones({2, 3}, kLong), 0.5), DTypeError,
                "alpha = 0.5", "[4, 3] i64"),
      BAD_INPUT("index_add_", index_add_(ones({4, 3}, kLong), 0, rows, ones({2, 3}, kLong), 0.5), DTypeError,
                "alpha = 0.5", "[4, 3] i64"),
      UNDEFINED("embedding", embedding(none, rows)),
      UNDEFINED("embedding", embedding(x, none)),
      BAD_INPUT("embedding", embedding(ones({5}), rows), ShapeError, "weight is [5] f32", "[entries, features]"),
      BAD_INPUT("embedding", embedding(x, x), DTypeError, "indices is [4, 3] f32", "i64", ".to(kLong)"),
      BAD_INPUT("embedding", embedding(x, rows.to(kShort)), DTypeError, "[2] i16", "i64", ".to(kLong)"),
      BAD_INPUT("embedding", embedding(x, rows, 4), IndexError, "padding_idx = 4", "[4, 3] f32", "4 entries"),
      BAD_INPUT("embedding", embedding(x, rows, -2), IndexError, "padding_idx = -2", "-1 means none"),
      BAD_INPUT("embedding", embedding(x, tensor({9})), IndexError, "index 9", "size 4", "at most 3"),
      BAD_INPUT("embedding", embedding(x, tensor({-1})), IndexError, "index -1", "size 4", "start at 0"),
      ON_TWO_DEVICES("embedding", embedding(x, far_rows)),
      UNDEFINED("embedding_renorm_", embedding_renorm_(none, rows, 1, 2)),
      UNDEFINED("embedding_renorm_", embedding_renorm_(x, none, 1, 2)),
      BAD_INPUT("embedding_renorm_", embedding_renorm_(ones({5}), rows, 1, 2), ShapeError, "weight is [5] f32"),
      BAD_INPUT("embedding_renorm_", embedding_renorm_(x, x, 1, 2), DTypeError, "indices is [4, 3] f32", ".to(kLong)"),
      BAD_INPUT("embedding_renorm_", embedding_renorm_(x, rows, -1, 2), StateError, "-1"),

      UNDEFINED("gather", gather(none, 0, index)),
      UNDEFINED("gather", gather(x, 0, none)),
      BAD_INPUT("gather", gather(x, 2, index), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("gather", gather(x, 0, src), DTypeError, "index is [2, 3] f32", "i64", ".to(kLong)"),
      BAD_INPUT("gather", gather(x, 0, rows), ShapeError, "index is [2] i64", "x is [4, 3] f32", "same rank"),
      BAD_INPUT("gather", gather(x, 0, zeros({2, 4}, kLong)), ShapeError, "[2, 4] i64", "[4, 3] f32", "outside dim"),
      BAD_INPUT("gather", gather(x, 0, outside), IndexError, "index 4", "dimension 0", "size 4", "at most 3"),
      BAD_INPUT("gather", gather(x, 1, full({4, 1}, -1, kLong)), IndexError, "index -1", "size 3", "start at 0"),
      ON_TWO_DEVICES("gather", gather(x, 0, far_index)),
      UNDEFINED("gather_backward", gather_backward(none, {4, 3}, 0, index)),
      UNDEFINED("gather_backward", gather_backward(src, {4, 3}, 0, none)),
      BAD_INPUT("gather_backward", gather_backward(x, {4, 3}, 0, index), ShapeError, "gy is [4, 3] f32", "[2, 3]"),
      BAD_INPUT("gather_backward", gather_backward(src, {4, 3}, 2, index), IndexError, "dimension 2", "[-2, 1]"),
      BAD_INPUT("gather_backward", gather_backward(src, {4, 2}, 0, index), ShapeError, "index is [2, 3] i64", "[4, 2]"),
      BAD_INPUT("gather_backward", gather_backward(src, {4, 3}, 0, src), DTypeError, "[2, 3] f32", ".to(kLong)"),

      UNDEFINED("index_select", index_select(none, 0, rows)),
      UNDEFINED("index_select", index_select(x, 0, none)),
      BAD_INPUT("index_select", index_select(x, 2, rows), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("index_select", index_select(x, 0, index), ShapeError, "[2, 3] i64", "rank 1", "flatten()"),
      BAD_INPUT("index_select", index_select(x, 0, rows.to(kFloat)), DTypeError, "[2] f32", ".to(kLong)"),
      BAD_INPUT("index_select", index_select(x, 0, tensor({4})), IndexError, "index 4", "size 4", "at most 3"),
      BAD_INPUT("index_select", index_select(number, 0, rows), ShapeError, "[2] i64", "rank 0"),
      ON_TWO_DEVICES("index_select", index_select(x, 0, far_rows)),
      UNDEFINED("index_select_backward", index_select_backward(none, {4, 3}, 0, rows)),
      UNDEFINED("index_select_backward", index_select_backward(src, {4, 3}, 0, none)),
      BAD_INPUT("index_select_backward", index_select_backward(x, {4, 3}, 0, rows), ShapeError, "gy is [4, 3] f32",
                "[2, 3]"),
      BAD_INPUT("index_select_backward", index_select_backward(src, {4, 3}, 2, rows), IndexError, "dimension 2"),
      BAD_INPUT("index_select_backward", index_select_backward(src, {4, 3}, 0, x), DTypeError, "[4, 3] f32",
                ".to(kLong)"),

      UNDEFINED("scatter_add", scatter_add(none, 0, index, src)),
      UNDEFINED("scatter_add", scatter_add(x, 0, none, src)),
      UNDEFINED("scatter_add", scatter_add(x, 0, index, none)),
      BAD_INPUT("scatter_add", scatter_add(x, 2, index, src), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("scatter_add", scatter_add(x, 0, src, src), DTypeError, "index is [2, 3] f32", ".to(kLong)"),
      BAD_INPUT("scatter_add", scatter_add(x, 0, rows, src), ShapeError, "[2] i64", "x is [4, 3] f32", "same rank"),
      BAD_INPUT("scatter_add", scatter_add(x, 0, index, ones({1, 3})), ShapeError, "[2, 3] i64", "src is [1, 3] f32"),
      BAD_INPUT("scatter_add", scatter_add(x, 0, index, src_f64), DTypeError, "x is [4, 3] f32", "src is [2, 3] f64",
                ".to()"),
      BAD_INPUT("scatter_add", scatter_add(x, 0, outside, src), IndexError, "index 4", "size 4", "at most 3"),
      ON_TWO_DEVICES("scatter_add", scatter_add(x, 0, far_index, src)),
      ON_TWO_DEVICES("scatter_add", scatter_add(x, 0, index, far_src)),

      UNDEFINED("scatter_add_", none.scatter_add_(0, index, src)),
      UNDEFINED("scatter_add_", x.scatter_add_(0, none, src)),
      UNDEFINED("scatter_add_", x.scatter_add_(0, index, none)),
      BAD_INPUT("scatter_add_", x.scatter_add_(2, index, src), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("scatter_add_", x.scatter_add_(0, src, src), DTypeError, "index is [2, 3] f32", ".to(kLong)"),
      BAD_INPUT("scatter_add_", x.scatter_add_(0, index, ones({1, 3})), ShapeError, "[2, 3] i64", "src is [1, 3] f32"),
      BAD_INPUT("scatter_add_", x.scatter_add_(0, index, src_f64), DTypeError, "self is [4, 3] f32",
                "src is [2, 3] f64", ".to()"),
      BAD_INPUT("scatter_add_", x.scatter_add_(0, outside, src), IndexError, "index 4", "size 4", "at most 3"),
      BAD_INPUT("scatter_add_", repeated.scatter_add_(0, index, src), ShapeError, "[4, 3]", "expanded", "clone()"),
      BAD_INPUT("scatter_add_", weight.scatter_add_(0, index, src), AutogradError, "leaf", "[4, 3] f32", "NoGradGuard"),

      UNDEFINED("index_add", index_add(none, 0, rows, src)),
      UNDEFINED("index_add", index_add(x, 0, none, src)),
      UNDEFINED("index_add", index_add(x, 0, rows, none)),
      BAD_INPUT("index_add", index_add(x, 2, rows, src), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("index_add", index_add(x, 0, src, src), DTypeError, "index is [2, 3] f32", ".to(kLong)"),
      BAD_INPUT("index_add", index_add(x, 0, index, src), ShapeError, "[2, 3] i64", "rank 1", "flatten()"),
      BAD_INPUT("index_add", index_add(x, 0, rows, x), ShapeError, "src is [4, 3] f32", "[2, 3]"),
      BAD_INPUT("index_add", index_add(x, 0, rows, src_f64), DTypeError, "x is [4, 3] f32", "src is [2, 3] f64"),
      BAD_INPUT("index_add", index_add(x, 0, tensor({0, 4}), src), IndexError, "index 4", "size 4", "at most 3"),
      ON_TWO_DEVICES("index_add", index_add(x, 0, far_rows, src)),
      ON_TWO_DEVICES("index_add", index_add(x, 0, rows, far_src)),

      UNDEFINED("index_add_", none.index_add_(0, rows, src)),
      UNDEFINED("index_add_", x.index_add_(0, none, src)),
      UNDEFINED("index_add_", x.index_add_(0, rows, none)),
      BAD_INPUT("index_add_", x.index_add_(2, rows, src), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("index_add_", x.index_add_(0, index, src), ShapeError, "[2, 3] i64", "rank 1", "flatten()"),
      BAD_INPUT("index_add_", x.index_add_(0, rows, x), ShapeError, "src is [4, 3] f32", "[2, 3]"),
      BAD_INPUT("index_add_", x.index_add_(0, rows, src_f64), DTypeError, "self is [4, 3] f32", "src is [2, 3] f64"),
      BAD_INPUT("index_add_", x.index_add_(0, tensor({0, 4}), src), IndexError, "index 4", "size 4", "at most 3"),
      BAD_INPUT("index_add_", repeated.index_add_(0, rows, src), ShapeError, "[4, 3]", "expanded", "clone()"),
      BAD_INPUT("index_add_", weight.index_add_(0, rows, src), AutogradError, "leaf", "[4, 3] f32", "NoGradGuard"),
  };
}

TEST(IndexErrors, BadInputIsRefused) { expect_refused(index_bad_input()); }

}  // namespace tandem::testing
