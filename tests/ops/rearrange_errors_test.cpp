// Splits, joins, rearrangements and diagonals reject invalid sizes, dimensions and indices.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

constexpr int64_t kMuch = int64_t{1} << 40;

BadInputs splits() {
  const Tensor none, x = ones({4, 3}), number = scalar_tensor(1), row = ones({6});
  return {
      UNDEFINED("split", split(none, 1)),
      UNDEFINED("split", split(none, {1, 1})),
      BAD_INPUT("split", split(number, 1), ShapeError, "0-dim", "unsqueeze(0)"),
      BAD_INPUT("split", split(x, 1, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("split", split(x, 0), ShapeError, "dimension 0", "[4, 3]", "at least 1"),
      BAD_INPUT("split", split(x, -1), ShapeError, "parts of -1", "at least 1"),
      BAD_INPUT("split", split(x, {1, 2}), ShapeError, "[1, 2]", "add up to 3", "4 entries"),
      BAD_INPUT("split", split(x, {5, -1}), ShapeError, "-1", "[5, -1]", "negative"),
      BAD_INPUT("split", split(x, {INT64_MAX, INT64_MAX}), ShapeError, "over 2^63", "4 entries"),
      BAD_INPUT("split", split(expand(ones({1}), {kMuch}), 1), ShapeError, "1099511627776 tensors", "larger parts"),
      UNDEFINED("split_with_sizes", split_with_sizes(none, {1})),
      BAD_INPUT("split_with_sizes", split_with_sizes(x, {1, 2}), ShapeError, "[1, 2]", "add up to 3", "4 entries"),
      UNDEFINED("tensor_split", tensor_split(none, 2)),
      UNDEFINED("tensor_split", tensor_split(none, {1, 2})),
      UNDEFINED("tensor_split", tensor_split(x, none)),
      BAD_INPUT("tensor_split", tensor_split(number, 2), ShapeError, "0-dim"),
      BAD_INPUT("tensor_split", tensor_split(x, 0), ShapeError, "[4, 3]", "0 sections", "at least 1"),
      BAD_INPUT("tensor_split", tensor_split(x, kMuch), ShapeError, "1099511627776 tensors", "larger parts"),
      BAD_INPUT("tensor_split", tensor_split(x, {1, 2}, 2), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("tensor_split", tensor_split(x, x), DTypeError, "[4, 3] f32", "i64", "rank 0 or 1"),
      UNDEFINED("hsplit", hsplit(none, 2)),
      UNDEFINED("hsplit", hsplit(none, {1, 2})),
      BAD_INPUT("hsplit", hsplit(number, 1), ShapeError, "[] f32", "rank 1"),
      BAD_INPUT("hsplit", hsplit(x, 2), ShapeError, "2 sections", "dimension 1", "[4, 3]", "tensor_split()"),
      BAD_INPUT("hsplit", hsplit(row, 0), ShapeError, "0 sections", "dimension 0", "[6]"),
      UNDEFINED("vsplit", vsplit(none, 2)),
      BAD_INPUT("vsplit", vsplit(row, 2), ShapeError, "[6] f32", "rank 2"),
      BAD_INPUT("vsplit", vsplit(x, 3), ShapeError, "3 sections", "dimension 0", "[4, 3]"),
      UNDEFINED("dsplit", dsplit(none, 2)),
      BAD_INPUT("dsplit", dsplit(x, 3), ShapeError, "[4, 3] f32", "rank 3"),
      UNDEFINED("unbind", unbind(none)),
      BAD_INPUT("unbind", unbind(number), ShapeError, "0-dim"),
      BAD_INPUT("unbind", unbind(x, -3), IndexError, "dimension -3", "rank 2", "[-2, 1]"),
      BAD_INPUT("unbind", unbind(expand(ones({1}), {kMuch})), ShapeError, "1099511627776 tensors"),
  };
}

BadInputs joins() {
  const Tensor none, x = ones({2, 3}), y = ones({4}), far = on_another_device({2, 3}), cube = ones({1, 2, 3});
  return {
      BAD_INPUT("concat", concat({}), StateError, "empty"),
      BAD_INPUT("concat", concat({none, none}), StateError, "empty"),
      BAD_INPUT("concatenate", concatenate({none}), StateError, "empty"),
      BAD_INPUT("concatenate", concatenate({x, y}), ShapeError, "tensor 1 is [4]", "[2, 3]"),
      BAD_INPUT("hstack", hstack({}), StateError, "empty"),
      UNDEFINED("hstack", hstack({x, none})),
      BAD_INPUT("hstack", hstack({x, ones({3, 3})}), ShapeError, "tensor 1 is [3, 3]", "dimension 1"),
      ON_TWO_DEVICES("hstack", hstack({x, far})),
      BAD_INPUT("vstack", vstack({}), StateError, "empty"),
      UNDEFINED("vstack", vstack({none})),
      BAD_INPUT("vstack", vstack({x, y}), ShapeError, "tensor 1 is [1, 4]", "[2, 3]"),
      UNDEFINED("row_stack", row_stack({none})),
      BAD_INPUT("row_stack", row_stack({x, y}), ShapeError, "tensor 1 is [1, 4]", "[2, 3]"),
      BAD_INPUT("dstack", dstack({}), StateError, "empty"),
      UNDEFINED("dstack", dstack({x, none})),
      BAD_INPUT("dstack", dstack({x, y}), ShapeError, "tensor 1 is [1, 4, 1]", "[2, 3, 1]"),
      BAD_INPUT("column_stack", column_stack({}), StateError, "empty"),
      UNDEFINED("column_stack", column_stack({none})),
      BAD_INPUT("column_stack", column_stack({x, y}), ShapeError, "tensor 1 is [4, 1]", "[2, 3]"),
      UNDEFINED("block_diag", block_diag({x, none})),
      BAD_INPUT("block_diag", block_diag({x, cube}), ShapeError, "tensor 1 is [1, 2, 3]", "rank 2"),
      UNDEFINED("atleast_1d", atleast_1d(none)),
      UNDEFINED("atleast_2d", atleast_2d(none)),
      UNDEFINED("atleast_3d", atleast_3d({x, none})),
      UNDEFINED("broadcast_to", broadcast_to(none, {2})),
      BAD_INPUT("broadcast_to", broadcast_to(x, {2, 4}), ShapeError, "[2, 3]", "[2, 4]", "dimension 1"),
      UNDEFINED("broadcast_tensors", broadcast_tensors({x, none})),
      BAD_INPUT("broadcast_tensors", broadcast_tensors({x, y}), ShapeError, "[2, 3]", "[4]"),
      BAD_INPUT("meshgrid", meshgrid({}), StateError, "empty"),
      UNDEFINED("meshgrid", meshgrid({y, none})),
      BAD_INPUT("meshgrid", meshgrid({y, x}), ShapeError, "tensor 1 is [2, 3]", "rank 0 or 1"),
      BAD_INPUT("meshgrid", meshgrid({y, ones({2}, kLong)}), DTypeError, "f32", "i64"),
      BAD_INPUT("meshgrid", meshgrid({y, y}, "yx"), StateError, "\"yx\"", "\"ij\"", "\"xy\""),
      BAD_INPUT("meshgrid", meshgrid(std::vector<Tensor>(13, y)), ShapeError, "13 tensors", "at most 12"),
      BAD_INPUT("cartesian_prod", cartesian_prod({}), StateError, "empty"),
      UNDEFINED("cartesian_prod", cartesian_prod({y, none})),
      BAD_INPUT("cartesian_prod", cartesian_prod({y, x}), ShapeError, "tensor 1 is [2, 3]", "rank 1"),
      UNDEFINED("combinations", combinations(none)),
      BAD_INPUT("combinations", combinations(x), ShapeError, "[2, 3] f32", "rank 1"),
      BAD_INPUT("combinations", combinations(y, -1), StateError, "r = -1", "at least 0"),
      BAD_INPUT("combinations", combinations(y, INT64_MAX, true), ShapeError, "9223372036854775807", "over 2^63"),
  };
}

BadInputs moves() {
  const Tensor none, x = ones({2, 3}), number = scalar_tensor(1), row = ones({3}), big = expand(ones({1}), {kMuch});
  const Tensor twos = tensor({2, 2, 2}), far = on_another_device({2, 3});
  return {
      UNDEFINED("flip", flip(none, {0})),
      BAD_INPUT("flip", flip(x, {2}), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("flip", flip(x, {0, -2}), ShapeError, "dimension 0", "twice", "[0, -2]"),
      UNDEFINED("fliplr", fliplr(none)),
      BAD_INPUT("fliplr", fliplr(row), ShapeError, "[3] f32", "rank 2"),
      UNDEFINED("flipud", flipud(none)),
      BAD_INPUT("flipud", flipud(number), ShapeError, "[] f32", "rank 1"),
      UNDEFINED("roll", roll(none, 1)),
      BAD_INPUT("roll", roll(x, {1, 2}), ShapeError, "[1, 2]", "without dims"),
      BAD_INPUT("roll", roll(x, {1, 2}, {0}), ShapeError, "[1, 2]", "[0]"),
      BAD_INPUT("roll", roll(x, 1, 2), IndexError, "dimension 2", "rank 2"),
      UNDEFINED("rot90", rot90(none)),
      BAD_INPUT("rot90", rot90(row), ShapeError, "[0, 1]", "[3] f32"),
      BAD_INPUT("rot90", rot90(x, 1, {0}), ShapeError, "dims are [0]"),
      BAD_INPUT("rot90", rot90(x, 1, {0, -2}), ShapeError, "[0, -2]", "different"),
      UNDEFINED("repeat", repeat(none, {2})),
      BAD_INPUT("repeat", repeat(x, {2}), ShapeError, "[2]", "[2, 3] f32", "each dimension"),
      BAD_INPUT("repeat", repeat(x, {2, -1}), ShapeError, "-1", "[2, -1]", "negative"),
      BAD_INPUT("repeat", repeat(row, {INT64_MAX}), ShapeError, "3 entries", "exceed int64"),
      UNDEFINED("tile", tile(none, {2})),
      BAD_INPUT("tile", tile(x, {2, -1}), ShapeError, "-1", "negative"),
      UNDEFINED("repeat_interleave", repeat_interleave(none, 2)),
      UNDEFINED("repeat_interleave", repeat_interleave(x, none)),
      UNDEFINED("repeat_interleave", repeat_interleave(none)),
      BAD_INPUT("repeat_interleave", repeat_interleave(x, -1), StateError, "-1", "negative"),
      BAD_INPUT("repeat_interleave", repeat_interleave(x, 2, 2), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("repeat_interleave", repeat_interleave(x, INT64_MAX, 0), ShapeError, "2 entries", "exceed int64"),
      BAD_INPUT("repeat_interleave", repeat_interleave(x, twos, 0), ShapeError, "3 numbers", "[2, 3]", "2 entries"),
      BAD_INPUT("repeat_interleave", repeat_interleave(x, x, 0), DTypeError, "[2, 3] f32", ".to(kLong)"),
      BAD_INPUT("repeat_interleave", repeat_interleave(tensor({1, -1})), StateError, "repeats[1] = -1"),
      BAD_INPUT("repeat_interleave", repeat_interleave(ones({2, 2}, kLong)), ShapeError, "[2, 2] i64", "rank 1"),
      BAD_INPUT("repeat_interleave", repeat_interleave(tensor({INT64_MAX, INT64_MAX})), ShapeError, "over 2^63"),
      UNDEFINED("movedim", movedim(none, 0, 1)),
      BAD_INPUT("movedim", movedim(x, 0, 2), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("movedim", movedim(x, {0, 1}, {0}), ShapeError, "[0, 1]", "[0]"),
      BAD_INPUT("movedim", movedim(x, {0, 0}, {0, 1}), ShapeError, "twice", "[0, 0]"),
      UNDEFINED("moveaxis", moveaxis(none, 0, 1)),
      BAD_INPUT("moveaxis", moveaxis(x, 0, 2), IndexError, "dimension 2", "rank 2"),
      UNDEFINED("swapaxes", swapaxes(none, 0, 1)),
      BAD_INPUT("swapaxes", swapaxes(x, 0, 2), IndexError, "dimension 2", "rank 2"),
      UNDEFINED("swapdims", swapdims(none, 0, 1)),
      BAD_INPUT("swapdims", swapdims(x, 0, 2), IndexError, "dimension 2", "rank 2"),
      UNDEFINED("unflatten", unflatten(none, 0, {1})),
      BAD_INPUT("unflatten", unflatten(number, 0, {1}), ShapeError, "[]", "rank 1"),
      BAD_INPUT("unflatten", unflatten(x, 1, {2, 2}), ShapeError, "dimension 1", "[2, 3]", "[2, 2]", "must be 3"),
      BAD_INPUT("unflatten", unflatten(x, 1, {-1, -1}), ShapeError, "[-1, -1]", "only one"),
      BAD_INPUT("unflatten", unflatten(x, 1, {-1, 2}), ShapeError, "dimension 1", "[-1, 2]"),
      BAD_INPUT("unflatten", unflatten(x, 2, {1}), IndexError, "dimension 2", "rank 2"),
      UNDEFINED("ravel", ravel(none)),
      UNDEFINED("narrow_copy", narrow_copy(none, 0, 0, 1)),
      BAD_INPUT("narrow_copy", narrow_copy(x, 0, 1, 2), IndexError, "2 entries from index 1", "[2, 3]"),
      UNDEFINED("squeeze", squeeze(none, {0, 1})),
      BAD_INPUT("squeeze", squeeze(x, {0, 2}), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("squeeze", squeeze(x, {0, -2}), ShapeError, "twice", "[0, -2]"),
      UNDEFINED("unfold", unfold(none, 0, 1, 1)),
      BAD_INPUT("unfold", unfold(x, 2, 1, 1), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("unfold", unfold(x, 1, 4, 1), ShapeError, "4 entries", "dimension 1", "[2, 3]"),
      BAD_INPUT("unfold", unfold(x, 1, -1, 1), ShapeError, "-1 entries", "dimension 1"),
      BAD_INPUT("unfold", unfold(x, 1, 2, 0), ShapeError, "step = 0", "at least 1"),
      UNDEFINED("select_scatter", select_scatter(none, row, 0, 0)),
      UNDEFINED("select_scatter", select_scatter(x, none, 0, 0)),
      BAD_INPUT("select_scatter", select_scatter(x, row, 0, 2), IndexError, "index 2", "[2, 3]"),
      BAD_INPUT("select_scatter", select_scatter(x, row, 1, 0), ShapeError, "src", "[3]", "[2]"),
      ON_TWO_DEVICES("select_scatter", select_scatter(x, on_another_device({3}), 0, 0)),
      UNDEFINED("slice_scatter", slice_scatter(none, x)),
      UNDEFINED("slice_scatter", slice_scatter(x, none)),
      BAD_INPUT("slice_scatter", slice_scatter(x, row), ShapeError, "src", "[3]", "[2, 3]"),
      BAD_INPUT("slice_scatter", slice_scatter(x, x, 0, {}, {}, 0), IndexError, "step", "at least 1"),
      ON_TWO_DEVICES("slice_scatter", slice_scatter(x, far)),
  };
}

BadInputs diagonals() {
  const Tensor none, x = ones({2, 3}), row = ones({3}), number = scalar_tensor(1), cube = ones({2, 2, 2});
  return {
      UNDEFINED("tril", tril(none)),
      BAD_INPUT("tril", tril(row), ShapeError, "[3] f32", "rank 2"),
      UNDEFINED("triu", triu(none)),
      BAD_INPUT("triu", triu(row), ShapeError, "[3] f32", "rank 2"),
      BAD_INPUT("tril_indices", tril_indices(-1, 2), ShapeError, "[-1, 2]", "at least 0"),
      BAD_INPUT("tril_indices", tril_indices(2, 2, 0, kFloat), DTypeError, "i64 or i32", "f32"),
      BAD_INPUT("triu_indices", triu_indices(2, -1), ShapeError, "[2, -1]", "at least 0"),
      UNDEFINED("diagonal", diagonal(none)),
      BAD_INPUT("diagonal", diagonal(row), ShapeError, "[3] f32", "rank 2"),
      BAD_INPUT("diagonal", diagonal(x, 0, 0, 2), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("diagonal", diagonal(x, 0, 1, -1), ShapeError, "dim1 = 1", "dim2 = -1", "same dimension"),
      UNDEFINED("diag", diag(none)),
      BAD_INPUT("diag", diag(cube), ShapeError, "[2, 2, 2] f32", "rank 1 or 2", "diagonal()"),
      UNDEFINED("diag_embed", diag_embed(none)),
      BAD_INPUT("diag_embed", diag_embed(number), ShapeError, "[] f32", "rank 1"),
      BAD_INPUT("diag_embed", diag_embed(row, 0, 1, 1), ShapeError, "dim1 = 1", "same dimension"),
      BAD_INPUT("diag_embed", diag_embed(row, INT64_MAX), ShapeError, "3 entries", "over 2^63"),
      BAD_INPUT("diag_embed", diag_embed(row, INT64_MIN), ShapeError, "3 entries", "over 2^63"),
      UNDEFINED("diagflat", diagflat(none)),
      BAD_INPUT("diagflat", diagflat(row, INT64_MAX), ShapeError, "3 entries", "over 2^63"),
      UNDEFINED("diagonal_scatter", diagonal_scatter(none, row)),
      UNDEFINED("diagonal_scatter", diagonal_scatter(x, none)),
      BAD_INPUT("diagonal_scatter", diagonal_scatter(x, row), ShapeError, "src", "[3]", "[2]"),
      ON_TWO_DEVICES("diagonal_scatter", diagonal_scatter(x, on_another_device({2}))),
      UNDEFINED("trace", trace(none)),
      BAD_INPUT("trace", trace(row), ShapeError, "[3] f32", "rank 2"),
  };
}

BadInputs changes() {
  const Tensor none, x = ones({2, 3}), row = ones({3}), weight = ones({2, 3}).requires_grad_();
  const Tensor repeated = ones({2, 1}).expand({2, 3}), box = ones({2, 2, 3}), n = ones({2, 2}, kByte);
  return {
      UNDEFINED("tril_", none.tril_()),
      BAD_INPUT("tril_", row.tril_(), ShapeError, "[3] f32", "rank 2"),
      BAD_INPUT("tril_", weight.tril_(), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
      BAD_INPUT("tril_", repeated.tril_(), ShapeError, "expanded", "clone()"),
      UNDEFINED("triu_", none.triu_()),
      BAD_INPUT("triu_", weight.triu_(), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
      UNDEFINED("fill_diagonal_", none.fill_diagonal_(1)),
      BAD_INPUT("fill_diagonal_", row.fill_diagonal_(1), ShapeError, "[3] f32", "rank 2"),
      BAD_INPUT("fill_diagonal_", box.fill_diagonal_(1), ShapeError, "[2, 2, 3] f32", "equal"),
      BAD_INPUT("fill_diagonal_", n.fill_diagonal_(256), StateError, "256", "u8"),
      BAD_INPUT("fill_diagonal_", weight.fill_diagonal_(1), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
      UNDEFINED("squeeze_", none.squeeze_()),
      UNDEFINED("squeeze_", none.squeeze_(0)),
      BAD_INPUT("squeeze_", x.squeeze_(2), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("squeeze_", weight.squeeze_(), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
      UNDEFINED("unsqueeze_", none.unsqueeze_(0)),
      BAD_INPUT("unsqueeze_", x.unsqueeze_(3), IndexError, "dimension 3", "[-3, 2]"),
      BAD_INPUT("unsqueeze_", weight.unsqueeze_(0), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
      UNDEFINED("transpose_", none.transpose_(0, 1)),
      BAD_INPUT("transpose_", x.transpose_(0, 2), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("transpose_", weight.transpose_(0, 1), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
      UNDEFINED("swapaxes_", none.swapaxes_(0, 1)),
      BAD_INPUT("swapaxes_", x.swapaxes_(0, 2), IndexError, "dimension 2", "rank 2"),
      UNDEFINED("swapdims_", none.swapdims_(0, 1)),
      BAD_INPUT("swapdims_", x.swapdims_(0, 2), IndexError, "dimension 2", "rank 2"),
      UNDEFINED("t_", none.t_()),
      BAD_INPUT("t_", box.t_(), ShapeError, "rank 3", "[2, 2, 3]", "permute()"),
      BAD_INPUT("t_", weight.t_(), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
  };
}

}  // namespace

BadInputs rearrange_bad_input() {
  BadInputs rows = splits();
  for (const BadInputs& more : {joins(), moves(), diagonals(), changes()})
    rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

TEST(RearrangeErrors, BadInputIsRefused) { expect_refused(rearrange_bad_input()); }

}  // namespace tandem::testing
