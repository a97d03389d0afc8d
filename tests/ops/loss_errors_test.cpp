// Losses reject targets and weights that do not fit their input.
#include <cmath>

#include "ops/bad_input.h"
#include "support/device.h"
#include "tandem/amp/autocast.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

constexpr LossReduction kMean = LossReduction::Mean, kEnd = Reductions::END;

BadInputs class_losses() {
  const Tensor none, x = zeros({4, 3}), t = tensor({0, 1, 2, 0}), two = tensor({0, 1}), n = ones({4, 3}, kLong);
  const Tensor number = scalar_tensor(1), far_t = on_another_device({4}, kLong), far_w = on_another_device({3});
  return {
      BAD_INPUT("nll_loss", nll_loss(x, t, none, kEnd), StateError, "reduction = 3", "None, Mean or Sum"),
      BAD_INPUT("cross_entropy", cross_entropy(x, t, none, kEnd), StateError, "reduction = 3", "None, Mean or Sum"),
      UNDEFINED("nll_loss", nll_loss(none, t)),
      UNDEFINED("nll_loss", nll_loss(x, none)),
      BAD_INPUT("nll_loss", nll_loss(number, t), ShapeError, "x is [] f32", "[C], [N, C] or [N, C, d1, ...]"),
      BAD_INPUT("nll_loss", nll_loss(zeros({4, 0}), t), ShapeError, "x is [4, 0] f32", "no classes"),
      BAD_INPUT("nll_loss", nll_loss(x, two), ShapeError, "x is [4, 3] f32", "must be [4]", "[2] i64"),
      BAD_INPUT("nll_loss", nll_loss(zeros({4, 3, 2}), t), ShapeError, "[4, 3, 2] f32", "must be [4, 2]", "[4] i64"),
      BAD_INPUT("nll_loss", nll_loss(x, t.to(kFloat)), DTypeError, "target is [4] f32", "i64", ".to(kLong)"),
      BAD_INPUT("nll_loss", nll_loss(n, t), DTypeError, "x is [4, 3] i64", ".to(kFloat)"),
      BAD_INPUT("nll_loss", nll_loss(x, t, ones({4})), ShapeError, "weight is [4] f32", "[3]"),
      BAD_INPUT("nll_loss", nll_loss(x, t, ones({3}, kLong)), DTypeError, "weight is [3] i64", ".to(kFloat)"),
      BAD_INPUT("nll_loss", nll_loss(x, t.add(1)), IndexError, "index 3", "size 3", "at most 2"),
      BAD_INPUT("nll_loss", nll_loss(x, t.sub(1), ones({3})), IndexError, "index -1", "size 3", "start at 0"),
      ON_TWO_DEVICES("nll_loss", nll_loss(x, far_t)),
      ON_TWO_DEVICES("nll_loss", nll_loss(x, t, far_w)),

      UNDEFINED("nll_loss2d", nll_loss2d(none, t)),
      BAD_INPUT("nll_loss2d", nll_loss2d(x, t), ShapeError, "x is [4, 3] f32", "[N, C, H, W]"),
      BAD_INPUT("nll_loss2d", nll_loss2d(zeros({4, 3, 2, 2}), t), ShapeError, "[4, 3, 2, 2] f32", "must be [4, 2, 2]"),

      UNDEFINED("cross_entropy", cross_entropy(none, t)),
      UNDEFINED("cross_entropy", cross_entropy(x, none)),
      BAD_INPUT("cross_entropy", cross_entropy(number, t), ShapeError, "x is [] f32", "[C], [N, C] or"),
      BAD_INPUT("cross_entropy", cross_entropy(zeros({4, 0}), t), ShapeError, "x is [4, 0] f32", "no classes"),
      BAD_INPUT("cross_entropy", cross_entropy(x, two), ShapeError, "x is [4, 3] f32", "must be [4]", "[2] i64"),
      BAD_INPUT("cross_entropy", cross_entropy(x, ones({5})), ShapeError, "[5] f32", "[4, 3] f32", "pass i64"),
      BAD_INPUT("cross_entropy", cross_entropy(x, t.to(kByte)), DTypeError, "target is [4] u8", ".to(kLong)"),
      BAD_INPUT("cross_entropy", cross_entropy(n, t), DTypeError, "x is [4, 3] i64", ".to(kFloat)"),
      BAD_INPUT("cross_entropy", cross_entropy(x, t, ones({4})), ShapeError, "weight is [4] f32", "[3]"),
      BAD_INPUT("cross_entropy", cross_entropy(x, t, ones({3}, kInt)), DTypeError, "weight is [3] i32", ".to(kFloat)"),
      BAD_INPUT("cross_entropy", cross_entropy(x, x, none, kMean, 1), StateError, "ignore_index = 1", "[4, 3] f32"),
      BAD_INPUT("cross_entropy", cross_entropy(x, t, none, kMean, -100, 1.5), StateError, "label_smoothing = 1.5",
                "[0, 1]"),
      BAD_INPUT("cross_entropy", cross_entropy(x, t, none, kMean, -100, std::nan("")), StateError,
                "label_smoothing = nan", "[0, 1]"),
  };
}

