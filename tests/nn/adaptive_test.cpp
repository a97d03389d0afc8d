// AdaptiveLogSoftmaxWithLoss: values and gradients against PyTorch, the distribution, autocast, bad input.
#include "tandem/nn/modules/adaptive.h"

#include <gtest/gtest.h>

#include "nn/golden_modules.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/tensor/random.h"

namespace tandem {
namespace {

using AdaptiveOptions = nn::AdaptiveLogSoftmaxWithLossOptions;

TEST(AdaptiveLogSoftmaxWithLoss, MatchesPyTorch) {
  for (const DType dtype : {kDouble, kFloat}) {
    for (const bool bias : {false, true}) {
      nn::AdaptiveLogSoftmaxWithLoss module(bias ? AdaptiveOptions(16, 12, {3, 5, 9}).div_value(2).head_bias(true)
                                                 : AdaptiveOptions(16, 12, {4, 8}));
      testing::prepare(*module, dtype);
      const Tensor x = testing::leaf("features", {7, 16}, dtype), target = tensor({0, 11, 3, 5, 2, 8, 4});
      const nn::ASMoutput y = module(x, target);
      testing::compare(bias ? "adaptive_bias" : "adaptive", *module, {x},
                       {y.output, y.loss.reshape({1}), module->log_prob(x), module->predict(x).to(dtype)}, dtype);
    }
    nn::AdaptiveLogSoftmaxWithLoss module(16, 12, std::vector<int64_t>{4, 8});
    testing::prepare(*module, dtype);
    const Tensor x = testing::leaf("one", {16}, dtype);
    const nn::ASMoutput y = module(x, tensor(9));
    testing::compare("adaptive_unbatched", *module, {x}, {y.output, y.loss, module->log_prob(x.unsqueeze(0))}, dtype);
  }
}

TEST(AdaptiveLogSoftmaxWithLoss, IsADistribution) {
  nn::AdaptiveLogSoftmaxWithLoss module(16, 20, std::vector<int64_t>{5, 10});
  const Tensor x = randn({30, 16}) * 4, target = randint(0, 20, {30}, kLong);
  const Tensor log_probs = module->log_prob(x);
  EXPECT_TRUE(allclose(log_probs.exp().sum(1), ones({30})));
  EXPECT_TRUE(allclose(module(x, target).output, log_probs.gather(1, target.unsqueeze(1)).squeeze(1), 1e-5, 1e-6));
  EXPECT_TRUE(equal(module->predict(x), log_probs.argmax(1)));
  EXPECT_TRUE(equal(module->predict(x[3]), log_probs[3].argmax()));
  EXPECT_EQ(module->named_parameters().keys(),
            (std::vector<std::string>{"head.weight", "tail.0.0.weight", "tail.0.1.weight", "tail.1.0.weight",
                                      "tail.1.1.weight"}));
}

TEST(AdaptiveLogSoftmaxWithLoss, KeepsLogProbabilitiesInF32UnderAutocast) {
  nn::AdaptiveLogSoftmaxWithLoss module(16, 20, std::vector<int64_t>{5, 10});
  const amp::AutocastGuard region(testing::device_type(), kBFloat16);
  const nn::ASMoutput y = module(randn({6, 16}), tensor({0, 7, 19, 4, 12, 5}));
  EXPECT_EQ(y.output.dtype(), kFloat);
  y.loss.backward();
  EXPECT_EQ(module->head->weight.grad().dtype(), kFloat);
}

TEST(AdaptiveLogSoftmaxWithLoss, BadInputIsRefused) {
  const auto made = [](std::vector<int64_t> cutoffs, double div_value = 4) {
    return nn::AdaptiveLogSoftmaxWithLoss(AdaptiveOptions(16, 20, std::move(cutoffs)).div_value(div_value));
  };
  EXPECT_THROWS(made({}), StateError, "cutoffs = []", "n_classes = 20");
  EXPECT_THROWS(made({5, 5}), StateError, "cutoffs = [5, 5]");
  EXPECT_THROWS(made({0, 5}), StateError, "cutoffs = [0, 5]");
  EXPECT_THROWS(made({5, 20}), StateError, "cutoffs = [5, 20]");
  EXPECT_THROWS(made({5, 6, 7}), StateError, "cluster 2", "16 / 4^3", "div_value");
  EXPECT_THROWS(made({5}, 0), StateError, "div_value = 0");
  auto module = made({5, 10});
  const Tensor x = zeros({3, 16});
  EXPECT_THROWS(module(zeros({3, 15}), tensor({0, 1, 2})), ShapeError, "[3, 15]", "[N, 16]");
  EXPECT_THROWS(module(x, tensor({0, 1})), ShapeError, "[2]", "[3, 16]");
  EXPECT_THROWS(module(x, zeros({3})), DTypeError, "f32");
  EXPECT_THROWS(module(x, tensor({0, 20, 1})), IndexError, "class 20", "[0, 20)");
  EXPECT_THROWS(module(x, tensor({0, -1, 1})), IndexError, "class -1", "[0, 20)");
  EXPECT_THROWS(module->log_prob(zeros({16})), ShapeError, "[16]", "[N, 16]");
}

}  // namespace
}  // namespace tandem
