// Losses of single elements reject operands and parameters that do not fit.
#include <cmath>

#include "ops/bad_input.h"
#include "support/device.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

BadInputs pointwise_loss_bad_input() {
  const Tensor none, x = full({4, 3}, 0.5), y = ones({5}), n = ones({4, 3}, kLong), far = on_another_device({4, 3});
  const LossReduction mean = LossReduction::Mean, bad = static_cast<LossReduction>(7);
  const Tensor negative = full({4, 3}, -1.0);
  BadInputs rows = {
      BAD_INPUT("smooth_l1_loss", smooth_l1_loss(x, x, mean, -1), StateError, "beta = -1", "at least 0"),
      BAD_INPUT("smooth_l1_loss", smooth_l1_loss(x, x, mean, std::nan("")), StateError, "beta = nan"),
      BAD_INPUT("huber_loss", huber_loss(x, x, mean, 0), StateError, "delta = 0", "positive"),
      BAD_INPUT("huber_loss", huber_loss(x, x, mean, std::nan("")), StateError, "delta = nan", "positive"),
      BAD_INPUT("poisson_nll_loss", poisson_nll_loss(x, x, true, false, -1), StateError, "eps = -1", "at least 0"),
      UNDEFINED("gaussian_nll_loss", gaussian_nll_loss(none, x, x)),
      UNDEFINED("gaussian_nll_loss", gaussian_nll_loss(x, none, x)),
      UNDEFINED("gaussian_nll_loss", gaussian_nll_loss(x, x, none)),
      BAD_INPUT("gaussian_nll_loss", gaussian_nll_loss(x, x, y), ShapeError, "var is [5] f32", "x is [4, 3] f32"),
      BAD_INPUT("gaussian_nll_loss", gaussian_nll_loss(x, x, ones({1, 1})), ShapeError, "var is [1, 1] f32"),
      BAD_INPUT("gaussian_nll_loss", gaussian_nll_loss(x, y, x), ShapeError, "[4, 3]", "[5]", "equal or 1"),
      BAD_INPUT("gaussian_nll_loss", gaussian_nll_loss(x, x, n), DTypeError, "var is [4, 3] i64", ".to(kFloat)"),
      BAD_INPUT("gaussian_nll_loss", gaussian_nll_loss(x, x, x, false, 0), StateError, "eps = 0", "positive"),
      ON_TWO_DEVICES("gaussian_nll_loss", gaussian_nll_loss(x, x, far)),
      UNDEFINED("multilabel_soft_margin_loss", multilabel_soft_margin_loss(none, x)),
      UNDEFINED("multilabel_soft_margin_loss", multilabel_soft_margin_loss(x, none)),
      BAD_INPUT("multilabel_soft_margin_loss", multilabel_soft_margin_loss(x, y), ShapeError, "[4, 3] f32", "[5] f32"),
      BAD_INPUT("multilabel_soft_margin_loss", multilabel_soft_margin_loss(x, x, y), ShapeError, "[5]", "equal or 1"),
      BAD_INPUT("multilabel_soft_margin_loss", multilabel_soft_margin_loss(ones({}), ones({})), ShapeError,
                "x is [] f32", "[N, C]"),
      BAD_INPUT("multilabel_soft_margin_loss", multilabel_soft_margin_loss(x, x, none, bad), StateError,
                "reduction = 7"),
      ON_TWO_DEVICES("multilabel_soft_margin_loss", multilabel_soft_margin_loss(x, far)),
  };
  if (x.is_cpu()) {
    rows.push_back(
        BAD_INPUT("gaussian_nll_loss", gaussian_nll_loss(x, x, negative), StateError, "negative", "at least 0"));
  }
  struct PairLoss {
    const char* name;
    Tensor (*run)(const Tensor& x, const Tensor& target, LossReduction reduction);
    bool integer_target;
  };
  for (const PairLoss& loss : {
           PairLoss{"l1_loss", [](const Tensor&a, const Tensor&b, LossReduction r) { return l1_loss(a, b, r); }, false},
           PairLoss{"smooth_l1_loss",
                    [](const Tensor&a, const Tensor&b, LossReduction r) { return smooth_l1_loss(a, b, r); }, false},
           PairLoss{"huber_loss", [](const Tensor&a, const Tensor&b, LossReduction r) { return huber_loss(a, b, r); },
                    false},
           PairLoss{"kl_div", [](const Tensor&a, const Tensor&b, LossReduction r) { return kl_div(a, b, r); }, false},
           PairLoss{"poisson_nll_loss",
                    [](const Tensor&a, const Tensor&b, LossReduction r) {
                      return poisson_nll_loss(a, b, true, false, 1e-8, r);
                    },
                    true},
           PairLoss{"hinge_embedding_loss",
                    [](const Tensor&a, const Tensor&b, LossReduction r) { return hinge_embedding_loss(a, b, 1, r); },
                    true},
           PairLoss{"soft_margin_loss",
                    [](const Tensor&a, const Tensor&b, LossReduction r) { return soft_margin_loss(a, b, r); }, true},
       }) {
    rows.push_back(UNDEFINED(loss.name, loss.run(none, x, mean)));
    rows.push_back(UNDEFINED(loss.name, loss.run(x, none, mean)));
    rows.push_back(BAD_INPUT(loss.name, loss.run(x, y, mean), ShapeError, "[4, 3]", "[5]", "equal or 1"));
    rows.push_back(BAD_INPUT(loss.name, loss.run(n, x, mean), DTypeError, "x is [4, 3] i64", ".to(kFloat)"));
    rows.push_back(BAD_INPUT(loss.name, loss.run(x, x, bad), StateError, "reduction = 7", "Mean"));
    rows.push_back(ON_TWO_DEVICES(loss.name, loss.run(x, far, mean)));
    if (loss.integer_target) continue;
    rows.push_back(BAD_INPUT(loss.name, loss.run(x, n, mean), DTypeError, "target is [4, 3] i64", ".to(kFloat)"));
  }
  return rows;
}

TEST(PointwiseLossErrors, BadInputIsRefused) { expect_refused(pointwise_loss_bad_input()); }

}  // namespace tandem::testing