BadInputs regression_losses() {
  const Tensor none, x = full({4, 3}, 0.5), y = ones({5}), n = ones({4, 3}, kLong), far = on_another_device({4, 3});
  const Tensor gy = scalar_tensor(1), more = ones({2, 4, 3});
  BadInputs rows = {
      BAD_INPUT("mse_loss_backward", mse_loss_backward(gy, x, x, LossReduction::Mean, kLong), DTypeError, "[4, 3] f32",
                "i64", "floating dtype"),
      ON_TWO_DEVICES("binary_cross_entropy", binary_cross_entropy(x, x, far)),
      ON_TWO_DEVICES("binary_cross_entropy_with_logits", binary_cross_entropy_with_logits(x, x, far)),
      BAD_INPUT("mse_loss_backward", mse_loss_backward(gy, x, x, kEnd), StateError, "reduction = 3", "Mean or Sum"),
      BAD_INPUT("mse_loss", mse_loss(x, x, kEnd), StateError, "reduction = 3", "None, Mean or Sum"),
      BAD_INPUT("huber_loss", huber_loss(x, x, kEnd), StateError, "reduction = 3", "None, Mean or Sum"),
      UNDEFINED("mse_loss", mse_loss(none, x)),
      UNDEFINED("mse_loss", mse_loss(x, none)),
      BAD_INPUT("mse_loss", mse_loss(x, y), ShapeError, "[4, 3]", "[5]", "equal or 1"),
      BAD_INPUT("mse_loss", mse_loss(x, n), DTypeError, "target is [4, 3] i64", ".to(kFloat)"),
      BAD_INPUT("mse_loss", mse_loss(n, x), DTypeError, "x is [4, 3] i64", ".to(kFloat)"),
      ON_TWO_DEVICES("mse_loss", mse_loss(x, far)),
      UNDEFINED("mse_loss_backward", mse_loss_backward(none, x, x, kMean)),
      UNDEFINED("mse_loss_backward", mse_loss_backward(gy, none, x, kMean)),
      UNDEFINED("mse_loss_backward", mse_loss_backward(gy, x, none, kMean)),
      BAD_INPUT("mse_loss_backward", mse_loss_backward(x, x, x, kMean), ShapeError, "gy is [4, 3] f32", "must be []"),
      BAD_INPUT("mse_loss_backward", mse_loss_backward(gy, x, x, LossReduction::None), ShapeError, "gy is [] f32",
                "must be [4, 3]"),
      BAD_INPUT("mse_loss_backward", mse_loss_backward(gy, x, y, kMean), ShapeError, "[4, 3]", "[5]", "equal or 1"),
      BAD_INPUT("mse_loss_backward", mse_loss_backward(gy.to(kInt), x, x, kMean), DTypeError, "gy is [] i32",
                ".to(kFloat)"),
      ON_TWO_DEVICES("mse_loss_backward", mse_loss_backward(gy, x, far, kMean)),
      UNDEFINED("binary_cross_entropy", binary_cross_entropy(none, x)),
      BAD_INPUT("binary_cross_entropy", binary_cross_entropy(full({3}, 1.5, kCPU), zeros({3}, kCPU)), StateError,
                "x has elements from 1.5 to 1.5", "[0, 1]", "binary_cross_entropy_with_logits"),
      BAD_INPUT("binary_cross_entropy", binary_cross_entropy(zeros({3}, kCPU), full({3}, -1.0, kCPU)), StateError,
                "target has elements from -1 to -1", "[0, 1]"),
      BAD_INPUT(
          "binary_cross_entropy",
          [&] {
            amp::AutocastGuard autocast(device_type());
            return binary_cross_entropy(x, x);
          }(),
          StateError, "autocast", "use binary_cross_entropy_with_logits"),
      BAD_INPUT("binary_cross_entropy_with_logits", binary_cross_entropy_with_logits(x, x, {}, y), ShapeError, "[5]",
                "[4, 3]", "equal or 1"),
      BAD_INPUT("binary_cross_entropy_with_logits", binary_cross_entropy_with_logits(x, x, {}, more), ShapeError,
                "pos_weight is [2, 4, 3] f32", "x [4, 3] f32"),
      BAD_INPUT("binary_cross_entropy_with_logits", binary_cross_entropy_with_logits(x, x, {}, n), DTypeError,
                "pos_weight is [4, 3] i64", ".to(kFloat)"),
      ON_TWO_DEVICES("binary_cross_entropy_with_logits", binary_cross_entropy_with_logits(x, x, {}, far)),
  };
  struct BinaryLoss {
    const char* name;
    Tensor (*run)(const Tensor& x, const Tensor& target, const Tensor& weight);
  };
  const auto probabilities = [](const Tensor& x, const Tensor& t, const Tensor& w) {
    return binary_cross_entropy(x, t, w);
  };
  const auto logits = [](const Tensor& x, const Tensor& t, const Tensor& w) {
    return binary_cross_entropy_with_logits(x, t, w);
  };
  for (const BinaryLoss& op :
       {BinaryLoss{"binary_cross_entropy", probabilities}, BinaryLoss{"binary_cross_entropy_with_logits", logits}}) {
    rows.push_back(UNDEFINED(op.name, op.run(none, x, none)));
    rows.push_back(UNDEFINED(op.name, op.run(x, none, none)));
    rows.push_back(BAD_INPUT(op.name, op.run(x, y, none), ShapeError, "[4, 3] f32", "[5] f32", "unsqueeze()"));
    rows.push_back(BAD_INPUT(op.name, op.run(x, n, none), DTypeError, "target is [4, 3] i64", ".to(kFloat)"));
    rows.push_back(BAD_INPUT(op.name, op.run(n, x, none), DTypeError, "x is [4, 3] i64", ".to(kFloat)"));
    rows.push_back(BAD_INPUT(op.name, op.run(x, x, y), ShapeError, "[5]", "[4, 3]", "equal or 1"));
    rows.push_back(BAD_INPUT(op.name, op.run(x, x, more), ShapeError, "weight is [2, 4, 3] f32", "x [4, 3] f32"));
    rows.push_back(BAD_INPUT(op.name, op.run(x, x, n), DTypeError, "weight is [4, 3] i64", ".to(kFloat)"));
    rows.push_back(ON_TWO_DEVICES(op.name, op.run(x, far, none)));
  }
  return rows;
}

}  // namespace

BadInputs loss_bad_input() {
  BadInputs rows = class_losses();
  const BadInputs more = regression_losses();
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

TEST(LossErrors, BadInputIsRefused) { expect_refused(loss_bad_input()); }

}  // namespace tandem::testing
