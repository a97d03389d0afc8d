// Margin losses and ctc_loss reject arguments that do not fit, and say that they cannot be differentiated twice.
#include <cmath>

#include "ops/bad_input.h"
#include "support/device.h"
#include "tandem/autograd/engine.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

BadInputs pairs_and_triplets() {
  const Tensor none, x = ones({4, 3}), y = ones({5}), n = ones({4, 3}, kLong), far = on_another_device({4, 3});
  const Tensor four = ones({4}), wide = ones({4, 5});
  const LossReduction bad = static_cast<LossReduction>(7);
  return {
      UNDEFINED("margin_ranking_loss", margin_ranking_loss(none, x, x)),
      UNDEFINED("margin_ranking_loss", margin_ranking_loss(x, none, x)),
      UNDEFINED("margin_ranking_loss", margin_ranking_loss(x, x, none)),
      BAD_INPUT("margin_ranking_loss", margin_ranking_loss(x, x, four), ShapeError, "target is [4] f32", "one rank"),
      BAD_INPUT("margin_ranking_loss", margin_ranking_loss(x, wide, x), ShapeError, "[4, 3]", "[4, 5]", "equal or 1"),
      BAD_INPUT("margin_ranking_loss", margin_ranking_loss(n, x, x), DTypeError, "x1 is [4, 3] i64", ".to(kFloat)"),
      BAD_INPUT("margin_ranking_loss", margin_ranking_loss(x, x, x, 0, bad), StateError, "reduction = 7"),
      ON_TWO_DEVICES("margin_ranking_loss", margin_ranking_loss(x, far, x)),
      UNDEFINED("cosine_embedding_loss", cosine_embedding_loss(none, x, four)),
      UNDEFINED("cosine_embedding_loss", cosine_embedding_loss(x, none, four)),
      UNDEFINED("cosine_embedding_loss", cosine_embedding_loss(x, x, none)),
      BAD_INPUT("cosine_embedding_loss", cosine_embedding_loss(x, x, x), ShapeError, "target is [4, 3] f32", "[N]"),
      BAD_INPUT("cosine_embedding_loss", cosine_embedding_loss(x, wide, four), ShapeError, "[4, 3]", "[4, 5]"),
      BAD_INPUT("cosine_embedding_loss", cosine_embedding_loss(x, x, y), ShapeError, "[4]", "[5]", "equal or 1"),
      BAD_INPUT("cosine_embedding_loss", cosine_embedding_loss(x, n, four), DTypeError, "x2 is [4, 3] i64"),
      ON_TWO_DEVICES("cosine_embedding_loss", cosine_embedding_loss(x, far, four)),
      UNDEFINED("triplet_margin_loss", triplet_margin_loss(none, x, x)),
      UNDEFINED("triplet_margin_loss", triplet_margin_loss(x, none, x)),
      UNDEFINED("triplet_margin_loss", triplet_margin_loss(x, x, none)),
      BAD_INPUT("triplet_margin_loss", triplet_margin_loss(x, x, four), ShapeError, "negative is [4] f32", "one rank"),
      BAD_INPUT("triplet_margin_loss", triplet_margin_loss(x, wide, x), ShapeError, "[4, 3]", "[4, 5]", "equal or 1"),
      BAD_INPUT("triplet_margin_loss", triplet_margin_loss(x, n, x), DTypeError, "positive is [4, 3] i64"),
      BAD_INPUT("triplet_margin_loss", triplet_margin_loss(x, x, x, 1, 0), StateError, "p = 0", "positive"),
      BAD_INPUT("triplet_margin_loss", triplet_margin_loss(x, x, x, 1, std::nan("")), StateError, "p = nan"),
      ON_TWO_DEVICES("triplet_margin_loss", triplet_margin_loss(x, x, far)),
      UNDEFINED("triplet_margin_with_distance_loss", triplet_margin_with_distance_loss(none, x, x)),
      BAD_INPUT("triplet_margin_with_distance_loss", triplet_margin_with_distance_loss(x, x, four), ShapeError,
                "negative is [4] f32", "one rank"),
      BAD_INPUT("triplet_margin_with_distance_loss",
                triplet_margin_with_distance_loss(x, x, x, [](const Tensor&, const Tensor&) { return Tensor(); }),
                StateError, "distance function", "undefined"),
      ON_TWO_DEVICES("triplet_margin_with_distance_loss", triplet_margin_with_distance_loss(x, x, far)),
  };
}

