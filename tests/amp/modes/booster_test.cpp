// The Booster's modes: dtypes, scales, hysteresis, and the naive mode against hand-written f32 master weights.
#include "tandem/amp/modes/booster.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/device.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/meta.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

using amp::Booster;

nn::Sequential make_net() {
  return nn::Sequential(nn::Linear(4, 16), nn::BatchNorm1d(nn::BatchNormOptions(16)), nn::ReLU(), nn::Linear(16, 3));
}

TEST(Booster, ModeNamesSetDtypesAndScales) {
  struct Row {
    const char* mode;
    DType weight, norm, output, loss;
    double scale;
  };
  for (const Row& row :
       {Row{"fp16", kFloat, kFloat, kHalf, kFloat, 65536}, Row{"bf16", kFloat, kFloat, kBFloat16, kFloat, 1},
        Row{"fp8", kFloat, kFloat, kBFloat16, kFloat, 1}, Row{"fp16_naive", kHalf, kHalf, kFloat, kFloat, 65536}}) {
    SCOPED_TRACE(row.mode);
    nn::Sequential model = make_net();
    optim::SGD sgd(model->parameters(), optim::SGDOptions(0.1));
    nn::CrossEntropyLoss criterion;
    int loader = 7, scheduler = 8;
    Booster booster(row.mode);
    EXPECT_EQ(booster.mixed_precision()->name(), row.mode);
    auto [net, opt, loss_of, data, schedule] = booster.boost(model, sgd, criterion, loader, scheduler);
    EXPECT_EQ(&data, &loader);
    EXPECT_EQ(&schedule, &scheduler);
    EXPECT_EQ(model->parameters()[0].dtype(), row.weight);
    EXPECT_EQ(model->parameters()[2].dtype(), row.norm);
    const Tensor x = randn({8, 4}), y = randint(0, 3, {8}, kLong);
    const Tensor scores = net(x), loss = loss_of(scores, y);
    EXPECT_EQ(scores.dtype(), row.output);
    EXPECT_EQ(loss.dtype(), row.loss);
    EXPECT_FALSE(amp::is_autocast_enabled(device_type()));
    EXPECT_EQ(booster.scale(opt), row.scale);
    const Tensor before = sgd.master(model->parameters()[0]).clone();
    booster.backward(loss, opt);
    booster.unscale_(opt);
    EXPECT_LT(nn::utils::clip_grad_norm_(opt.parameters(), 1e9).item<double>(), 100);
    opt.step();
    EXPECT_FALSE(sgd.master(model->parameters()[0]).eq(before).all().item<bool>());
  }
  Booster apex("fp16_apex");
  EXPECT_EQ(apex.mixed_precision()->name(), "fp16_apex");
  EXPECT_EQ(Booster().mixed_precision(), nullptr);
}

TEST(Booster, AcceptsAFunctionAsCriterion) {
  nn::Sequential model = make_net();
  optim::SGD sgd(model->parameters(), optim::SGDOptions(0.1));
  bool autocast = false;
  auto criterion = [&](const Tensor& scores, const Tensor& target) {
    autocast = amp::is_autocast_enabled(device_type());
    return cross_entropy(scores, target);
  };
  Booster booster("fp16");
  auto [net, opt, loss_of] = booster.boost(model, sgd, criterion);
  booster.backward(loss_of(net(randn({8, 4})), randint(0, 3, {8}, kLong)), opt);
  opt.step();
  EXPECT_TRUE(autocast);
}

TEST(Booster, ApexModeAppliesTheOptLevel) {
  nn::Sequential model = make_net();
  optim::Adam adam(model->parameters(), optim::AdamOptions(1e-2));
  nn::CrossEntropyLoss criterion;
  Booster booster(
      std::make_shared<amp::FP16ApexMixedPrecision>(amp::OptLevel::O2, amp::InitializeOptions().verbosity(0)));
  auto [net, opt, loss_of] = booster.boost(model, adam, criterion);
  EXPECT_EQ(model->parameters()[0].dtype(), kHalf);
  EXPECT_EQ(model->parameters()[2].dtype(), kFloat);
  const Tensor x = randn({8, 4}), y = randint(0, 3, {8}, kLong);
  const double first = loss_of(net(x), y).item<double>();
  for (int i = 0; i < 20; ++i) {
    opt.zero_grad();
    booster.backward(loss_of(net(x), y), opt);
    opt.step();
  }
  EXPECT_LT(loss_of(net(x), y).item<double>(), first);
  EXPECT_EQ(booster.scale(opt), 65536);
}

