// GradScaler::run_step: whole iterations that repeat the batch after an overflow.
#include <gtest/gtest.h>

#include <cmath>

#include "support/compare.h"
#include "support/device.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/nn.h"
#include "tandem/nn/utils.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

using amp::GradScaler;
using amp::GradScalerOptions;
using amp::RunStepResult;

/// A small network with dropout, its batch and optimizer.
struct RunStep : ::testing::Test {
  RunStep() {
    manual_seed(3);
    x = randn({16, 8});
    target = randn({16, 1});
    reset();
  }
  void reset() {
    manual_seed(4);
    net = nn::Sequential(nn::Linear(8, 16), nn::ReLU(), nn::Dropout(0.5), nn::Linear(16, 1));
    adam = std::make_unique<optim::Adam>(net->parameters(), optim::AdamOptions(0.01));
    runs = 0;
  }
  Tensor loss() {
    ++runs;
    amp::AutocastGuard autocast(device_type(), kHalf);
    return mse_loss(net->forward(x), target);
  }
  Tensor parameters() { return nn::utils::parameters_to_vector(net->parameters()); }

  Tensor x, target;
  nn::Sequential net;
  std::unique_ptr<optim::Adam> adam;
  int runs = 0;
};

TEST_F(RunStep, EqualsAnIterationByHand) {
  GradScaler by_hand, scaler;
  for (int i = 0; i < 5; ++i) {
    adam->zero_grad();
    by_hand.scale(loss()).backward();
    by_hand.step(*adam);
    by_hand.update();
  }
  const Tensor expected = parameters();
  reset();
  for (int i = 0; i < 5; ++i) {
    const RunStepResult result = scaler.run_step(*adam, [&] { return loss(); });
    EXPECT_EQ(result.replays, 0);
    EXPECT_FALSE(result.skipped);
    EXPECT_FALSE(result.loss.requires_grad());
  }
  EXPECT_TRUE(same_bits(parameters(), expected));
  EXPECT_EQ(scaler.get_growth_tracker(), 5);
}

TEST_F(RunStep, InitialScaleDoesNotAffectTheResult) {
  // Finds the right scale by replays; then runs again from that scale.
  GradScaler high(GradScalerOptions().init_scale(0x1p40));
  int64_t replays = 0;
  for (int i = 0; i < 5; ++i) {
    const RunStepResult result = high.run_step(
        *adam, [&] { return loss(); }, 100);
    EXPECT_FALSE(result.skipped);
    replays += result.replays;
  }
  EXPECT_GT(replays, 5);
  EXPECT_EQ(runs, 5 + replays);
  const Tensor parameters_of_high = parameters();
  const double scale = high.get_scale();
  reset();
  GradScaler right(GradScalerOptions().init_scale(scale));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(right.run_step(*adam, [&] { return loss(); }).replays, 0);
  // Scaling by a power of two changes no bits, and a replay draws the same dropout masks.
  EXPECT_TRUE(same_bits(parameters(), parameters_of_high));
}

TEST_F(RunStep, SkipsTheBatchAfterTheLastReplay) {
  const Tensor before = parameters().clone();
  GradScaler scaler(GradScalerOptions().init_scale(1024));
  const auto overflow = [&] { return loss() * INFINITY; };
  const RunStepResult result = scaler.run_step(*adam, overflow, 3);
  EXPECT_TRUE(result.skipped);
  EXPECT_EQ(result.replays, 3);
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(scaler.get_scale(), 64);
  EXPECT_TRUE(same_bits(parameters(), before));
  EXPECT_FALSE(scaler.run_step(*adam, [&] { return loss(); }).skipped);
}

TEST_F(RunStep, StaticScaleIsNotRetried) {
  GradScaler scaler(GradScalerOptions().init_scale(1024).static_scale(true));
  const RunStepResult result = scaler.run_step(*adam, [&] { return loss() * INFINITY; });
  EXPECT_TRUE(result.skipped);
  EXPECT_EQ(runs, 1);
}

TEST_F(RunStep, HysteresisTakesMoreReplays) {
  GradScaler scaler(GradScalerOptions().init_scale(1024).hysteresis(3));
  int calls = 0;
  const RunStepResult result = scaler.run_step(*adam, [&] { return ++calls <= 3 ? loss() * INFINITY : loss(); });
  EXPECT_EQ(result.replays, 3);
  EXPECT_EQ(scaler.get_scale(), 512);
}

TEST_F(RunStep, AccumulatesPartsOfABatch) {
  GradScaler scaler(GradScalerOptions().init_scale(256));
  const auto half = [&](int64_t from) {
    return mse_loss(net->forward(x.narrow(0, from, 8)), target.narrow(0, from, 8)) / 2;
  };
  net->eval();
  scaler.run_step(*adam, [&] {
    scaler.scale(half(0)).backward();
    return half(8);
  });
  const Tensor expected = net->parameters()[0].grad();
  net->zero_grad();
  reset();
  net->eval();
  mse_loss(net->forward(x), target).backward();
  EXPECT_TRUE(near(net->parameters()[0].grad(), expected, tolerance(kFloat, 16)));
}

TEST_F(RunStep, DisabledScalerRunsTheClosureOnce) {
  GradScaler scaler(GradScalerOptions().enabled(false));
  const Tensor before = parameters().clone();
  const RunStepResult result = scaler.run_step(*adam, [&] { return loss(); });
  EXPECT_FALSE(result.skipped);
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(near(parameters(), before, kExact));
}

TEST_F(RunStep, RecordsUnderNoGradGuard) {
  GradScaler scaler;
  const NoGradGuard no_grad;
  EXPECT_FALSE(scaler.run_step(*adam, [&] { return loss(); }).skipped);
}

TEST_F(RunStep, WorksAfterAnErrorInTheClosure) {
  GradScaler scaler;
  EXPECT_THROWS(scaler.run_step(*adam, [&]() -> Tensor { throw StateError("mine"); }), StateError, "mine");
  EXPECT_FALSE(scaler.run_step(*adam, [&] { return loss(); }).skipped);
}

}  // namespace
}  // namespace tandem::testing
