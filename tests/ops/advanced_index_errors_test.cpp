// Ops on masks, index tensors and scattered places reject indices, masks and values of wrong dtype, size or range.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/indexing.h"

namespace tandem::testing {
namespace {

BadInputs advanced_index_rows() {
  const Tensor none, x = ones({4, 3}), rows = tensor({0, 1}), outside = tensor({0, 4}), mask = ones({4, 3}, kBool);
  const Tensor values = ones({2, 3}), f64 = ones({2, 3}, kDouble), repeated = ones({1, 3}).expand({4, 3});
  const Tensor far_rows = on_another_device({2}, kLong), far_values = on_another_device({2, 3});
  const Tensor far_mask = on_another_device({4, 3}, kBool), weight = ones({4, 3}).requires_grad_();
  const Tensor number = scalar_tensor(1), empty_x = zeros({0}), two = ones({2});
  return {
      UNDEFINED("index", index(none, {rows})),
      BAD_INPUT("index", index(x, {}), IndexError, "no tensor", "[4, 3] f32"),
      BAD_INPUT("index", index(x, {std::nullopt}), IndexError, "no tensor", "[4, 3] f32"),
      BAD_INPUT("index", index(x, {rows, rows, rows}), IndexError, "3 indices", "rank 2", "[4, 3]"),
      BAD_INPUT("index", index(x, {x}), DTypeError, "[4, 3] f32", "i64", ".to(kLong)"),
      BAD_INPUT("index", index(x, {rows.to(kByte)}), DTypeError, "[2] u8", ".to(kBool)"),
      BAD_INPUT("index", index(x, {ones({3}, kBool)}), IndexError, "mask [3] bool", "dimension 0", "[4, 3] f32"),
      BAD_INPUT("index", index(x, {rows, mask}), IndexError, "mask [4, 3] bool", "dimension 1", "[4, 3] f32"),
      BAD_INPUT("index", index(x, {tensor(true)}), IndexError, "[] bool", "rank 0", "unsqueeze(0)"),
      BAD_INPUT("index", index(x, {rows, tensor({0, 1, 2})}), ShapeError, "[2]", "[3]"),
      BAD_INPUT("index", index(x, {outside}), IndexError, "index 4", "dimension 0", "size 4", "from -4 to 3"),
      BAD_INPUT("index", index(x, {rows, tensor({-4, 0})}), IndexError, "index -4", "dimension 1", "size 3"),
      BAD_INPUT("index", x.index({rows.to(kFloat)}), DTypeError, "[2] f32", ".to(kLong)"),
      BAD_INPUT("index", x.index({mask, 0}), IndexError, "3 indices", "rank 2", "[4, 3]"),
      BAD_INPUT("index", x.index({none}), StateError, "undefined tensor", "give it a value first"),
      ON_TWO_DEVICES("index", index(x, {far_rows})),

      UNDEFINED("index_put", index_put(none, {rows}, values)),
      UNDEFINED("index_put", index_put(x, {rows}, none)),
      UNDEFINED("index_put", index_put(none, {rows}, 1)),
      BAD_INPUT("index_put", index_put(x, {}, values), IndexError, "no tensor", "[4, 3] f32"),
      BAD_INPUT("index_put", index_put(x, {rows}, f64), DTypeError, "x is [4, 3] f32", "values is [2, 3] f64"),
      BAD_INPUT("index_put", index_put(x, {rows}, ones({4})), ShapeError, "values is [4] f32", "select [2, 3]",
                "[4, 3] f32"),
      BAD_INPUT("index_put", index_put(x, {rows}, ones({1, 2, 3})), ShapeError, "values is [1, 2, 3] f32", "[2, 3]"),
      BAD_INPUT("index_put", index_put(x, {outside}, values), IndexError, "index 4", "size 4"),
      BAD_INPUT("index_put", index_put(rows, {rows}, 1e30), StateError, "1e+30", "i64"),
      ON_TWO_DEVICES("index_put", index_put(x, {far_rows}, values)),
      ON_TWO_DEVICES("index_put", index_put(x, {rows}, far_values)),
      UNDEFINED("index_put_", index_put_(none, {rows}, values)),
      UNDEFINED("index_put_", index_put_(x, {rows}, none)),
      UNDEFINED("index_put_", index_put_(none, {rows}, 1)),
      BAD_INPUT("index_put_", index_put_(x, {rows}, f64), DTypeError, "self is [4, 3] f32", "values is [2, 3] f64"),
      BAD_INPUT("index_put_", index_put_(x, {rows}, ones({4})), ShapeError, "values is [4] f32", "select [2, 3]"),
      BAD_INPUT("index_put_", x.index_put_({rows, 0}, ones({4})), ShapeError, "values is [4] f32", "select [2]"),
      BAD_INPUT("index_put_", x.index_put_({outside}, values, true), IndexError, "index 4", "size 4"),
      BAD_INPUT("index_put_", x.index_put_({mask, 0}, 1), IndexError, "3 indices", "rank 2"),
      BAD_INPUT("index_put_", index_put_(repeated, {rows}, values), ShapeError, "[4, 3]", "expanded", "clone()"),
      BAD_INPUT("index_put_", index_put_(repeated, {mask}, 1), ShapeError, "[4, 3]", "expanded", "clone()"),
      BAD_INPUT("index_put_", index_put_(weight, {rows}, values), AutogradError, "leaf", "[4, 3] f32", "NoGradGuard"),
      ON_TWO_DEVICES("index_put_", index_put_(x, {far_rows}, values)),

      UNDEFINED("take", take(none, rows)),
      UNDEFINED("take", take(x, none)),
      BAD_INPUT("take", take(x, values), DTypeError, "index is [2, 3] f32", ".to(kLong)"),
      BAD_INPUT("take", take(x, tensor({12})), IndexError, "index 12", "size 12", "from -12 to 11"),
      BAD_INPUT("take", take(empty_x, rows), IndexError, "index is [2] i64", "x [0] f32", "no elements"),
      ON_TWO_DEVICES("take", take(x, far_rows)),
      UNDEFINED("put", put(none, rows, two)),
      UNDEFINED("put", put(x, none, two)),
      UNDEFINED("put", put(x, rows, none)),
      BAD_INPUT("put", put(x, two, two), DTypeError, "index is [2] f32", ".to(kLong)"),
      BAD_INPUT("put", put(x, rows, values), ShapeError, "source is [2, 3] f32", "index is [2] i64", "same number"),
      BAD_INPUT("put", put(x, rows, two.to(kDouble)), DTypeError, "x is [4, 3] f32", "source is [2] f64"),
      BAD_INPUT("put", put(x, tensor({0, -13}), two), IndexError, "index -13", "size 12"),
      UNDEFINED("put_", none.put_(rows, two)),
      UNDEFINED("put_", x.put_(none, two)),
      UNDEFINED("put_", x.put_(rows, none)),
      BAD_INPUT("put_", x.put_(rows, values), ShapeError, "source is [2, 3] f32", "index is [2] i64"),
      BAD_INPUT("put_", x.put_(tensor({0, 12}), two), IndexError, "index 12", "size 12"),
      BAD_INPUT("put_", x.put_(rows, rows), DTypeError, "self is [4, 3] f32", "source is [2] i64"),
      BAD_INPUT("put_", repeated.put_(rows, two), ShapeError, "[4, 3]", "expanded", "clone()"),
      BAD_INPUT("put_", weight.put_(rows, two), AutogradError, "leaf", "[4, 3] f32", "NoGradGuard"),

      UNDEFINED("take_along_dim", take_along_dim(none, rows)),
      UNDEFINED("take_along_dim", take_along_dim(x, none)),
      BAD_INPUT("take_along_dim", take_along_dim(x, x, 0), DTypeError, "indices is [4, 3] f32", ".to(kLong)"),
      BAD_INPUT("take_along_dim", take_along_dim(x, rows, 0), ShapeError, "x is [4, 3] f32", "indices is [2] i64"),
      BAD_INPUT("take_along_dim", take_along_dim(x, zeros({2, 2}, kLong), 0), ShapeError, "[1, 3]", "[1, 2]"),
      BAD_INPUT("take_along_dim", take_along_dim(x, zeros({1, 1}, kLong), 2), IndexError, "dimension 2", "[-2, 1]"),
      BAD_INPUT("take_along_dim", take_along_dim(x, full({1, 1}, 4, kLong), 0), IndexError, "index 4", "size 4"),

      UNDEFINED("nonzero", nonzero(none)),
      UNDEFINED("argwhere", argwhere(none)),
      UNDEFINED("where", where(none)),
      UNDEFINED("where", where(none, 1, 2)),
      BAD_INPUT("where", where(x, 1, 2), DTypeError, "must be bool", "f32"),
      UNDEFINED("one_hot", one_hot(none)),
      BAD_INPUT("one_hot", one_hot(x), DTypeError, "x is [4, 3] f32", ".to(kLong)"),
      BAD_INPUT("one_hot", one_hot(rows, 0), StateError, "num_classes = 0", "at least 1"),
      BAD_INPUT("one_hot", one_hot(rows, -2), StateError, "num_classes = -2", "-1"),
      BAD_INPUT("one_hot", one_hot(zeros({0}, kLong)), ShapeError, "x is [0] i64", "num_classes"),
      BAD_INPUT("one_hot", one_hot(outside, 4), IndexError, "index 4", "size 4"),
      BAD_INPUT("one_hot", one_hot(tensor({-1, -3})), IndexError, "index -1"),
  };
}

BadInputs masked_rows() {
  const Tensor none, x = ones({4, 3}), mask = ones({4, 3}, kBool), wide = ones({2, 4, 3}, kBool), number = tensor(2.0);
  const Tensor odd = ones({5}, kBool), repeated = ones({1, 3}).expand({4, 3}), source = ones({12});
  const Tensor far_mask = on_another_device({4, 3}, kBool), weight = ones({4, 3}).requires_grad_();
  const Tensor counts = zeros({4, 3}, kLong), bytes = zeros({4, 3}, kByte), far_source = on_another_device({12});
  return {
      UNDEFINED("masked_fill", masked_fill(none, mask, 1)),
      UNDEFINED("masked_fill", masked_fill(x, none, 1)),
      UNDEFINED("masked_fill", masked_fill(x, mask, none)),
      BAD_INPUT("masked_fill", masked_fill(x, x, 1), DTypeError, "mask is [4, 3] f32", ".to(kBool)"),
      BAD_INPUT("masked_fill", masked_fill(x, odd, 1), ShapeError, "[4, 3]", "[5]"),
      BAD_INPUT("masked_fill", masked_fill(bytes, mask, 300), StateError, "300", "u8"),
      BAD_INPUT("masked_fill", masked_fill(x, mask, ones({1})), ShapeError, "value is [1] f32", "rank 0"),
      BAD_INPUT("masked_fill", masked_fill(counts, mask, number), DTypeError, "value is [] f32", "[4, 3] i64"),
      ON_TWO_DEVICES("masked_fill", masked_fill(x, far_mask, 1)),
      UNDEFINED("masked_fill_", none.masked_fill_(mask, 1)),
      UNDEFINED("masked_fill_", x.masked_fill_(none, 1)),
      UNDEFINED("masked_fill_", x.masked_fill_(mask, none)),
      BAD_INPUT("masked_fill_", x.masked_fill_(wide, 1), ShapeError, "mask [2, 4, 3] bool", "self [4, 3] f32"),
      BAD_INPUT("masked_fill_", x.masked_fill_(x, 1), DTypeError, "mask is [4, 3] f32"),
      BAD_INPUT("masked_fill_", x.masked_fill_(mask, ones({1})), ShapeError, "value is [1] f32", "rank 0"),
      BAD_INPUT("masked_fill_", bytes.masked_fill_(mask, 256), StateError, "256", "u8"),
      BAD_INPUT("masked_fill_", repeated.masked_fill_(mask, 1), ShapeError, "[4, 3]", "expanded", "clone()"),
      BAD_INPUT("masked_fill_", weight.masked_fill_(mask, 1), AutogradError, "leaf", "[4, 3] f32", "NoGradGuard"),
      ON_TWO_DEVICES("masked_fill_", x.masked_fill_(far_mask, 1)),

      UNDEFINED("masked_select", masked_select(none, mask)),
      UNDEFINED("masked_select", masked_select(x, none)),
      BAD_INPUT("masked_select", masked_select(x, counts), DTypeError, "mask is [4, 3] i64", ".to(kBool)"),
      BAD_INPUT("masked_select", masked_select(x, odd), ShapeError, "[4, 3]", "[5]"),
      ON_TWO_DEVICES("masked_select", masked_select(x, far_mask)),

      UNDEFINED("masked_scatter", masked_scatter(none, mask, source)),
      UNDEFINED("masked_scatter", masked_scatter(x, none, source)),
      UNDEFINED("masked_scatter", masked_scatter(x, mask, none)),
      BAD_INPUT("masked_scatter", masked_scatter(x, x, source), DTypeError, "mask is [4, 3] f32"),
      BAD_INPUT("masked_scatter", masked_scatter(x, mask, counts), DTypeError, "x is [4, 3] f32",
                "source is [4, 3] i64"),
      BAD_INPUT("masked_scatter", masked_scatter(x, wide, source), ShapeError, "source is [12] f32", "24 elements"),
      ON_TWO_DEVICES("masked_scatter", masked_scatter(x, mask, far_source)),
      UNDEFINED("masked_scatter_", none.masked_scatter_(mask, source)),
      UNDEFINED("masked_scatter_", x.masked_scatter_(none, source)),
      UNDEFINED("masked_scatter_", x.masked_scatter_(mask, none)),
      BAD_INPUT("masked_scatter_", x.masked_scatter_(wide, source), ShapeError, "mask [2, 4, 3] bool", "[4, 3] f32"),
      BAD_INPUT("masked_scatter_", x.masked_scatter_(mask, ones({2})), ShapeError, "source is [2] f32", "12 elements"),
      BAD_INPUT("masked_scatter_", x.masked_scatter_(mask, counts), DTypeError, "self is [4, 3] f32", "[4, 3] i64"),
      BAD_INPUT("masked_scatter_", repeated.masked_scatter_(mask, source), ShapeError, "expanded", "clone()"),
      BAD_INPUT("masked_scatter_", weight.masked_scatter_(mask, source), AutogradError, "leaf", "NoGradGuard"),
  };
}

BadInputs scatter_rows() {
  const Tensor none, x = ones({4, 3}), src = ones({2, 3}), f64 = ones({2, 3}, kDouble);
  const Tensor index = zeros({2, 3}, kLong), rows = tensor({0, 1}), outside = full({2, 3}, 4, kLong);
  const Tensor far_index = on_another_device({2, 3}, kLong), far_src = on_another_device({2, 3});
  const Tensor repeated = ones({1, 3}).expand({4, 3}), weight = ones({4, 3}).requires_grad_();
  const Tensor bools = ones({4, 3}, kBool), bytes = zeros({4, 3}, kByte);
  return {
      UNDEFINED("scatter", scatter(none, 0, index, src)),
      UNDEFINED("scatter", scatter(x, 0, none, src)),
      UNDEFINED("scatter", scatter(x, 0, index, none)),
      UNDEFINED("scatter", scatter(none, 0, index, 1)),
      UNDEFINED("scatter", scatter(x, 0, none, 1, "add")),
      UNDEFINED("scatter", scatter(x, 0, index, none, "add")),
      BAD_INPUT("scatter", scatter(x, 2, index, src), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("scatter", scatter(x, 0, src, src), DTypeError, "index is [2, 3] f32", ".to(kLong)"),
      BAD_INPUT("scatter", scatter(x, 0, rows, src), ShapeError, "[2] i64", "x is [4, 3] f32", "same rank"),
      BAD_INPUT("scatter", scatter(x, 0, index, ones({1, 3})), ShapeError, "[2, 3] i64", "src is [1, 3] f32"),
      BAD_INPUT("scatter", scatter(x, 0, index, f64), DTypeError, "x is [4, 3] f32", "src is [2, 3] f64", ".to()"),
      BAD_INPUT("scatter", scatter(x, 0, outside, src), IndexError, "index 4", "size 4", "at most 3"),
      BAD_INPUT("scatter", scatter(x, 0, outside.neg(), 1), IndexError, "index -4", "start at 0"),
      BAD_INPUT("scatter", scatter(x, 0, index, src, "sum"), StateError, "reduce = 'sum'", "add or multiply"),
      BAD_INPUT("scatter", scatter(bytes, 0, index, 256), StateError, "256", "u8"),
      ON_TWO_DEVICES("scatter", scatter(x, 0, far_index, src)),
      ON_TWO_DEVICES("scatter", scatter(x, 0, index, far_src)),
      UNDEFINED("scatter_", none.scatter_(0, index, src)),
      UNDEFINED("scatter_", x.scatter_(0, none, src)),
      UNDEFINED("scatter_", x.scatter_(0, index, none)),
      UNDEFINED("scatter_", x.scatter_(0, none, 1)),
      UNDEFINED("scatter_", x.scatter_(0, index, none, "add")),
      BAD_INPUT("scatter_", x.scatter_(2, index, 1), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("scatter_", x.scatter_(0, index, f64), DTypeError, "self is [4, 3] f32", "src is [2, 3] f64"),
      BAD_INPUT("scatter_", x.scatter_(0, index, f64, "add"), DTypeError, "self is [4, 3] f32", "src is [2, 3] f64"),
      BAD_INPUT("scatter_", x.scatter_(0, index, ones({1, 3})), ShapeError, "[2, 3] i64", "src is [1, 3] f32"),
      BAD_INPUT("scatter_", x.scatter_(0, outside, src), IndexError, "index 4", "size 4"),
      BAD_INPUT("scatter_", x.scatter_(0, outside, 1, "multiply"), IndexError, "index 4", "size 4"),
      BAD_INPUT("scatter_", x.scatter_(0, index, 1, "mean"), StateError, "reduce = 'mean'", "add or multiply"),
      BAD_INPUT("scatter_", repeated.scatter_(0, index, src), ShapeError, "[4, 3]", "expanded", "clone()"),
      BAD_INPUT("scatter_", weight.scatter_(0, index, src), AutogradError, "leaf", "[4, 3] f32", "NoGradGuard"),
      ON_TWO_DEVICES("scatter_", x.scatter_(0, far_index, src)),

      UNDEFINED("scatter_reduce", scatter_reduce(none, 0, index, src, "sum")),
      UNDEFINED("scatter_reduce", scatter_reduce(x, 0, none, src, "sum")),
      UNDEFINED("scatter_reduce", scatter_reduce(x, 0, index, none, "sum")),
      BAD_INPUT("scatter_reduce", scatter_reduce(x, 0, index, src, "max"), StateError, "reduce = 'max'", "sum", "amax"),
      BAD_INPUT("scatter_reduce", scatter_reduce(x, -3, index, src, "sum"), IndexError, "dimension -3", "[-2, 1]"),
      BAD_INPUT("scatter_reduce", scatter_reduce(x, 0, index, f64, "prod"), DTypeError, "x is [4, 3] f32", "f64"),
      BAD_INPUT("scatter_reduce", scatter_reduce(bools, 0, index, bools, "mean"), DTypeError, "mean", "[4, 3] bool"),
      BAD_INPUT("scatter_reduce", scatter_reduce(x, 0, rows, src, "amax"), ShapeError, "[2] i64", "same rank"),
      BAD_INPUT("scatter_reduce", scatter_reduce(x, 0, outside, src, "amin"), IndexError, "index 4", "size 4"),
      ON_TWO_DEVICES("scatter_reduce", scatter_reduce(x, 0, far_index, src, "sum")),
      UNDEFINED("scatter_reduce_", none.scatter_reduce_(0, index, src, "sum")),
      UNDEFINED("scatter_reduce_", x.scatter_reduce_(0, none, src, "sum")),
      UNDEFINED("scatter_reduce_", x.scatter_reduce_(0, index, none, "sum")),
      BAD_INPUT("scatter_reduce_", x.scatter_reduce_(0, index, src, ""), StateError, "reduce = ''", "amin"),
      BAD_INPUT("scatter_reduce_", x.scatter_reduce_(0, index, f64, "sum"), DTypeError, "self is [4, 3] f32", "f64"),
      BAD_INPUT("scatter_reduce_", x.scatter_reduce_(0, outside, src, "mean"), IndexError, "index 4", "size 4"),
      BAD_INPUT("scatter_reduce_", repeated.scatter_reduce_(0, index, src, "sum"), ShapeError, "expanded", "clone()"),
      BAD_INPUT("scatter_reduce_", weight.scatter_reduce_(0, index, src, "sum"), AutogradError, "leaf", "NoGradGuard"),
  };
}

BadInputs slice_rows() {
  const Tensor none, x = ones({4, 3}), src = ones({2, 3}), f64 = ones({2, 3}, kDouble), number = scalar_tensor(1);
  const Tensor rows = tensor({0, 1}), outside = tensor({0, 4}), matrix = zeros({2, 3}, kLong);
  const Tensor far_rows = on_another_device({2}, kLong), far_src = on_another_device({2, 3});
  const Tensor repeated = ones({1, 3}).expand({4, 3}), weight = ones({4, 3}).requires_grad_();
  const Tensor counts = zeros({4, 3}, kLong), bytes = zeros({4, 3}, kByte);
  return {
      UNDEFINED("index_copy", index_copy(none, 0, rows, src)),
      UNDEFINED("index_copy", index_copy(x, 0, none, src)),
      UNDEFINED("index_copy", index_copy(x, 0, rows, none)),
      BAD_INPUT("index_copy", index_copy(x, 2, rows, src), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("index_copy", index_copy(x, 0, src, src), DTypeError, "index is [2, 3] f32", ".to(kLong)"),
      BAD_INPUT("index_copy", index_copy(x, 0, matrix, src), ShapeError, "[2, 3] i64", "rank 1", "flatten()"),
      BAD_INPUT("index_copy", index_copy(x, 0, rows, x), ShapeError, "source is [4, 3] f32", "[2, 3]"),
      BAD_INPUT("index_copy", index_copy(x, 0, rows, f64), DTypeError, "x is [4, 3] f32", "source is [2, 3] f64"),
      BAD_INPUT("index_copy", index_copy(x, 0, outside, src), IndexError, "index 4", "size 4", "at most 3"),
      BAD_INPUT("index_copy", index_copy(number, 0, rows, number), ShapeError, "[2] i64", "rank 0"),
      ON_TWO_DEVICES("index_copy", index_copy(x, 0, far_rows, src)),
      ON_TWO_DEVICES("index_copy", index_copy(x, 0, rows, far_src)),
      UNDEFINED("index_copy_", none.index_copy_(0, rows, src)),
      UNDEFINED("index_copy_", x.index_copy_(0, none, src)),
      UNDEFINED("index_copy_", x.index_copy_(0, rows, none)),
      BAD_INPUT("index_copy_", x.index_copy_(0, rows, x), ShapeError, "source is [4, 3] f32", "[2, 3]"),
      BAD_INPUT("index_copy_", x.index_copy_(0, rows, f64), DTypeError, "self is [4, 3] f32", "source is [2, 3] f64"),
      BAD_INPUT("index_copy_", x.index_copy_(0, tensor({-1, 0}), src), IndexError, "index -1", "start at 0"),
      BAD_INPUT("index_copy_", repeated.index_copy_(0, rows, src), ShapeError, "[4, 3]", "expanded", "clone()"),
      BAD_INPUT("index_copy_", weight.index_copy_(0, rows, src), AutogradError, "leaf", "[4, 3] f32", "NoGradGuard"),

      UNDEFINED("index_fill", index_fill(none, 0, rows, 1)),
      UNDEFINED("index_fill", index_fill(x, 0, none, 1)),
      UNDEFINED("index_fill", index_fill(x, 0, rows, none)),
      BAD_INPUT("index_fill", index_fill(x, 2, rows, 1), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("index_fill", index_fill(x, 0, src, 1), DTypeError, "index is [2, 3] f32", ".to(kLong)"),
      BAD_INPUT("index_fill", index_fill(x, 0, matrix, 1), ShapeError, "[2, 3] i64", "rank 1", "flatten()"),
      BAD_INPUT("index_fill", index_fill(x, 0, outside, 1), IndexError, "index 4", "size 4", "from -4 to 3"),
      BAD_INPUT("index_fill", index_fill(x, 0, rows, src), ShapeError, "value is [2, 3] f32", "rank 0"),
      BAD_INPUT("index_fill", index_fill(counts, 0, rows, number), DTypeError, "value is [] f32", "[4, 3] i64"),
      BAD_INPUT("index_fill", index_fill(bytes, 0, rows, 1000), StateError, "1000", "u8"),
      ON_TWO_DEVICES("index_fill", index_fill(x, 0, far_rows, 1)),
      UNDEFINED("index_fill_", none.index_fill_(0, rows, 1)),
      UNDEFINED("index_fill_", x.index_fill_(0, none, 1)),
      UNDEFINED("index_fill_", x.index_fill_(0, rows, none)),
      BAD_INPUT("index_fill_", x.index_fill_(0, outside, 1), IndexError, "index 4", "size 4"),
      BAD_INPUT("index_fill_", x.index_fill_(0, matrix, 1), ShapeError, "[2, 3] i64", "rank 1"),
      BAD_INPUT("index_fill_", x.index_fill_(0, rows, src), ShapeError, "value is [2, 3] f32", "rank 0"),
      BAD_INPUT("index_fill_", repeated.index_fill_(0, rows, 1), ShapeError, "[4, 3]", "expanded", "clone()"),
      BAD_INPUT("index_fill_", weight.index_fill_(0, rows, 1), AutogradError, "leaf", "[4, 3] f32", "NoGradGuard"),

      UNDEFINED("index_reduce", index_reduce(none, 0, rows, src, "prod")),
      UNDEFINED("index_reduce", index_reduce(x, 0, none, src, "prod")),
      UNDEFINED("index_reduce", index_reduce(x, 0, rows, none, "prod")),
      BAD_INPUT("index_reduce", index_reduce(x, 0, rows, src, "sum"), StateError, "reduce = 'sum'", "prod, mean"),
      BAD_INPUT("index_reduce", index_reduce(x, 0, rows, x, "amax"), ShapeError, "source is [4, 3] f32", "[2, 3]"),
      BAD_INPUT("index_reduce", index_reduce(x, 0, rows, f64, "amax"), DTypeError, "x is [4, 3] f32", "[2, 3] f64"),
      BAD_INPUT("index_reduce", index_reduce(x, 0, outside, src, "mean"), IndexError, "index 4", "size 4"),
      UNDEFINED("index_reduce_", none.index_reduce_(0, rows, src, "prod")),
      UNDEFINED("index_reduce_", x.index_reduce_(0, none, src, "prod")),
      UNDEFINED("index_reduce_", x.index_reduce_(0, rows, none, "prod")),
      BAD_INPUT("index_reduce_", x.index_reduce_(0, rows, src, "add"), StateError, "reduce = 'add'", "prod, mean"),
      BAD_INPUT("index_reduce_", x.index_reduce_(0, rows, f64, "amin"), DTypeError, "self is [4, 3] f32", "f64"),
      BAD_INPUT("index_reduce_", x.index_reduce_(0, outside, src, "prod"), IndexError, "index 4", "size 4"),
      BAD_INPUT("index_reduce_", repeated.index_reduce_(0, rows, src, "prod"), ShapeError, "expanded", "clone()"),
  };
}

BadInputs out_rows() {
  const Tensor none, x = ones({4, 3}), out = ones({2, 3}), src = ones({2, 3}), small = ones({2});
  const Tensor index = zeros({2, 3}, kLong), rows = tensor({0, 1}), counts = zeros({2, 3}, kLong);
  const Tensor weight = ones({4, 3}).requires_grad_();
  return {
      UNDEFINED("gather_out", gather_out(none, x, 0, index)),
      UNDEFINED("gather_out", gather_out(out, none, 0, index)),
      BAD_INPUT("gather_out", gather_out(small, x, 0, index), ShapeError, "[2, 3]", "[2]", "same sizes"),
      BAD_INPUT("gather_out", gather_out(counts, x, 0, index), DTypeError, "f32", "[2, 3] i64"),
      BAD_INPUT("gather_out", gather_out(out, weight, 0, index), AutogradError, "the operand [4, 3] f32"),
      UNDEFINED("index_select_out", index_select_out(none, x, 0, rows)),
      UNDEFINED("index_select_out", index_select_out(out, x, 0, none)),
      BAD_INPUT("index_select_out", index_select_out(small, x, 0, rows), ShapeError, "[2, 3]", "[2]", "same sizes"),
      UNDEFINED("scatter_out", scatter_out(none, x, 0, index, src)),
      UNDEFINED("scatter_out", scatter_out(x, x, 0, index, none)),
      BAD_INPUT("scatter_out", scatter_out(out, x, 0, index, src), ShapeError, "[4, 3]", "[2, 3]", "same sizes"),
      UNDEFINED("take_out", take_out(none, x, index)),
      UNDEFINED("take_out", take_out(out, none, index)),
      BAD_INPUT("take_out", take_out(small, x, index), ShapeError, "[2, 3]", "[2]", "same sizes"),
  };
}

}  // namespace

BadInputs advanced_index_bad_input() {
  BadInputs all;
  for (const BadInputs& rows : {advanced_index_rows(), masked_rows(), scatter_rows(), slice_rows(), out_rows()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

TEST(AdvancedIndexErrors, BadInputIsRefused) { expect_refused(advanced_index_bad_input()); }

}  // namespace tandem::testing