BadInputs scores() {
  const Tensor none, x = ones({4, 3}), t = tensor({0, 1, 2, 0}), y = ones({5}), labels = zeros({4, 3}, kLong);
  const LossReduction mean = LossReduction::Mean;
  const Tensor far_t = on_another_device({4}, kLong), far_labels = on_another_device({4, 3}, kLong);
  return {
      UNDEFINED("multi_margin_loss", multi_margin_loss(none, t)),
      UNDEFINED("multi_margin_loss", multi_margin_loss(x, none)),
      BAD_INPUT("multi_margin_loss", multi_margin_loss(ones({2, 3, 4}), t), ShapeError, "[2, 3, 4] f32", "[N, C]"),
      BAD_INPUT("multi_margin_loss", multi_margin_loss(ones({4, 0}), t), ShapeError, "[4, 0] f32", "one class"),
      BAD_INPUT("multi_margin_loss", multi_margin_loss(x, tensor({0, 1})), ShapeError, "target is [2] i64", "[4]"),
      BAD_INPUT("multi_margin_loss", multi_margin_loss(x, t.to(kFloat)), DTypeError, "target is [4] f32", ".to(kLong)"),
      BAD_INPUT("multi_margin_loss", multi_margin_loss(labels, t), DTypeError, "x is [4, 3] i64", ".to(kFloat)"),
      BAD_INPUT("multi_margin_loss", multi_margin_loss(x, t, 3), StateError, "p = 3", "1 or 2"),
      BAD_INPUT("multi_margin_loss", multi_margin_loss(x, t, 1, 1, y), ShapeError, "weight is [5] f32", "[3]"),
      BAD_INPUT("multi_margin_loss", multi_margin_loss(x, t, 1, 1, ones({3}, kLong)), DTypeError, "weight is [3] i64"),
      BAD_INPUT("multi_margin_loss", multi_margin_loss(x, t.add(1)), IndexError, "index 3", "size 3"),
      ON_TWO_DEVICES("multi_margin_loss", multi_margin_loss(x, far_t)),
      UNDEFINED("multilabel_margin_loss", multilabel_margin_loss(none, labels)),
      UNDEFINED("multilabel_margin_loss", multilabel_margin_loss(x, none)),
      BAD_INPUT("multilabel_margin_loss", multilabel_margin_loss(x, t), ShapeError, "target is [4] i64", "[4, 3]"),
      BAD_INPUT("multilabel_margin_loss", multilabel_margin_loss(ones({}), labels), ShapeError, "[] f32", "[N, C]"),
      BAD_INPUT("multilabel_margin_loss", multilabel_margin_loss(x, x), DTypeError, "target is [4, 3] f32"),
      BAD_INPUT("multilabel_margin_loss", multilabel_margin_loss(x, labels.add(3)), IndexError, "index 3", "size 3"),
      BAD_INPUT("multilabel_margin_loss", multilabel_margin_loss(x, labels, static_cast<LossReduction>(7)), StateError,
                "reduction = 7"),
      BAD_INPUT(
          "multilabel_margin_loss",
          [&] {
            const Tensor leaf = ones({4, 3}).requires_grad_();
            const auto first = autograd::grad({multilabel_margin_loss(leaf, labels, mean)}, {leaf}, {}, true, true);
            return autograd::grad({sum(first[0])}, {leaf});
          }(),
          NotImplementedError, "cannot be differentiated again", "create_graph"),
      ON_TWO_DEVICES("multilabel_margin_loss", multilabel_margin_loss(x, far_labels)),
  };
}

