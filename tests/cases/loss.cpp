// Losses.
#include "tandem/ops/loss.h"

#include "cases/shared.h"
#include "tandem/ops/softmax.h"

namespace tandem::testing {
namespace {

void classes(Cases& c) {
  for (int r = 0; r < 3; ++r) {
    const LossReduction reduction = reductions[r];
    const std::string option = std::string("reduction='") + reduction_names[r] + "'";
    c.push_back({.op = "nll_loss",
                 .name = reduction_names[r],
                 .torch = "F.nll_loss(a, b, " + option + ")",
                 .inputs = {normal({6, 5}), integers({6}, 0, 5)},
                 .run = [reduction](In x) -> Out { return {nll_loss(x[0], x[1], {}, reduction)}; },
                 .sum = 6});
    c.push_back({.op = "nll_loss",
                 .name = std::string("weight_") + reduction_names[r],
                 .torch = "F.nll_loss(a, b, c, ignore_index=2, " + option + ")",
                 .inputs = {normal({9, 4}), integers({9}, 0, 4), uniform({4}, 0.5, 2).constant()},
                 .run = [reduction](In x) -> Out { return {nll_loss(x[0], x[1], x[2], reduction, 2)}; },
                 .sum = 9});
    c.push_back({.op = "nll_loss",
                 .name = std::string("pixels_") + reduction_names[r],
                 .torch = "F.nll_loss(a, b, c, ignore_index=0, " + option + ")",
                 .inputs = {normal({2, 4, 3, 2}), integers({2, 3, 2}, 0, 4), uniform({4}, 0.5, 2).constant()},
                 .run = [reduction](In x) -> Out { return {nll_loss(x[0], x[1], x[2], reduction, 0)}; },
                 .sum = 12});
    c.push_back({.op = "cross_entropy",
                 .name = reduction_names[r],
                 .torch = "F.cross_entropy(a, b, " + option + ")",
                 .inputs = {normal({6, 5}), integers({6}, 0, 5)},
                 .run = [reduction](In x) -> Out { return {cross_entropy(x[0], x[1], {}, reduction)}; },
                 .sum = 12,
                 .roundings = 3,
                 .autocast_as = "nll_loss"});
    c.push_back({.op = "cross_entropy",
                 .name = std::string("all_options_") + reduction_names[r],
                 .torch = "F.cross_entropy(a, b, c, ignore_index=1, label_smoothing=0.25, " + option + ")",
                 .inputs = {normal({9, 5}), integers({9}, 0, 5), uniform({5}, 0.5, 2).constant()},
                 .run = [reduction](In x) -> Out { return {cross_entropy(x[0], x[1], x[2], reduction, 1, 0.25)}; },
                 .sum = 50,
                 .roundings = 8,
                 .autocast_as = "nll_loss"});
    c.push_back({.op = "cross_entropy",
                 .name = std::string("probabilities_") + reduction_names[r],
                 .torch = "F.cross_entropy(a, b, c, label_smoothing=0.125, " + option + ")",
                 .inputs = {normal({4, 5}), uniform({4, 5}, 0, 1), uniform({5}, 0.5, 2).constant()},
                 .run = [reduction](In x) -> Out { return {cross_entropy(x[0], x[1], x[2], reduction, -100, 0.125)}; },
                 .sum = 25,
                 .roundings = 8,
                 .autocast_as = "nll_loss"});
  }
  c.push_back({.op = "nll_loss",
               .name = "image",
               .torch = "torch.nn.functional.nll_loss(a, b)",
               .inputs = {normal({2, 4, 3, 2}), integers({2, 3, 2}, 0, 4)},
               .run = [](In x) -> Out { return {nll_loss2d(x[0], x[1])}; },
               .sum = 12});
  c.push_back({.op = "nll_loss",
               .name = "one_sample",
               .torch = "F.nll_loss(a, b)",
               .inputs = {normal({5}), integers({}, 0, 5)},
               .run = [](In x) -> Out { return {nll_loss(x[0], x[1])}; }});
  c.push_back({.op = "nll_loss",
               .name = "all_ignored",
               .torch = "(F.nll_loss(a, b), F.nll_loss(a, b, reduction='sum'))",
               .inputs = {normal({3, 4}), values({3}, {-100, -100, -100}).as(kLong)},
               .run = [](In x) -> Out {
                 return {nll_loss(x[0], x[1]), nll_loss(x[0], x[1], {}, kSum)};
               },
               .no_gradcheck = "NaN by definition"});
  c.push_back({.op = "cross_entropy",
               .name = "smoothing",
               .torch = "F.cross_entropy(a, b, label_smoothing=0.5)",
               .inputs = {normal({4, 7}), integers({4}, 0, 7)},
               .run = [](In x) -> Out { return {cross_entropy(x[0], x[1], {}, kMean, -100, 0.5)}; },
               .sum = 28,
               .roundings = 8,
               .autocast_as = "nll_loss"});
  c.push_back({.op = "cross_entropy",
               .name = "pixels",
               .torch = "(F.cross_entropy(a, b), F.cross_entropy(a, c, label_smoothing=0.25))",
               .inputs = {normal({2, 4, 3}), integers({2, 3}, 0, 4), uniform({2, 4, 3}, 0, 1).constant()},
               .run = [](In x) -> Out {
                 return {cross_entropy(x[0], x[1]), cross_entropy(x[0], x[2], {}, kMean, -100, 0.25)};
               },
               .sum = 24,
               .roundings = 8,
               .autocast_as = "nll_loss"});
  c.push_back({.op = "cross_entropy",
               .name = "one_sample",
               .torch = "F.cross_entropy(a, b)",
               .inputs = {normal({5}), integers({}, 0, 5)},
               .run = [](In x) -> Out { return {cross_entropy(x[0], x[1])}; },
               .sum = 5,
               .roundings = 3,
               .autocast_as = "nll_loss"});
  c.push_back({.op = "cross_entropy",
               .name = "large_logits",
               .torch = "F.cross_entropy(a, b, reduction='none')",
               .inputs = {values({3, 3}, {1000, 0, -1000, -500, 500, 0, 0, 90, -90}), values({3}, {0, 2, 0}).as(kLong)},
               .run = [](In x) -> Out { return {cross_entropy(x[0], x[1], {}, kNone)}; },
               .sum = 3,
               .roundings = 3,
               .autocast_as = "nll_loss"});
}

void pairs(Cases& c) {
  for (int r = 0; r < 3; ++r) {
    const LossReduction reduction = reductions[r];
    const std::string option = std::string("reduction='") + reduction_names[r] + "'";
    c.push_back({.op = "mse_loss",
                 .name = reduction_names[r],
                 .torch = "F.mse_loss(a, b, " + option + ")",
                 .inputs = {normal({4, 9}), normal({4, 9}).laid_out(MemoryLayout::transposed)},
                 .run = [reduction](In x) -> Out { return {mse_loss(x[0], x[1], reduction)}; },
                 .sum = 36,
                 .roundings = 2});
    c.push_back(
        {.op = "binary_cross_entropy_with_logits",
         .name = reduction_names[r],
         .torch = "F.binary_cross_entropy_with_logits(a, b, " + option + ")",
         .inputs = {normal({4, 7}), uniform({4, 7}, 0, 1)},
         .run = [reduction](In x) -> Out { return {binary_cross_entropy_with_logits(x[0], x[1], {}, {}, reduction)}; },
         .sum = 28,
         .roundings = 2});
    c.push_back({.op = "binary_cross_entropy_with_logits",
                 .name = std::string("weights_") + reduction_names[r],
                 .torch = "F.binary_cross_entropy_with_logits(a, b, c, pos_weight=d, " + option + ")",
                 .inputs = {normal({4, 7}), uniform({4, 7}, 0, 1).constant(), uniform({4, 1}, 0.5, 2).constant(),
                            uniform({7}, 0.5, 2).constant()},
                 .run = [reduction](In x) -> Out {
                   return {binary_cross_entropy_with_logits(x[0], x[1], x[2], x[3], reduction)};
                 },
                 .sum = 28,
                 .roundings = 4});
    c.push_back({.op = "binary_cross_entropy",
                 .name = reduction_names[r],
                 .torch = "F.binary_cross_entropy(a, b, c, " + option + ")",
                 .inputs = {uniform({4, 7}, 0.125, 0.875), uniform({4, 7}, 0, 1).constant(),
                            uniform({4, 7}, 0.5, 2).constant()},
                 .run = [reduction](In x) -> Out { return {binary_cross_entropy(x[0], x[1], x[2], reduction)}; },
                 .sum = 28,
                 .roundings = 4});
  }
  c.push_back(
      {.op = "binary_cross_entropy_with_logits",
       .name = "large_logits",
       .torch = "F.binary_cross_entropy_with_logits(a, b, reduction='none')",
       .inputs = {values({6}, {100, -100, 1000, -1000, 0, 40}), values({6}, {1, 1, 0, 0, 0.5, 0.25}).constant()},
       .run = [](In x) -> Out { return {binary_cross_entropy_with_logits(x[0], x[1], {}, {}, kNone)}; },
       .no_gradcheck = "numbers too large for differences"});
  c.push_back({.op = "binary_cross_entropy",
               .name = "certain",
               .torch = "F.binary_cross_entropy(a, b, reduction='none')",
               .inputs = {values({4}, {0, 1, 0, 1}), values({4}, {0, 1, 1, 0}).constant()},
               .run = [](In x) -> Out { return {binary_cross_entropy(x[0], x[1], {}, kNone)}; },
               .no_gradcheck = "logarithms are cut at -100",
               .no_low = "1e-12, the divisor's bound, is 0 in f16"});
}

}  // namespace

Cases loss_cases() {
  Cases c;
  classes(c);
  pairs(c);
  return c;
}

}  // namespace tandem::testing
