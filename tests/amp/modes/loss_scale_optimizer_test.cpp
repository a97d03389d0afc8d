// Keras's loss scaling: its defaults, its rule, and a limit that Keras lacks.
#include "tandem/amp/modes/loss_scale_optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using amp::LossScaleOptimizer;
using amp::LossScaleOptimizerOptions;

bool iteration(LossScaleOptimizer& optimizer, const Tensor& p, double x) {
  optimizer.zero_grad();
  optimizer.scale_loss((p * x).sum()).backward();
  return optimizer.step().skipped();
}

TEST(LossScaleOptimizerTest, DynamicScale) {
  const Tensor p = ones({3}).requires_grad_();
  optim::SGD sgd({p}, optim::SGDOptions(1));
  LossScaleOptimizer optimizer(sgd, LossScaleOptimizerOptions().dynamic_growth_steps(2));
  EXPECT_EQ(optimizer.dynamic_scale(), 32768);
  EXPECT_EQ(LossScaleOptimizerOptions().dynamic_growth_steps(), 2000);
  EXPECT_EQ(&optimizer.inner_optimizer(), &sgd);
  EXPECT_FALSE(iteration(optimizer, p, 0.25));
  EXPECT_EQ(p[0].item<float>(), 0.75);
  EXPECT_EQ(optimizer.step_counter(), 1);
  EXPECT_FALSE(iteration(optimizer, p, 0.25));
  EXPECT_EQ(optimizer.dynamic_scale(), 65536);
  EXPECT_TRUE(iteration(optimizer, p, INFINITY));
  EXPECT_EQ(optimizer.dynamic_scale(), 32768);
  EXPECT_EQ(p[0].item<float>(), 0.5);
  const auto state = optimizer.state_dict();
  LossScaleOptimizer other(sgd);
  other.load_state_dict(state);
  EXPECT_EQ(other.dynamic_scale(), 32768);
  for (const auto& [key, value] : other.state_dict()) EXPECT_EQ(value.to_double(), state.at(key).to_double()) << key;
}

TEST(LossScaleOptimizerTest, FixedScale) {
  const Tensor p = ones({3}).requires_grad_();
  optim::Adam adam({p}, optim::AdamOptions(0.1));
  LossScaleOptimizer optimizer(adam, LossScaleOptimizerOptions().loss_scale_factor(128));
  EXPECT_EQ(optimizer.scale_loss(p.sum()).item<float>(), 3 * 128);
  EXPECT_TRUE(iteration(optimizer, p, INFINITY));
  EXPECT_FALSE(iteration(optimizer, p, 1));
  EXPECT_EQ(optimizer.dynamic_scale(), 128);
}

// In Keras the scale doubles until it is inf.
TEST(LossScaleOptimizerTest, ScaleStaysFinite) {
  const Tensor p = ones({3}).requires_grad_();
  optim::SGD sgd({p}, optim::SGDOptions(0.1));
  LossScaleOptimizer optimizer(sgd, LossScaleOptimizerOptions().initial_scale(0x1p126).dynamic_growth_steps(1));
  for (int i = 0; i < 4; ++i) {
    iteration(optimizer, p, 1e-6);
    EXPECT_TRUE(std::isfinite(optimizer.dynamic_scale()));
  }
  EXPECT_EQ(optimizer.dynamic_scale(), 0x1p127);
}

}  // namespace
}  // namespace tandem::testing