// A layer, a loss scale and SGD written out over f32 masters, with new f16 copies in each step.
TEST(Booster, NaiveModeEqualsHandWrittenMasters) {
  constexpr double kRate = 0.05;
  nn::Linear model(6, 3);
  Tensor master_w = model->weight.detach().clone(), master_b = model->bias.detach().clone();
  optim::SGD sgd(model->parameters(), optim::SGDOptions(kRate));
  Booster booster(std::make_shared<amp::FP16NaiveMixedPrecision>(amp::FP16NaiveOptions().initial_scale(1024)));
  auto [net, opt] = booster.boost(model, sgd);
  for (int i = 0; i < 25; ++i) {
    const Tensor x = randn({10, 6}), target = randn({10, 3});
    opt.zero_grad();
    const Tensor loss = mse_loss(net(x), target);
    booster.backward(loss, opt);
    opt.step();

    const Tensor w = master_w.to(kHalf).requires_grad_(), b = master_b.to(kHalf).requires_grad_();
    for (const Tensor& p : {w, b}) autograd::accumulate_in_f32(p, true);
    const Tensor by_hand = mse_loss(linear(x.to(kHalf), w, b).to(kFloat), target);
    (by_hand * 1024).backward();
    NoGradGuard no_grad;
    master_w.sub_(w.grad() * (kRate / 1024));
    master_b.sub_(b.grad() * (kRate / 1024));
    ASSERT_EQ(loss.item<float>(), by_hand.item<float>()) << i;
    ASSERT_LT((sgd.master(model->weight) - master_w).abs().max().item<double>(), 1e-6) << i;
    ASSERT_LT((sgd.master(model->bias) - master_b).abs().max().item<double>(), 1e-6) << i;
  }
}

// Colossal-AI's rule: the first overflow after a growth keeps the scale, every later one lowers it. Colossal-AI's own
// mixin updates the scale before it reads the unscaling factor, and therefore halves the update in the step in which
// the scale grows.
TEST(Booster, NaiveModeScalesTheLoss) {
  nn::Linear model(2, 1);
  optim::SGD sgd(model->parameters(), optim::SGDOptions(1));
  const auto mode = std::make_shared<amp::FP16NaiveMixedPrecision>(amp::FP16NaiveOptions()
                                                                       .initial_scale(1024)
                                                                       .growth_interval(2)
                                                                       .max_scale(2048)
                                                                       .min_scale(256)
                                                                       .log_num_zeros_in_grad(true));
  Booster booster(mode);
  auto [net, opt] = booster.boost(model, sgd);
  auto& optimizer = opt;
  const auto iteration = [&](double x) {
    optimizer.zero_grad();
    booster.backward((model->weight * x).sum() + (model->bias * 0).sum(), optimizer);
    const double before = sgd.master(model->weight)[0][0].item<double>();
    optimizer.step();
    return before - sgd.master(model->weight)[0][0].item<double>();
  };
  EXPECT_THROWS(mode->num_zeros_in_grad(optimizer), StateError, "num_zeros_in_grad: ", "step()");
  const std::pair<double, double> trace[] = {
      // input of the step, scale after it
      {INFINITY, 1024}, {0.25, 1024}, {INFINITY, 512},  {INFINITY, 256}, {INFINITY, 256}, {0.25, 256},  {0.25, 512},
      {0.25, 512},      {0.25, 1024}, {INFINITY, 1024}, {0.25, 1024},    {0.25, 2048},    {0.25, 2048}, {0.25, 2048}};
  int number = 0;
  for (const auto& [x, scale] : trace) {
    EXPECT_NEAR(iteration(x), std::isinf(x) ? 0 : 0.25, 1e-6) << number;
    EXPECT_EQ(booster.scale(optimizer), scale) << number;
    EXPECT_EQ(mode->num_zeros_in_grad(optimizer), 1) << number;  // that of the bias
    ++number;
  }
}

}  // namespace
}  // namespace tandem::testing
