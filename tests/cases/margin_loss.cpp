// Losses that compare scores or distances with a margin, and ctc_loss.
#include "tandem/ops/margin_loss.h"

#include "cases/shared.h"
#include "tandem/ops/ctc_loss.h"
#include "tandem/ops/loss.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

/// A case for each reduction. `torch`: the call without its closing parenthesis.
void each_reduction(Cases& c, const Case& row, Tensor (*run)(In, LossReduction)) {
  for (int r = 0; r < 3; ++r) {
    const LossReduction reduction = reductions[r];
    Case one = row;
    one.name += reduction_names[r];
    one.torch += std::string(", reduction='") + reduction_names[r] + "')";
    one.run = [run, reduction](In x) -> Out { return {run(x, reduction)}; };
    c.push_back(one);
  }
}

void margin_losses(Cases& c) {
  const Input signs = values({6}, {1, -1, -1, 1, 1, -1}).constant();
  each_reduction(c,
                 {.op = "margin_ranking_loss",
                  .torch = "F.margin_ranking_loss(a, b, c",
                  .inputs = {normal({6}), normal({6}), signs},
                  .sum = 6,
                  .roundings = 4},
                 [](In x, LossReduction r) { return margin_ranking_loss(x[0], x[1], x[2], 0, r); });
  each_reduction(c,
                 {.op = "margin_ranking_loss",
                  .name = "margin_",
                  .torch = "F.margin_ranking_loss(a, b, c, margin=0.5",
                  .inputs = {normal({4, 6}), normal({4, 6}), values({1, 6}, {1, -1, -1, 1, 1, -1}).constant()},
                  .sum = 24,
                  .roundings = 4},
                 [](In x, LossReduction r) { return margin_ranking_loss(x[0], x[1], x[2], 0.5, r); });
  each_reduction(c,
                 {.op = "cosine_embedding_loss",
                  .torch = "F.cosine_embedding_loss(a, b, c, margin=0.125",
                  .inputs = {normal({6, 8}), normal({6, 8}), signs},
                  .sum = 16,
                  .roundings = 4},
                 [](In x, LossReduction r) { return cosine_embedding_loss(x[0], x[1], x[2], 0.125, r); });
  c.push_back({.op = "cosine_embedding_loss",
               .name = "one_sample",
               .torch = "(F.cosine_embedding_loss(a, b, c), F.cosine_embedding_loss(a, b, d))",
               .inputs = {normal({8}), normal({8}), values({}, {1}).constant(), values({}, {-1}).constant()},
               .run = [](In x) -> Out {
                 return {cosine_embedding_loss(x[0], x[1], x[2]), cosine_embedding_loss(x[0], x[1], x[3])};
               },
               .sum = 8,
               .roundings = 3});
  for (int p = 1; p <= 2; ++p) {
    each_reduction(
        c,
        {.op = "multi_margin_loss",
         .name = p == 1 ? "p1_" : "p2_",
         .torch = p == 1 ? "F.multi_margin_loss(a, b, p=1" : "F.multi_margin_loss(a, b, p=2",
         .inputs = {normal({6, 5}), integers({6}, 0, 5)},
         .sum = 30,
         .roundings = 4},
        p == 1 ? [](In x, LossReduction r) { return multi_margin_loss(x[0], x[1], 1, 1, {}, r); }
               : [](In x, LossReduction r) { return multi_margin_loss(x[0], x[1], 2, 1, {}, r); });
  }
  each_reduction(c,
                 {.op = "multi_margin_loss",
                  .name = "weight_",
                  .torch = "F.multi_margin_loss(a, b, margin=0.5, weight=c",
                  .inputs = {normal({6, 5}), integers({6}, 0, 5), uniform({5}, 0.5, 2).constant()},
                  .sum = 30,
                  .roundings = 4},
                 [](In x, LossReduction r) { return multi_margin_loss(x[0], x[1], 1, 0.5, x[2], r); });
  c.push_back({.op = "multi_margin_loss",
               .name = "one_sample",
               .torch = "(F.multi_margin_loss(a, b), F.multi_margin_loss(a, b, reduction='none'))",
               .inputs = {normal({5}), integers({}, 0, 5)},
               .run = [](In x) -> Out {
                 return {multi_margin_loss(x[0], x[1]), multi_margin_loss(x[0], x[1], 1, 1, {}, kNone)};
               },
               .sum = 5,
               .roundings = 4});
  each_reduction(c,
                 {.op = "multilabel_margin_loss",
                  .torch = "F.multilabel_margin_loss(a, b",
                  .inputs = {normal({4, 5}), values({4, 5}, {3,  0, -1, 2, 2, 1, 1, -1, 0, 0,  //
                                                             -1, 0, 1,  2, 3, 4, 3, 2,  1, 0})
                                                 .as(kLong)},
                  .sum = 25,
                  .roundings = 4,
                  .no_gradgradcheck = "not differentiable twice"},
                 [](In x, LossReduction r) { return multilabel_margin_loss(x[0], x[1], r); });
  c.push_back({.op = "multilabel_margin_loss",
               .name = "one_sample",
               .torch = "F.multilabel_margin_loss(a, b, reduction='none')",
               .inputs = {normal({6}), values({6}, {4, 1, -1, 0, 0, 0}).as(kLong)},
               .run = [](In x) -> Out { return {multilabel_margin_loss(x[0], x[1], kNone)}; },
               .sum = 12,
               .roundings = 4,
               .no_gradgradcheck = "not differentiable twice"});
}

