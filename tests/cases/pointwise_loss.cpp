// Losses of single elements.
#include "tandem/ops/pointwise_loss.h"

#include "cases/shared.h"

namespace tandem::testing {
namespace {

/// Adds a case for each reduction. `torch`: the call without its closing parenthesis.
void each_reduction(Cases& c, const std::string& op, const std::string& name, const std::string& torch,
                    const std::vector<Input>& inputs, Tensor (*run)(In, LossReduction), int roundings = 3) {
  for (int r = 0; r < 3; ++r) {
    const LossReduction reduction = reductions[r];
    c.push_back({.op = op,
                 .name = name + reduction_names[r],
                 .torch = torch + ", reduction='" + reduction_names[r] + "')",
                 .inputs = inputs,
                 .run = [run, reduction](In x) -> Out { return {run(x, reduction)}; },
                 .sum = 40,
                 .roundings = roundings});
  }
}

Input signs(std::vector<int64_t> sizes) {
  std::vector<double> list;
  for (int64_t i = 0; i < numel_of(sizes); ++i) list.push_back(i % 3 == 0 || i % 5 == 2 ? -1 : 1);
  return values(std::move(sizes), list).constant();
}

void differences(Cases& c) {
  const std::vector<Input> pair = {normal({4, 9}), normal({4, 9}).laid_out(MemoryLayout::transposed)};
  each_reduction(c, "l1_loss", "", "F.l1_loss(a, b", pair,
                 [](In x, LossReduction r) { return l1_loss(x[0], x[1], r); });
  each_reduction(c, "smooth_l1_loss", "", "F.smooth_l1_loss(a, b", pair,
                 [](In x, LossReduction r) { return smooth_l1_loss(x[0], x[1], r); });
  each_reduction(c, "smooth_l1_loss", "beta_", "F.smooth_l1_loss(a, b, beta=0.25", pair,
                 [](In x, LossReduction r) { return smooth_l1_loss(x[0], x[1], r, 0.25); });
  each_reduction(c, "huber_loss", "", "F.huber_loss(a, b", pair,
                 [](In x, LossReduction r) { return huber_loss(x[0], x[1], r); });
  each_reduction(c, "huber_loss", "delta_", "F.huber_loss(a, b, delta=2.5", pair,
                 [](In x, LossReduction r) { return huber_loss(x[0], x[1], r, 2.5); });
  c.push_back({.op = "l1_loss",
               .name = "sizes",
               .torch = "(F.l1_loss(a, b), F.l1_loss(c, c * 2, reduction='none'), F.l1_loss(a, d, reduction='sum'))",
               .inputs = {normal({2, 3, 4}), normal({3, 1}), normal({}), normal({2, 3, 4}).constant()},
               .run = [](In x) -> Out {
                 return {l1_loss(x[0], x[1]), l1_loss(x[2], x[2].mul(2), LossReduction::None),
                         l1_loss(x[0], x[3], LossReduction::Sum)};
               },
               .sum = 24,
               .roundings = 3});
  c.push_back({.op = "l1_loss",
               .name = "empty",
               .torch = "(F.l1_loss(a, b), F.l1_loss(a, b, reduction='sum'))",
               .inputs = {normal({0, 3}), normal({0, 3})},
               .run = [](In x) -> Out {
                 return {l1_loss(x[0], x[1]), l1_loss(x[0], x[1], LossReduction::Sum)};
               },
               .no_gradcheck = "nothing to differentiate"});
  c.push_back(
      {.op = "smooth_l1_loss",
       .name = "special",
       .torch = "(F.smooth_l1_loss(a, b, reduction='none'), F.smooth_l1_loss(a, b, reduction='none', beta=0))",
       .inputs = {values({7}, {0, 1, -1, 1e4, -6e4, nan, 0.5}), values({7}, {0, 0, 0, 0, 0, 0, 0.25}).constant()},
       .run = [](In x) -> Out {
         return {smooth_l1_loss(x[0], x[1], LossReduction::None), smooth_l1_loss(x[0], x[1], LossReduction::None, 0)};
       },
       .no_gradcheck = "kinks"});
  c.push_back({.op = "huber_loss",
               .name = "special",
               .torch = "F.huber_loss(a, b, reduction='none')",
               .inputs = {values({6}, {0, 1, -1, 1e4, nan, 0.5}), values({6}, {0, 0, 0, 0, 0, 0.25}).constant()},
               .run = [](In x) -> Out { return {huber_loss(x[0], x[1], LossReduction::None)}; },
               .no_gradcheck = "kinks"});
}

void likelihoods(Cases& c) {
  const std::vector<Input> logs = {normal({4, 9}), normal({4, 9})};
  const std::vector<Input> pair = {normal({4, 9}), uniform({4, 9}, 0.125, 1)};
  const std::vector<Input> counts = {uniform({4, 9}, 0.25, 4), uniform({4, 9}, 1.25, 6)};
  each_reduction(c, "kl_div", "", "F.kl_div(a, b", pair, [](In x, LossReduction r) { return kl_div(x[0], x[1], r); });
  each_reduction(c, "kl_div", "log_target_", "F.kl_div(a, b, log_target=True", logs,
                 [](In x, LossReduction r) { return kl_div(x[0], x[1], r, true); });
  each_reduction(c, "kl_div", "broadcast_", "F.kl_div(a, b, log_target=True", {normal({3, 4, 5}), normal({4, 1})},
                 [](In x, LossReduction r) { return kl_div(x[0], x[1], r, true); });
  each_reduction(c, "kl_div", "zeros_", "F.kl_div(a, b", {normal({2, 2}), values({2, 2}, {0, 1, 0, 0.5}).constant()},
                 [](In x, LossReduction r) { return kl_div(x[0], x[1], r); });
  each_reduction(c, "poisson_nll_loss", "", "F.poisson_nll_loss(a, b", logs,
                 [](In x, LossReduction r) { return poisson_nll_loss(x[0], x[1], true, false, 1e-8, r); });
  each_reduction(
      c, "poisson_nll_loss", "full_", "F.poisson_nll_loss(a, b, log_input=False, full=True, eps=0.5", counts,
      [](In x, LossReduction r) { return poisson_nll_loss(x[0], x[1], false, true, 0.5, r); }, 5);
  c.push_back(
      {.op = "poisson_nll_loss",
       .name = "counts",
       .torch = "(F.poisson_nll_loss(a, b, full=True), F.poisson_nll_loss(a, c, full=True, reduction='none'))",
       .inputs = {normal({12}), integers({12}, 0, 5), values({12}, {0, 1, 2, 3, 4, 5, 0, 1, 1.5, 2, 9, 20}).constant()},
       .run = [](In x) -> Out {
         return {poisson_nll_loss(x[0], x[1], true, true),
                 poisson_nll_loss(x[0], x[2], true, true, 1e-8, LossReduction::None)};
       },
       .sum = 12,
       .roundings = 4});
  each_reduction(c, "gaussian_nll_loss", "", "F.gaussian_nll_loss(a, b, c",
                 {normal({4, 9}), normal({4, 9}), uniform({4, 9}, 0.25, 2)},
                 [](In x, LossReduction r) { return gaussian_nll_loss(x[0], x[1], x[2], false, 1e-6, r); });
  each_reduction(c, "gaussian_nll_loss", "full_", "F.gaussian_nll_loss(a, b, c, full=True, eps=0.0625",
                 {normal({4, 9}), normal({4, 9}), uniform({4}, 0.25, 2)},
                 [](In x, LossReduction r) { return gaussian_nll_loss(x[0], x[1], x[2], true, 0.0625, r); });
  c.push_back({.op = "gaussian_nll_loss",
               .name = "small_variance",
               .torch = "F.gaussian_nll_loss(a, b, c, eps=0.5)",
               .inputs = {normal({3, 4}), normal({3, 4}), uniform({3, 1}, 0, 1)},
               .run = [](In x) -> Out { return {gaussian_nll_loss(x[0], x[1], x[2], false, 0.5)}; },
               .sum = 12,
               .roundings = 3,
               .no_gradcheck = "the gradient passes the bound of the variance"});
}

void margins(Cases& c) {
  each_reduction(c, "hinge_embedding_loss", "", "F.hinge_embedding_loss(a, b", {normal({4, 9}), signs({4, 9})},
                 [](In x, LossReduction r) { return hinge_embedding_loss(x[0], x[1], 1, r); });
  each_reduction(c, "hinge_embedding_loss", "margin_", "F.hinge_embedding_loss(a, b, margin=0.25",
                 {normal({4, 9}), signs({9})},
                 [](In x, LossReduction r) { return hinge_embedding_loss(x[0], x[1], 0.25, r); });
  c.push_back(
      {.op = "hinge_embedding_loss",
       .name = "special",
       .torch = "F.hinge_embedding_loss(a, b, reduction='none')",
       .inputs = {values({8}, {1, 0.5, 2, 1, -3, nan, nan, 0}), values({8}, {-1, -1, -1, 0, 3, 1, -1, 1}).constant()},
       .run = [](In x) -> Out { return {hinge_embedding_loss(x[0], x[1], 1, LossReduction::None)}; },
       .no_gradcheck = "kinks"});
  c.push_back({.op = "hinge_embedding_loss",
               .name = "integer_target",
               .torch = "(F.hinge_embedding_loss(a, b * 2 - 1), F.soft_margin_loss(a, b * 2 - 1))",
               .inputs = {normal({9}), integers({9}, 0, 2)},
               .run = [](In x) -> Out {
                 const Tensor target = x[1].mul(2).sub(1);
                 return {hinge_embedding_loss(x[0], target), soft_margin_loss(x[0], target)};
               },
               .sum = 9,
               .roundings = 3});
  each_reduction(c, "soft_margin_loss", "", "F.soft_margin_loss(a, b", {normal({4, 9}), signs({4, 9})},
                 [](In x, LossReduction r) { return soft_margin_loss(x[0], x[1], r); });
  each_reduction(c, "soft_margin_loss", "real_targets_", "F.soft_margin_loss(a, b",
                 {normal({4, 9}), normal({4, 9}).constant()},
                 [](In x, LossReduction r) { return soft_margin_loss(x[0], x[1], r); });
  each_reduction(
      c, "binary_cross_entropy_with_logits", "multilabel_", "F.multilabel_soft_margin_loss(a, b",
      {normal({4, 5}), uniform({4, 5}, 0, 1).constant()},
      [](In x, LossReduction r) { return multilabel_soft_margin_loss(x[0], x[1], {}, r); }, 4);
  each_reduction(
      c, "binary_cross_entropy_with_logits", "multilabel_weight_", "F.multilabel_soft_margin_loss(a, b, weight=c",
      {normal({4, 5}), uniform({4, 5}, 0, 1).constant(), uniform({5}, 0.5, 2).constant()},
      [](In x, LossReduction r) { return multilabel_soft_margin_loss(x[0], x[1], x[2], r); }, 5);
}

}  // namespace

Cases pointwise_loss_cases() {
  Cases c;
  differences(c);
  likelihoods(c);
  margins(c);
  return c;
}

}  // namespace tandem::testing
