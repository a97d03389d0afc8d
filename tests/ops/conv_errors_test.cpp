// Convolution and its derivatives reject images, kernels and options that do not fit.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

BadInputs conv_bad_input() {
  const Tensor none, x = ones({2, 4, 6, 6}), w = ones({8, 4, 3, 3}), matrix = ones({2, 3}), gy = ones({2, 8, 4, 4});
  const Tensor far_x = on_another_device({2, 4, 6, 6}), far_w = on_another_device({8, 4, 3, 3});
  const Dims xs{2, 4, 6, 6}, ws{8, 4, 3, 3};
  Conv2dParams p, no_groups;
  no_groups.groups = 0;
  return {
      BAD_INPUT("conv2d_backward_weight", conv2d_backward_weight(gy, x, ws, Conv2dParams(), kLong, false), DTypeError,
                "[2, 4, 6, 6] f32", "i64", "floating dtype"),
      UNDEFINED("conv2d", conv2d(none, w)),
      UNDEFINED("conv2d", conv2d(x, none)),
      UNDEFINED("conv2d_relu", conv2d_relu(none, w)),
      UNDEFINED("conv2d_relu", conv2d_relu(x, none)),
      BAD_INPUT("conv2d_relu", conv2d_relu(matrix, w), ShapeError, "x is [2, 3]", "[N, C, H, W]"),
      BAD_INPUT("conv2d_relu", conv2d_relu(x, w, ones({7})), ShapeError, "bias is [7] f32", "[8]"),
      BAD_INPUT("conv2d_relu", conv2d_relu(x, w, none, {0}), StateError, "stride = [0]", "at least 1"),
      BAD_INPUT("conv2d_relu", conv2d_relu(x.to(kHalf), w), DTypeError, "f16", "f32", ".to()"),
      BAD_INPUT("conv2d", conv2d(matrix, w), ShapeError, "x is [2, 3]", "[N, C, H, W]"),
      BAD_INPUT("conv2d", conv2d(x, matrix), ShapeError, "weight is [2, 3]", "[O, C / groups, KH, KW]"),
      BAD_INPUT("conv2d", conv2d(x, ones({0, 4, 3, 3})), ShapeError, "weight is [0, 4, 3, 3]", "no size 0"),
      BAD_INPUT("conv2d", conv2d(ones({2, 3, 6, 6}), w), ShapeError, "[2, 3, 6, 6]", "3 channels", "needs 4"),
      BAD_INPUT("conv2d", conv2d(x, w, ones({7})), ShapeError, "bias is [7] f32", "[8]"),
      BAD_INPUT("conv2d", conv2d(x, w, none, {0}), StateError, "stride = [0]", "at least 1"),
      BAD_INPUT("conv2d", conv2d(x, w, none, {1, 1, 1}), ShapeError, "stride = [1, 1, 1]", "1 entry, or 2"),
      BAD_INPUT("conv2d", conv2d(x, w, none, {1}, {-1}), StateError, "padding = [-1]", "at least 0"),
      BAD_INPUT("conv2d", conv2d(x, w, none, {1}, {0}, {0}), StateError, "dilation = [0]", "at least 1"),
      BAD_INPUT("conv2d", conv2d(x, w, none, {1}, {0}, {3}), ShapeError, "spans 7", "has 6", "increase padding"),
      BAD_INPUT("conv2d", conv2d(x, w, none, {1}, {0}, {1}, 3), StateError, "groups = 3", "8 outputs", "[8, 4, 3, 3]"),
      BAD_INPUT("conv2d", conv2d(x, w, none, {1}, {0}, {1}, 0), StateError, "groups = 0"),
      BAD_INPUT("conv2d", conv2d(x, w, none, {1}, {0}, {1}, 2), ShapeError, "4 channels", "groups = 2", "needs 8"),
      BAD_INPUT("conv2d", conv2d(x.to(kInt), w), DTypeError, "x is [2, 4, 6, 6] i32", ".to(kFloat)"),
      BAD_INPUT("conv2d", conv2d(x, w.to(kInt)), DTypeError, "weight is [8, 4, 3, 3] i32", ".to(kFloat)"),
      BAD_INPUT("conv2d", conv2d(x.to(kHalf), w), DTypeError, "[2, 4, 6, 6] f16", "[8, 4, 3, 3] f32", ".to()"),
      BAD_INPUT("conv2d", conv2d(x, w, ones({8}, kHalf)), DTypeError, "bias is [8] f16", ".to()"),
      ON_TWO_DEVICES("conv2d", conv2d(far_x, w)),
      ON_TWO_DEVICES("conv2d", conv2d(x, far_w)),
      ON_TWO_DEVICES("conv2d", conv2d(x, w, on_another_device({8}))),

      UNDEFINED("conv2d_backward_input", conv2d_backward_input(none, w, xs, p)),
      UNDEFINED("conv2d_backward_input", conv2d_backward_input(gy, none, xs, p)),
      BAD_INPUT("conv2d_backward_input", conv2d_backward_input(gy, w, {2, 4, 6}, p), ShapeError, "[2, 4, 6]",
                "[N, C, H, W]"),
      BAD_INPUT("conv2d_backward_input", conv2d_backward_input(gy, w, {2, 3, 6, 6}, p), ShapeError, "[2, 3, 6, 6]",
                "needs 4"),
      BAD_INPUT("conv2d_backward_input", conv2d_backward_input(x, w, xs, p), ShapeError, "gy is [2, 4, 6, 6] f32",
                "[2, 8, 4, 4]"),
      BAD_INPUT("conv2d_backward_input", conv2d_backward_input(gy, w, xs, no_groups), StateError, "groups = 0"),
      BAD_INPUT("conv2d_backward_input", conv2d_backward_input(gy.to(kInt), w, xs, p), DTypeError,
                "gy is [2, 8, 4, 4] i32", ".to(kFloat)"),
      BAD_INPUT("conv2d_backward_input", conv2d_backward_input(gy, w.to(kDouble), xs, p), DTypeError,
                "gy is [2, 8, 4, 4] f32", "weight is [8, 4, 3, 3] f64", ".to()"),
      BAD_INPUT("conv2d_backward_input", conv2d_backward_input(gy, w, xs, Conv2dParams{.stride = {0, 1}}), StateError,
                "stride 0", "at least 1"),
      BAD_INPUT("conv2d_backward_input", conv2d_backward_input(gy, w, xs, Conv2dParams{.padding = {INT64_MAX, 0}}),
                StateError, "padding 9223372036854775807"),
      ON_TWO_DEVICES("conv2d_backward_input", conv2d_backward_input(gy, far_w, xs, p)),

      UNDEFINED("conv2d_backward_weight", conv2d_backward_weight(none, x, ws, p)),
      UNDEFINED("conv2d_backward_weight", conv2d_backward_weight(gy, none, ws, p)),
      BAD_INPUT("conv2d_backward_weight", conv2d_backward_weight(gy, x, {8, 4, 3}, p), ShapeError, "[8, 4, 3]",
                "[O, C / groups, KH, KW]"),
      BAD_INPUT("conv2d_backward_weight", conv2d_backward_weight(x, x, ws, p), ShapeError, "gy is [2, 4, 6, 6] f32",
                "[2, 8, 4, 4]"),
      BAD_INPUT("conv2d_backward_weight", conv2d_backward_weight(gy, matrix, ws, p), ShapeError, "x is [2, 3]",
                "[N, C, H, W]"),
      BAD_INPUT("conv2d_backward_weight", conv2d_backward_weight(gy, x.to(kInt), ws, p), DTypeError,
                "x is [2, 4, 6, 6] i32", ".to(kFloat)"),
      BAD_INPUT("conv2d_backward_weight", conv2d_backward_weight(gy, x.to(kDouble), ws, p), DTypeError,
                "gy is [2, 8, 4, 4] f32", "x is [2, 4, 6, 6] f64", ".to()"),
      ON_TWO_DEVICES("conv2d_backward_weight", conv2d_backward_weight(gy, far_x, ws, p)),
  };
}

TEST(ConvErrors, BadInputIsRefused) { expect_refused(conv_bad_input()); }

}  // namespace tandem::testing