void triplets(Cases& c) {
  const std::vector<Input> three = {normal({5, 7}), normal({5, 7}), normal({5, 7})};
  each_reduction(c,
                 {.op = "triplet_margin_loss",
                  .torch = "F.triplet_margin_loss(a, b, c",
                  .inputs = three,
                  .sum = 14,
                  .roundings = 7},
                 [](In x, LossReduction r) { return triplet_margin_loss(x[0], x[1], x[2], 1, 2, 1e-6, false, r); });
  each_reduction(c,
                 {.op = "triplet_margin_loss",
                  .name = "swap_",
                  .torch = "F.triplet_margin_loss(a, b, c, margin=2, p=3, eps=0.125, swap=True",
                  .inputs = three,
                  .sum = 14,
                  .roundings = 6},
                 [](In x, LossReduction r) { return triplet_margin_loss(x[0], x[1], x[2], 2, 3, 0.125, true, r); });
  c.push_back({.op = "triplet_margin_loss",
               .name = "ranks",
               .torch = "(F.triplet_margin_loss(a, b, c, p=1), F.triplet_margin_loss(d, e, e, reduction='none'))",
               .inputs = {normal({2, 3, 4}), normal({2, 3, 4}), normal({2, 1, 4}), normal({4}), normal({4})},
               .run = [](In x) -> Out {
                 return {triplet_margin_loss(x[0], x[1], x[2], 1, 1),
                         triplet_margin_loss(x[3], x[4], x[4], 1, 2, 1e-6, false, kNone)};
               },
               .sum = 24,
               .roundings = 5});
  c.push_back({.op = "triplet_margin_loss",
               .name = "with_distance",
               .torch =
                   "(F.triplet_margin_with_distance_loss(a, b, c), F.triplet_margin_with_distance_loss(a, b, c, "
                   "distance_function=lambda x, y: (x - y).abs().sum(-1), margin=0.5, swap=True, reduction='none'))",
               .inputs = three,
               .run = [](In x) -> Out {
                 const auto distance = [](const Tensor& a, const Tensor& b) { return sum(abs(sub(a, b)), {-1}); };
                 return {triplet_margin_with_distance_loss(x[0], x[1], x[2]),
                         triplet_margin_with_distance_loss(x[0], x[1], x[2], distance, 0.5, true, kNone)};
               },
               .sum = 14,
               .roundings = 5,
               .no_low = "the distance is computed in the inputs' dtype"});
}

void ctc(Cases& c) {
  const Input x = normal({9, 3, 5}), targets = integers({3, 4}, 1, 5);
  const Case row{.op = "ctc_loss",
                 .inputs = {x, targets},
                 .sum = 80,
                 .roundings = 6,
                 .no_gradgradcheck = "not differentiable twice"};
  Case padded = row;
  padded.name = "padded_";
  padded.torch = "F.ctc_loss(a.log_softmax(2), b, [9, 8, 7], [4, 2, 3]";
  each_reduction(c, padded, [](In x, LossReduction r) {
    return ctc_loss(log_softmax(x[0], 2), x[1], {9, 8, 7}, {4, 2, 3}, 0, r);
  });
  Case joined = row;
  joined.name = "concatenated_";
  joined.inputs = {x, integers({6}, 0, 4)};
  joined.torch = "F.ctc_loss(a.log_softmax(2), b, torch.tensor([9, 5, 9]), torch.tensor([4, 0, 2]), blank=4";
  each_reduction(c, joined, [](In x, LossReduction r) {
    return ctc_loss(log_softmax(x[0], 2), x[1], tensor({9, 5, 9}), tensor({4, 0, 2}), 4, r);
  });
  c.push_back({.op = "ctc_loss",
               .name = "one_sample",
               .torch = "F.ctc_loss(a.log_softmax(1), b, (7,), (3,), reduction='none')",
               .inputs = {normal({7, 4}), values({3}, {1, 1, 2}).as(kInt)},
               .run = [](In x) -> Out { return {ctc_loss(log_softmax(x[0], 1), x[1], {7}, {3}, 0, kNone)}; },
               .sum = 40,
               .roundings = 6,
               .no_gradgradcheck = "not differentiable twice"});
  c.push_back({.op = "ctc_loss",
               .name = "zero_infinity",
               .torch = "(F.ctc_loss(a.log_softmax(2), b, [4, 2, 0], [3, 3, 0], zero_infinity=True), "
                        "F.ctc_loss(a.log_softmax(2), b, [4, 2, 0], [3, 3, 0], zero_infinity=True, reduction='none'))",
               .inputs = {normal({4, 3, 5}), values({3, 3}, {1, 2, 3, 1, 1, 1, 0, 0, 0}).as(kLong)},
               .run = [](In x) -> Out {
                 const Tensor logp = log_softmax(x[0], 2);
                 return {ctc_loss(logp, x[1], {4, 2, 0}, {3, 3, 0}, 0, kMean, true),
                         ctc_loss(logp, x[1], {4, 2, 0}, {3, 3, 0}, 0, kNone, true)};
               },
               .sum = 40,
               .roundings = 6,
               .no_gradgradcheck = "not differentiable twice"});
  c.push_back({.op = "ctc_loss",
               .name = "impossible",
               .torch = "F.ctc_loss(a.log_softmax(2), b, [2, 3], [3, 1], reduction='none')",
               .inputs = {normal({3, 2, 4}), values({2, 3}, {1, 1, 1, 2, 0, 0}).as(kLong)},
               .run = [](In x) -> Out {
                 return {ctc_loss(log_softmax(x[0], 2), x[1], {2, 3}, {3, 1}, 0, kNone)};
               },
               .sum = 40,
               .roundings = 6,
               .no_gradcheck = "an infinite loss"});
}

}  // namespace

Cases margin_loss_cases() {
  Cases c;
  margin_losses(c);
  triplets(c);
  ctc(c);
  return c;
}

}  // namespace tandem::testing