BadInputs ctc() {
  const Tensor none, x = zeros({5, 2, 4}), t = ones({2, 3}, kLong), lengths = tensor({3, 2});
  const Dims in{5, 5}, out{3, 2};
  const Tensor far = on_another_device({2, 3}, kLong);
  return {
      UNDEFINED("ctc_loss", ctc_loss(none, t, in, out)),
      UNDEFINED("ctc_loss", ctc_loss(x, none, in, out)),
      UNDEFINED("ctc_loss", ctc_loss(x, t, none, lengths)),
      UNDEFINED("ctc_loss", ctc_loss(x, t, lengths, none)),
      BAD_INPUT("ctc_loss", ctc_loss(zeros({5}), t, in, out), ShapeError, "[5] f32", "[T, N, C]"),
      BAD_INPUT("ctc_loss", ctc_loss(zeros({0, 2, 4}), t, in, out), ShapeError, "[0, 2, 4] f32", "one step"),
      BAD_INPUT("ctc_loss", ctc_loss(x, zeros({2, 1, 1}, kLong), in, out), ShapeError, "[2, 1, 1] i64", "[N, S]"),
      BAD_INPUT("ctc_loss", ctc_loss(x, zeros({3, 3}, kLong), in, out), ShapeError, "[3, 3] i64", "2 samples"),
      BAD_INPUT("ctc_loss", ctc_loss(zeros({5, 4}), t, {5}, {3}), ShapeError, "[2, 3] i64", "single sample"),
      BAD_INPUT("ctc_loss", ctc_loss(x, zeros({6}, kLong), in, out), ShapeError, "[6] i64", "sum to 5", "padded"),
      BAD_INPUT("ctc_loss", ctc_loss(x, t, {5}, out), ShapeError, "1 input_lengths", "2 samples"),
      BAD_INPUT("ctc_loss", ctc_loss(x, t, in, {1, 2, 3}), ShapeError, "3 target_lengths", "2 samples"),
      BAD_INPUT("ctc_loss", ctc_loss(x, t, {5, 6}, out), StateError, "input_lengths[1] = 6", "5 steps"),
      BAD_INPUT("ctc_loss", ctc_loss(x, t, {-1, 5}, out), StateError, "input_lengths[0] = -1"),
      BAD_INPUT("ctc_loss", ctc_loss(x, t, in, {4, 2}), StateError, "target_lengths[0] = 4", "[2, 3] i64"),
      BAD_INPUT("ctc_loss", ctc_loss(x, t, in, {3, -2}), StateError, "target_lengths[1] = -2"),
      BAD_INPUT("ctc_loss", ctc_loss(x, t, in, out, 4), IndexError, "blank = 4", "[5, 2, 4] f32"),
      BAD_INPUT("ctc_loss", ctc_loss(x, t, in, out, -1), IndexError, "blank = -1", "[5, 2, 4] f32"),
      BAD_INPUT("ctc_loss", ctc_loss(x, t.mul(4), in, out), IndexError, "index 4", "size 4"),
      BAD_INPUT("ctc_loss", ctc_loss(x, t.to(kFloat), in, out), DTypeError, "targets is [2, 3] f32", ".to(kLong)"),
      BAD_INPUT("ctc_loss", ctc_loss(x.to(kLong), t, in, out), DTypeError, "log_probs is [5, 2, 4] i64"),
      BAD_INPUT("ctc_loss", ctc_loss(x, t, lengths.to(kFloat), lengths), DTypeError, "input_lengths is [2] f32"),
      BAD_INPUT("ctc_loss", ctc_loss(x, t, lengths, t), ShapeError, "target_lengths is [2, 3] i64", "[N]"),
      BAD_INPUT("ctc_loss", ctc_loss(x, t, in, out, 0, static_cast<LossReduction>(7)), StateError, "reduction = 7"),
      BAD_INPUT(
          "ctc_loss",
          [&] {
            const Tensor leaf = zeros({5, 2, 4}).requires_grad_();
            const auto first = autograd::grad({ctc_loss(leaf, t, in, out)}, {leaf}, {}, true, true);
            return autograd::grad({sum(first[0])}, {leaf});
          }(),
          NotImplementedError, "cannot be differentiated again", "create_graph"),
      ON_TWO_DEVICES("ctc_loss", ctc_loss(x, far, in, out)),
  };
}

}  // namespace

BadInputs margin_loss_bad_input() {
  BadInputs rows = pairs_and_triplets();
  for (const BadInputs& more : {scores(), ctc()}) rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

TEST(MarginLossErrors, BadInputIsRefused) { expect_refused(margin_loss_bad_input()); }

}  // namespace tandem::testing
