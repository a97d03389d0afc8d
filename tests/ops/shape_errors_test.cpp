// Views, joins and conversions reject invalid sizes, dimensions and indices.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

BadInputs views() {
  const Tensor none, x = ones({2, 3}), cube = ones({1, 2, 3}), number = scalar_tensor(1), no_rows = ones({0, 3});
  return {
      UNDEFINED("view", view(none, {6})),
      BAD_INPUT("view", view(x, {5}), ShapeError, "6 elements", "[2, 3]", "[5]"),
      BAD_INPUT("view", view(x, {-1, 4}), ShapeError, "6 elements", "[2, 3]", "[-1, 4]"),
      BAD_INPUT("view", view(x, {-1, -1}), ShapeError, "only one may be -1", "[-1, -1]"),
      BAD_INPUT("view", view(x, {-2, 3}), ShapeError, "-2", "[-2, 3]", "negative"),
      BAD_INPUT("view", view(no_rows, {-1, 0}), ShapeError, "0 elements", "[0, 3]", "[-1, 0]"),
      BAD_INPUT("view", view(x.t(), {6}), ShapeError, "[3, 2]", "strides [1, 3]", "[6]", "reshape()"),
      BAD_INPUT("view", view(no_rows, {int64_t{1} << 32, int64_t{1} << 32}), ShapeError, "0 elements", "[0, 3]"),
      UNDEFINED("reshape", reshape(none, {6})),
      BAD_INPUT("reshape", reshape(x, {5}), ShapeError, "6 elements", "[2, 3]", "[5]"),
      BAD_INPUT("reshape", reshape(x, {-1, -1}), ShapeError, "only one may be -1", "[-1, -1]"),
      BAD_INPUT("reshape", reshape(x, {-2, 3}), ShapeError, "-2", "[-2, 3]", "negative"),
      UNDEFINED("flatten", flatten(none)),
      BAD_INPUT("flatten", flatten(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("flatten", flatten(x, 0, 5), IndexError, "dimension 5", "rank 2", "[-2, 1]"),
      BAD_INPUT("flatten", flatten(x, 1, 0), IndexError, "start_dim 1", "end_dim 0"),
      UNDEFINED("transpose", transpose(none, 0, 1)),
      BAD_INPUT("transpose", transpose(x, 0, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("transpose", transpose(x, -3, 0), IndexError, "dimension -3", "rank 2", "[-2, 1]"),
      UNDEFINED("t", t(none)),
      BAD_INPUT("t", t(cube), ShapeError, "rank 3", "[1, 2, 3]", "permute()"),
      UNDEFINED("permute", permute(none, {0})),
      BAD_INPUT("permute", permute(x, {0}), ShapeError, "1 dimensions", "rank 2", "[2, 3]"),
      BAD_INPUT("permute", permute(x, {0, 0}), ShapeError, "dimension 0", "twice", "[0, 0]"),
      BAD_INPUT("permute", permute(x, {0, 2}), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      UNDEFINED("squeeze", squeeze(none)),
      UNDEFINED("squeeze", squeeze(none, 0)),
      BAD_INPUT("squeeze", squeeze(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      UNDEFINED("unsqueeze", unsqueeze(none, 0)),
      BAD_INPUT("unsqueeze", unsqueeze(x, 3), IndexError, "dimension 3", "[-3, 2]"),
      BAD_INPUT("unsqueeze", unsqueeze(x, -4), IndexError, "dimension -4", "[-3, 2]"),
      UNDEFINED("expand", expand(none, {2})),
      BAD_INPUT("expand", expand(x, {3}), ShapeError, "[2, 3]", "[3]"),
      BAD_INPUT("expand", expand(x, {2, 4}), ShapeError, "[2, 3]", "[2, 4]", "dimension 1", "size 1"),
      BAD_INPUT("expand", expand(x, {-1, 2, 3}), ShapeError, "[2, 3]", "[-1, 2, 3]", "dimension 0"),
      BAD_INPUT("expand", expand(x, {2, -2}), ShapeError, "[2, 3]", "[2, -2]", "dimension 1"),
      UNDEFINED("select", select(none, 0, 0)),
      BAD_INPUT("select", select(number, 0, 0), IndexError, "0-dim", "item()"),
      BAD_INPUT("select", select(x, 2, 0), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("select", select(x, 0, 2), IndexError, "index 2", "dimension 0", "[2, 3]"),
      BAD_INPUT("select", select(x, 1, -4), IndexError, "index -4", "dimension 1", "[2, 3]"),
      UNDEFINED("narrow", narrow(none, 0, 0, 1)),
      BAD_INPUT("narrow", narrow(number, 0, 0, 1), IndexError, "0-dim"),
      BAD_INPUT("narrow", narrow(x, 2, 0, 1), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("narrow", narrow(x, 0, 1, 2), IndexError, "2 entries from index 1", "dimension 0", "[2, 3]"),
      BAD_INPUT("narrow", narrow(x, 0, -3, 1), IndexError, "1 entries from index -3", "dimension 0", "[2, 3]"),
      BAD_INPUT("narrow", narrow(x, 0, 0, -1), IndexError, "-1 entries from index 0", "dimension 0", "[2, 3]"),
      BAD_INPUT("narrow", narrow(x, 0, 1, INT64_MAX), IndexError, "entries from index 1", "dimension 0", "[2, 3]"),
      BAD_INPUT("as_strided", as_strided(x, {3}, {int64_t{1} << 62}), IndexError, "[3]", "storage of 6"),
      BAD_INPUT("as_strided_scatter", as_strided_scatter(slice(ones({9}), 0, 0, 1), ones({6}), {6}, {1}), IndexError,
                "[6]", "storage of 1"),
      BAD_INPUT("as_strided_scatter", as_strided_scatter(x, ones({2}), {2}, {1}, -1), IndexError, "offset -1"),
      UNDEFINED("slice", slice(none)),
      BAD_INPUT("slice", slice(number), IndexError, "0-dim"),
      BAD_INPUT("slice", slice(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("slice", slice(x, 0, 0, 2, 0), IndexError, "step", "at least 1", "not 0"),
      BAD_INPUT("slice", slice(x, 0, 0, 2, -1), IndexError, "step", "at least 1", "not -1"),
      UNDEFINED("chunk", chunk(none, 2)),
      BAD_INPUT("chunk", chunk(x, 0), ShapeError, "[2, 3]", "0 chunks"),
      BAD_INPUT("chunk", chunk(x, -1), ShapeError, "[2, 3]", "-1 chunks"),
      BAD_INPUT("chunk", chunk(number, 2), ShapeError, "[]", "2 chunks"),
      BAD_INPUT("chunk", chunk(x, 2, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
  };
}

BadInputs strided() {
  const Tensor none, x = ones({2, 3}), six = ones({6});
  return {
      UNDEFINED("as_strided", as_strided(none, {1}, {1})),
      BAD_INPUT("as_strided", as_strided(x, {2}, {1, 1}), ShapeError, "1 sizes", "2 strides"),
      BAD_INPUT("as_strided", as_strided(x, {-2}, {1}), ShapeError, "negative", "[-2]", "[1]"),
      BAD_INPUT("as_strided", as_strided(x, {2}, {-1}), ShapeError, "negative", "[2]", "[-1]"),
      BAD_INPUT("as_strided", as_strided(x, {7}, {1}), IndexError, "[7]", "[1]", "offset 0", "storage of 6"),
      BAD_INPUT("as_strided", as_strided(x, {2}, {1}, 5), IndexError, "[2]", "offset 5", "storage of 6"),
      BAD_INPUT("as_strided", as_strided(x, {2}, {1}, -1), IndexError, "[2]", "offset -1", "storage of 6"),
      UNDEFINED("as_strided_scatter", as_strided_scatter(none, six, {6}, {1})),
      UNDEFINED("as_strided_scatter", as_strided_scatter(x, none, {6}, {1})),
      BAD_INPUT("as_strided_scatter", as_strided_scatter(x, ones({4}), {6}, {1}), ShapeError, "[4]", "[6]"),
      BAD_INPUT("as_strided_scatter", as_strided_scatter(x, ones({7}), {7}, {1}), IndexError, "[7]", "storage of 6"),
      BAD_INPUT("as_strided_scatter", as_strided_scatter(x, six, {6}, {1, 1}), ShapeError, "1 sizes", "2 strides"),
      ON_TWO_DEVICES("as_strided_scatter", as_strided_scatter(x, on_another_device({6}), {6}, {1})),
  };
}

BadInputs joins_and_conversions() {
  const Tensor none, x = ones({2, 3}), y = ones({4}), number = scalar_tensor(1), far = on_another_device({2, 3});
  BadInputs rows = {
      BAD_INPUT("cat", cat({}), StateError, "empty"),
      BAD_INPUT("cat", cat({none, none}), StateError, "empty"),
      BAD_INPUT("cat", cat({x, y}), ShapeError, "tensor 1 is [4]", "[2, 3]", "dimension 0"),
      BAD_INPUT("cat", cat({x, ones({2, 4})}), ShapeError, "tensor 1 is [2, 4]", "[2, 3]", "dimension 0"),
      BAD_INPUT("cat", cat({x, x}, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("cat", cat({number, number}), ShapeError, "rank 0", "stack()"),
      ON_TWO_DEVICES("cat", cat({x, far})),
      BAD_INPUT("stack", stack({}), StateError, "empty"),
      UNDEFINED("stack", stack({x, none})),
      BAD_INPUT("stack", stack({x, y}), ShapeError, "tensor 1 is [4]", "[2, 3]", "same sizes"),
      BAD_INPUT("stack", stack({x, x}, 3), IndexError, "dimension 3", "[-3, 2]"),
      ON_TWO_DEVICES("stack", stack({x, far})),
      UNDEFINED("to", to(none, kHalf)),
      UNDEFINED("view_dtype", view_dtype(none, kInt)),
      BAD_INPUT("view_dtype", view_dtype(x, kDouble), ShapeError, "[2, 3] f32", "3 of its elements", "f64", ".to()"),
      BAD_INPUT("view_dtype", view_dtype(x.t(), kHalf), ShapeError, "[3, 2] f32", "strides [1, 3]", "contiguous()"),
      BAD_INPUT("view_dtype", view_dtype(number, kHalf), ShapeError, "[] f32", "last dimension"),
      BAD_INPUT("view_dtype", view_dtype(ones({5}).slice(0, 1), kDouble), ShapeError, "from element 1", "f64"),
      BAD_INPUT("view_dtype", view_dtype(ones({2}, kByte), kBool), DTypeError, "[2] u8", "bool"),
      BAD_INPUT("view_dtype", view_dtype(ones({2}, kBool), kByte), DTypeError, "[2] bool", "u8"),
      UNDEFINED("cast_float8", cast_float8(none, kFloat8_e5m2)),
      BAD_INPUT("cast_float8", cast_float8(x, kHalf), DTypeError, "f16", "kFloat8_e4m3fn"),
      BAD_INPUT("cast_float8", cast_float8(x, kFloat8_e8m0fnu), DTypeError, "f8e8m0fnu", "kFloat8_e5m2"),
      BAD_INPUT("cast_float8", cast_float8(ones({2}, kInt), kFloat8_e5m2), DTypeError, "[2] i32", "floating"),
      BAD_INPUT("cast_float8", cast_float8(x.to(kFloat8_e5m2), kFloat8_e4m3fn), DTypeError, "f8e5m2"),
      BAD_INPUT("cast_float8", cast_float8(x, kFloat8_e5m2, Float8CastOptions().scale(ones({2}))), ShapeError, "scale",
                "[2] f32"),
      BAD_INPUT("cast_float8", cast_float8(x, kFloat8_e5m2, Float8CastOptions().amax(ones({1}).requires_grad_())),
                AutogradError, "amax", "requires grad"),
      BAD_INPUT("cast_float8", cast_float8(x, kFloat8_e5m2, Float8CastOptions().amax(ones({1}, kHalf))), DTypeError,
                "amax", "f16"),
      UNDEFINED("to", to(none, Device(kCPU), kHalf)),
      UNDEFINED("clone", clone(none)),
      UNDEFINED("contiguous", contiguous(none)),
      BAD_INPUT("contiguous", contiguous(x, kChannelsLast), ShapeError, "rank 4", "[2, 3]"),
  };
  if (!cuda::is_available()) {
    rows.push_back(BAD_INPUT("to", to(x, Device(kCUDA), kFloat), DeviceError, "cuda is not available", "Device(kCPU)"));
  }
  return rows;
}

}  // namespace

BadInputs shape_bad_input() {
  BadInputs rows = views();
  for (const BadInputs& more : {strided(), joins_and_conversions()}) rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

TEST(ShapeErrors, BadInputIsRefused) { expect_refused(shape_bad_input()); }

}  // namespace tandem::testing
