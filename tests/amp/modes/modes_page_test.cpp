// The code of docs/modes.md.
#include <gtest/gtest.h>

#include "amp/modes/opt_level_support.h"
#include "support/compare.h"
#include "support/state.h"
#include "tandem/amp/modes.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

struct ModesPage : OptLevels {};

// One line of each system, as the first table has it.
TEST_F(ModesPage, OneLineOfEachSystem) {
  const Tensor x = ones({2, 4});
  {
    nn::Linear net(4, 3);
    optim::SGD sgd(net->parameters(), 0.1);
    amp::initialize(net, sgd, amp::OptLevel::O2);
    const Tensor loss = net(x).mean();
    amp::scale_loss(loss, sgd).backward();
    EXPECT_EQ(net->weight.dtype(), kHalf);
    EXPECT_NEAR(net->weight.grad().to(kFloat).max().item<float>(), 1 / 3.0, 1e-3);
  }
  {
    nn::Linear model(4, 3);
    optim::Adam adam(model->parameters(), 1e-3);
    amp::Booster booster("fp16_naive");
    auto [net, optimizer] = booster.boost(model, adam);
    const Tensor loss = net(x).mean();
    booster.backward(loss, optimizer);
    EXPECT_EQ(model->weight.dtype(), kHalf);
    EXPECT_EQ(booster.scale(optimizer), 65536);
  }
  {
    nn::Linear layer(4, 3);
    amp::set_dtype_policy(layer, "mixed_float16");
    EXPECT_EQ(layer(x).dtype(), kHalf);
    optim::Adam adam(layer->parameters(), 1e-3);
    amp::LossScaleOptimizer optimizer(adam);
    optimizer.scale_loss(layer(x).to(kFloat).mean()).backward();
    optimizer.step();
    EXPECT_NEAR(layer->weight.grad().max().item<float>(), 1 / 3.0, 1e-3);
    adam.keep_master_weights();
  }
}

TEST_F(ModesPage, MasterWeights) {
  nn::Linear net(8, 4);
  {
    const NoGradGuard no_grad;
    net->weight.copy_(net->weight.to(kBFloat16));  // the same start in both formats
  }
  const Tensor reference = net->weight.detach().clone().requires_grad_();
  optim::AdamW reference_adam({reference});

  net->to(kBFloat16);
  optim::AdamW adam(net->parameters());
  adam.keep_master_weights();                                 // f32 copies: 4 bytes more a parameter
  adam.keep_master_weights(optim::MasterWeights::remainder);  // bf16: the 16 bits that it lacks, 2 bytes more

  for (int i = 0; i < 3; ++i) {
    const Tensor gradient = full({4, 8}, 0.125 * (i + 1));
    reference.mutable_grad() = gradient;
    net->weight.mutable_grad() = gradient.to(kBFloat16);
    reference_adam.step();
    adam.step();
  }
  EXPECT_TRUE(same_bits(adam.master(net->weight), reference.detach()));
  EXPECT_EQ(net->weight.dtype(), kBFloat16);
}

TEST_F(ModesPage, SeveralLossesOfApex) {
  nn::Linear generator(2, 2), critic(2, 1);
  optim::SGD opt_g(generator->parameters(), 0.1), opt_c(critic->parameters(), 0.1);
  const Tensor before = critic->weight.detach().clone(), generated = generator->weight.detach().clone();

  amp::initialize({&*generator, &*critic}, {&opt_g, &opt_c}, amp::OptLevel::O1, amp::InitializeOptions().num_losses(2));
  const Tensor critic_loss = critic(full({4, 2}, 1000.0)).to(kFloat).mean();  // has a large gradient
  amp::scale_loss(critic_loss, opt_c, amp::ScaleLossOptions().loss_id(1)).backward();
  nn::utils::clip_grad_norm_(amp::master_params(opt_c), 1.0);
  opt_c.step();

  const double moved = (critic->weight - before).square().sum().sqrt().item<double>();
  EXPECT_NEAR(moved, 0.1, 1e-4) << "the learning rate times the largest norm";
  EXPECT_TRUE(same_bits(generator->weight.detach(), generated));
  EXPECT_EQ(amp::state_dict(opt_c).size(), 2U) << "a scale for each loss";
}

}  // namespace
}  // namespace tandem::testing
