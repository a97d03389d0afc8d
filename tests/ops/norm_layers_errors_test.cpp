// Layer and batch normalisation and their derivatives reject parameters and statistics that do not fit.
#include <array>
#include <cmath>

#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

BadInputs norm_layers_bad_input() {
  const Tensor none, x = ones({2, 3}), y = ones({4}), n = ones({2, 3}, kLong), far = on_another_device({3});
  const Tensor far_rows = on_another_device({2, 3});
  const Tensor two = ones({2}), w = ones({3}), half = ones({3}, kHalf), wide = ones({3}, kDouble);
  const std::array<bool, 3> all{true, true, true};
  const Tensor mean = zeros({3}), rstd = ones({3}), row_mean = zeros({2}), row_rstd = ones({2});
  return {
      BAD_INPUT("layer_norm", layer_norm(x, {3}, none, none, std::nan("")), StateError, "eps = nan", "at least 0"),
      BAD_INPUT("layer_norm", layer_norm(x, {3}, none, none, -1), StateError, "eps = -1", "at least 0"),
      BAD_INPUT("batch_norm", batch_norm(x, none, none, none, none, true, 0.1, -1), StateError, "eps = -1"),
      BAD_INPUT("batch_norm", batch_norm(x, none, none, none, none, true, std::nan("")), StateError, "momentum = nan"),
      BAD_INPUT("batch_norm", batch_norm(x, none, none, zeros({1}).expand({3}), w, true), ShapeError,
                "running_mean [3]", "strides [0]", "clone()"),
      BAD_INPUT("batch_norm", batch_norm(x, none, none, zeros({3}).requires_grad_(), w, true), AutogradError,
                "running_mean [3] f32", "requires grad"),
      UNDEFINED("layer_norm", layer_norm(none, {3})),
      BAD_INPUT("layer_norm", layer_norm(x, {}), ShapeError, "empty", "[2, 3] f32"),
      BAD_INPUT("layer_norm", layer_norm(x, {2}), ShapeError, "[2]", "[2, 3] f32", "end in"),
      BAD_INPUT("layer_norm", layer_norm(x, {1, 2, 3}), ShapeError, "[1, 2, 3]", "[2, 3] f32", "end in"),
      BAD_INPUT("layer_norm", layer_norm(x, {3}, two), ShapeError, "weight is [2] f32", "[3]"),
      BAD_INPUT("layer_norm", layer_norm(x, {3}, w, two), ShapeError, "bias is [2] f32", "[3]"),
      BAD_INPUT("layer_norm", layer_norm(n, {3}), DTypeError, "x is [2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("layer_norm", layer_norm(x, {3}, half), DTypeError, "weight is [3] f16", "[2, 3] f32", ".to()"),
      BAD_INPUT("layer_norm", layer_norm(x, {3}, w, wide), DTypeError, "bias is [3] f64", "[2, 3] f32", ".to()"),
      ON_TWO_DEVICES("layer_norm", layer_norm(x, {3}, far)),
      ON_TWO_DEVICES("layer_norm", layer_norm(x, {3}, w, far)),
      UNDEFINED("add_layer_norm", add_layer_norm(none, x, {3})),
      BAD_INPUT("add_layer_norm", add_layer_norm(x, none, {3}), StateError, "residual is an undefined tensor"),
      BAD_INPUT("add_layer_norm", add_layer_norm(x, w, {3}), ShapeError, "residual is [3] f32", "x is [2, 3] f32",
                "expand()"),
      BAD_INPUT("add_layer_norm", add_layer_norm(n, x, {3}), DTypeError, "x is [2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("add_layer_norm", add_layer_norm(x, n, {3}), DTypeError, "residual is [2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("add_layer_norm", add_layer_norm(x, x, {}), ShapeError, "empty", "[2, 3] f32"),
      BAD_INPUT("add_layer_norm", add_layer_norm(x, x, {2}), ShapeError, "[2]", "[2, 3] f32", "end in"),
      BAD_INPUT("add_layer_norm", add_layer_norm(x, x, {3}, two), ShapeError, "weight is [2] f32", "[3]"),
      BAD_INPUT("add_layer_norm", add_layer_norm(x, x, {3}, w, two), ShapeError, "bias is [2] f32", "[3]"),
      BAD_INPUT("add_layer_norm", add_layer_norm(x, x, {3}, half), DTypeError, "weight is [3] f16", "[2, 3] f32",
                ".to()"),
      BAD_INPUT("add_layer_norm", add_layer_norm(x, x, {3}, w, wide), DTypeError, "bias is [3] f64", "[2, 3] f32"),
      BAD_INPUT("add_layer_norm", add_layer_norm(x, x, {3}, none, none, -1), StateError, "eps = -1", "at least 0"),
      ON_TWO_DEVICES("add_layer_norm", add_layer_norm(x, far_rows, {3})),
      ON_TWO_DEVICES("add_layer_norm", add_layer_norm(x, x, {3}, far)),
      UNDEFINED("layer_norm_backward", layer_norm_backward(none, x, {3}, row_mean, row_rstd, w, 1e-5, all)),
      UNDEFINED("layer_norm_backward", layer_norm_backward(x, none, {3}, row_mean, row_rstd, w, 1e-5, all)),
      BAD_INPUT("layer_norm_backward", layer_norm_backward(y, x, {3}, row_mean, row_rstd, w, 1e-5, all), ShapeError,
                "gy is [4] f32", "[2, 3]"),
      BAD_INPUT("layer_norm_backward", layer_norm_backward(x, n, {3}, row_mean, row_rstd, w, 1e-5, all), DTypeError,
                "x is [2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("layer_norm_backward", layer_norm_backward(x, x, {3}, row_mean, row_rstd, w, 1e-5, all, y), ShapeError,
                "gsum is [4] f32", "[2, 3]"),
      BAD_INPUT("layer_norm_backward", layer_norm_backward(x, x, {3}, row_mean, row_rstd, w, 1e-5, all, n), DTypeError,
                "gsum is [2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("layer_norm_backward", layer_norm_backward(x, x, {2}, row_mean, row_rstd, w, 1e-5, all), ShapeError,
                "x is [2, 3] f32", "[2]"),
      BAD_INPUT("layer_norm_backward", layer_norm_backward(x, x, {1, 2, 3}, row_mean, row_rstd, w, 1e-5, all),
                ShapeError, "x is [2, 3] f32", "[1, 2, 3]"),
      BAD_INPUT("layer_norm_backward", layer_norm_backward(x, x, {3}, mean, row_rstd, w, 1e-5, all), ShapeError,
                "mean is [3] f32", "[2]"),
      BAD_INPUT("layer_norm_backward", layer_norm_backward(x, x, {3}, row_mean.to(kHalf), row_rstd, w, 1e-5, all),
                DTypeError, "mean is [2] f16", "f32"),
      BAD_INPUT("layer_norm_backward", layer_norm_backward(x, x, {3}, row_mean, row_rstd, two, 1e-5, all), ShapeError,
                "weight is [2] f32", "[3]"),
      BAD_INPUT("batch_norm_backward", batch_norm_backward(y, y, mean, rstd, w, true, 1e-5, all), ShapeError,
                "x is [4] f32", "[N, C, ...]"),
      BAD_INPUT("batch_norm_backward", batch_norm_backward(x, x, two, rstd, w, true, 1e-5, all), ShapeError,
                "mean is [2] f32", "[3]"),
      BAD_INPUT("batch_norm_backward", batch_norm_backward(x, x, mean, half, w, true, 1e-5, all), DTypeError,
                "rstd is [3] f16", "f32"),
      UNDEFINED("batch_norm_backward", batch_norm_backward(x, x, none, rstd, w, true, 1e-5, all)),
      UNDEFINED("batch_norm", batch_norm(none, w, w, mean, rstd, true)),
      BAD_INPUT("batch_norm", batch_norm(y, none, none, none, none, true), ShapeError, "[4] f32", "[N, C, ...]"),
      BAD_INPUT("batch_norm", batch_norm(x, two, w, mean, rstd, true), ShapeError, "weight is [2] f32", "[3]",
                "with 3 channels"),
      BAD_INPUT("batch_norm", batch_norm(x, w, two, mean, rstd, true), ShapeError, "bias is [2] f32", "[3]"),
      BAD_INPUT("batch_norm", batch_norm(x, w, w, two, rstd, true), ShapeError, "running_mean is [2] f32", "[3]"),
      BAD_INPUT("batch_norm", batch_norm(x, w, w, mean, two, true), ShapeError, "running_var is [2] f32", "[3]"),
      BAD_INPUT("batch_norm", batch_norm(x, w, w, mean, none, true), StateError, "running_mean is [3] f32",
                "running_var is undefined", "both or neither"),
      BAD_INPUT("batch_norm", batch_norm(x, w, w, none, rstd, true), StateError, "running_mean is undefined",
                "running_var is [3] f32", "both or neither"),
      BAD_INPUT("batch_norm", batch_norm(x, w, w, none, none, false), StateError, "no running statistics",
                "training = true"),
      BAD_INPUT("batch_norm", batch_norm(n, w, w, mean, rstd, true), DTypeError, "x is [2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("batch_norm", batch_norm(x, half, w, mean, rstd, true), DTypeError, "weight is [3] f16", ".to()"),
      BAD_INPUT("batch_norm", batch_norm(x, w, wide, mean, rstd, true), DTypeError, "bias is [3] f64", ".to()"),
      BAD_INPUT("batch_norm", batch_norm(x, w, w, mean, ones({3}, kInt), true), DTypeError, "running_var is [3] i32",
                ".to(kFloat)"),
      BAD_INPUT("batch_norm", batch_norm(ones({1, 3}), w, w, mean, rstd, true), ShapeError, "one value per channel",
                "[1, 3] f32", "larger batch", "or eval()"),
      BAD_INPUT("batch_norm", batch_norm(ones({1, 3}), w, w, none, none, true), ShapeError,
                "or running statistics in eval()"),
      ON_TWO_DEVICES("batch_norm", batch_norm(x, far, w, mean, rstd, true)),
      BAD_INPUT("batch_norm", batch_norm(x, w, w, far, rstd, true), DeviceError, "running_mean is on cuda",
                "x is on cpu", ".to(device)"),
      BAD_INPUT("batch_norm", batch_norm(x, w, w, mean, far, false), DeviceError, "running_var is on cuda",
                "x is on cpu", ".to(device)"),
      UNDEFINED("batch_norm_backward", batch_norm_backward(none, x, mean, rstd, w, true, 1e-5, all)),
      UNDEFINED("batch_norm_backward", batch_norm_backward(x, none, mean, rstd, w, true, 1e-5, all)),
      BAD_INPUT("batch_norm_backward", batch_norm_backward(y, x, mean, rstd, w, true, 1e-5, all), ShapeError,
                "gy is [4] f32", "[2, 3]"),
      BAD_INPUT("batch_norm_backward", batch_norm_backward(x, n, mean, rstd, w, true, 1e-5, all), DTypeError,
                "x is [2, 3] i64", ".to(kFloat)"),
  };
}

TEST(NormErrors, BadInputIsRefused) { expect_refused(norm_layers_bad_input()); }

TEST(NormErrors, RefusedBatchNormKeepsTheStatistics) {
  const Tensor mean = zeros({3}), var = ones({3});
  EXPECT_THROW(batch_norm(ones({1, 3}), {}, {}, mean, var, true), ShapeError);
  EXPECT_THROW(batch_norm(ones({4, 3}), ones({2}), {}, mean, var, true), ShapeError);
  EXPECT_EQ(mean._version() + var._version(), 0U);
}

}  // namespace tandem::testing
