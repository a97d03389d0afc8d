// The code of docs/optimizers.md.
#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/device.h"
#include "tandem/nn/averaged_model.h"
#include "tandem/optim/optim.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

struct NetImpl : nn::Module {
  Tensor forward(const Tensor& x) { return fc(x); }
  nn::Linear fc = register_module("fc", nn::Linear(4, 2));
};
TANDEM_MODULE(Net);

Tensor loss_of(const Net& net) { return (net->forward(ones({3, 4})) - 1).square().sum(); }

TEST(OptimizersPage, AddsAGroup) {
  Net net;
  nn::Linear head(2, 2);
  amp::GradScaler scaler;
  optim::RMSprop rmsprop(net->parameters(), optim::RMSpropOptions(1e-3).momentum(0.9));
  rmsprop.add_param_group(optim::OptimizerParamGroup(head->parameters()));
  scaler.scale(head(net->forward(ones({3, 4}))).sum()).backward();
  const Tensor before = head->weight.detach().clone();
  scaler.step(rmsprop);
  EXPECT_EQ(rmsprop.param_groups().size(), 2U);
  EXPECT_FALSE(same_bits(head->weight.detach(), before));
  EXPECT_TRUE(rmsprop.state_dict().contains("state.0.momentum_buffer"));
}

TEST(OptimizersPage, MomentsInFewerBits) {
  Net net;
  optim::AdamW adamw(net->parameters(),
                     optim::AdamWOptions(1e-3).exp_avg_dtype(kFloat8_e4m3fn).exp_avg_sq_dtype(kBFloat16));
  loss_of(net).backward();
  adamw.step();
  const StateDict state = adamw.state_dict();
  EXPECT_EQ(state["state.0.exp_avg"].dtype(), kFloat8_e4m3fn);
  EXPECT_EQ(state["state.0.exp_avg_sq"].dtype(), kBFloat16);
  EXPECT_EQ(state["state.0.exp_avg_scale"].dtype(), kFloat);
}

TEST(OptimizersPage, Closure) {
  Net net;
  optim::LBFGS lbfgs(net->parameters(), optim::LBFGSOptions().line_search_fn("strong_wolfe"));
  lbfgs.step([&] {
    lbfgs.zero_grad();
    Tensor loss = loss_of(net);
    loss.backward();
    return loss;
  });
  EXPECT_LT(loss_of(net).item<double>(), 1e-4);
}

TEST(OptimizersPage, AveragesOfWeights) {
  Net net, averaged;
  nn::AveragedModel ema(*net, averaged.ptr(), nn::AveragedModelOptions().ema_decay(0.999));
  optim::SGD sgd(net->parameters(), 0.1);
  amp::GradScaler scaler;
  Tensor expected;
  for (int i = 0; i < 3; ++i) {
    sgd.zero_grad();
    scaler.scale(loss_of(net)).backward();
    scaler.step(sgd);
    scaler.update();
    ema.update_parameters(*net);
    const Tensor weight = net->fc->weight.detach().clone();
    expected = i == 0 ? weight : 0.999 * expected + 0.001 * weight;
  }
  EXPECT_TRUE(allclose(averaged->fc->weight, expected, 1e-6, 1e-6));
}

}  // namespace
}  // namespace tandem::testing
