// Adam with moments in bf16 and e4m3fn: options, saving, conversions, and training.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "support/counter.h"
#include "support/device.h"
#include "support/state.h"
#include "support/throws.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/io/safetensors.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using optim::AdamParamState;
using optim::AdamW;
using optim::AdamWOptions;

AdamWOptions compact() { return AdamWOptions(0.01).exp_avg_dtype(kFloat8_e4m3fn).exp_avg_sq_dtype(kBFloat16); }

Tensor make_param(DType dtype = kFloat, IntArrayRef sizes = {20, 30}) {
  const Tensor p = empty(sizes, kCPU);
  for (int64_t i = 0; i < p.numel(); ++i)
    p.data_ptr<float>()[i] = static_cast<float>(counter_normal(3, static_cast<uint64_t>(i)));
  return p.to(get_default_device()).to(dtype).requires_grad_();
}

void train(optim::Optimizer& optimizer, const Tensor& p, int steps, uint64_t seed) {
  for (int step = 0; step < steps; ++step, ++seed) {
    const Tensor g = empty(p.sizes(), kCPU);
    for (int64_t i = 0; i < g.numel(); ++i) {
      g.data_ptr<float>()[i] = static_cast<float>(counter_normal(seed, static_cast<uint64_t>(i)));
    }
    p.mutable_grad() = g.to(p.device(), p.dtype());
    optimizer.step();
  }
}

AdamParamState& state_of(optim::Optimizer& optimizer, const Tensor& p) {
  return static_cast<AdamParamState&>(*optimizer.state().at(&p.impl()));
}

TEST(MomentDtypes, StatesHaveTheDtypesOfTheOptions) {
  const Tensor p = make_param(), q = make_param(kDouble);
  AdamW adam({p, q}, compact().amsgrad(true));
  train(adam, p, 1, 1);
  train(adam, q, 1, 1);
  const AdamParamState& state = state_of(adam, p);
  EXPECT_EQ(state.exp_avg().dtype(), kFloat8_e4m3fn);
  EXPECT_EQ(state.exp_avg_scale().sizes(), IntArrayRef({5}));
  EXPECT_EQ(state.exp_avg_sq().dtype(), kBFloat16);
  EXPECT_EQ(state.max_exp_avg_sq().dtype(), kBFloat16);
  EXPECT_EQ(state_of(adam, q).exp_avg().dtype(), kDouble);
  EXPECT_FALSE(state_of(adam, q).exp_avg_scale().defined());
}

// Also for a parameter in channels-last order, whose moments are row-major as in the file.
TEST(MomentDtypes, SavedAndResumedBitForBit) {
  for (const bool channels_last : {false, true}) {
    const auto param = [&] {
      Tensor p = make_param(kFloat, {4, 30, 3, 3});
      return channels_last ? p.detach().contiguous(MemoryFormat::ChannelsLast).requires_grad_() : p;
    };
    const Tensor p = param(), q = param();
    AdamW one({p}, compact());
    train(one, p, 5, 1);
    const std::string file = io::serialize(one.state_dict());
    {
      const NoGradGuard no_grad;
      q.copy_(p);
    }
    AdamW other({q}, compact());
    other.load_state_dict(io::deserialize(file).tensors);
    EXPECT_EQ(difference(one.state_dict(), other.state_dict()), "");
    train(one, p, 5, 50);
    train(other, q, 5, 50);
    EXPECT_EQ(difference(p, q), "");
    EXPECT_EQ(difference(one.state_dict(), other.state_dict()), "");
  }
}

TEST(MomentDtypes, StatesOfOtherDtypesAreConverted) {
  const Tensor p = make_param(), q = make_param(), r = make_param();
  AdamW wide({p}, AdamWOptions(0.01)), narrow({q}, compact()), wide_again({r}, AdamWOptions(0.01));
  train(wide, p, 3, 1);
  narrow.load_state_dict(wide.state_dict());
  EXPECT_EQ(state_of(narrow, q).exp_avg().dtype(), kFloat8_e4m3fn);
  wide_again.load_state_dict(narrow.state_dict());
  const Tensor m = state_of(wide, p).exp_avg(), back = state_of(wide_again, r).exp_avg();
  EXPECT_EQ(back.dtype(), kFloat);
  // Half a unit in the last of three places of the mantissa, and the steps of subnormal codes.
  const double largest = abs(m).max().item<double>();
  EXPECT_TRUE(le(abs(m - back), abs(m) / 16 + largest * 0x1p-17).all().item<bool>());
  EXPECT_EQ(difference(state_of(wide_again, r).exp_avg_sq(), state_of(wide, p).exp_avg_sq().to(kBFloat16).to(kFloat)),
            "");
}

TEST(MomentDtypes, OptionsMayChangeBetweenSteps) {
  const Tensor p = make_param();
  AdamW adam({p}, compact());
  train(adam, p, 2, 1);
  auto& options = static_cast<AdamWOptions&>(adam.param_groups()[0].options());
  options.exp_avg_dtype(kFloat).exp_avg_sq_dtype(kFloat);
  train(adam, p, 1, 9);
  EXPECT_EQ(state_of(adam, p).exp_avg().dtype(), kFloat);
  EXPECT_FALSE(state_of(adam, p).exp_avg_scale().defined());
  options.exp_avg_dtype(kFloat8_e4m3fn);
  train(adam, p, 1, 10);
  EXPECT_EQ(state_of(adam, p).exp_avg().dtype(), kFloat8_e4m3fn);
  EXPECT_GT(abs(state_of(adam, p).exp_avg_scale()).min().item<float>(), 0);
}

TEST(MomentDtypes, InfAndNaNStayInTheirElementsWhenConverted) {
  const Tensor p = make_param(), q = make_param();
  AdamW wide({p}, AdamWOptions(0.01)), narrow({q}, compact());
  train(wide, p, 1, 1);
  const Tensor m = state_of(wide, p).exp_avg();
  m[0][3] = std::numeric_limits<double>::infinity();
  m[7][0] = std::nan("");
  narrow.load_state_dict(wide.state_dict());
  AdamW again({p}, AdamWOptions(0.01));
  again.load_state_dict(narrow.state_dict());
  EXPECT_EQ(state_of(again, p).exp_avg().isfinite().logical_not().sum().item<int64_t>(), 2);
}

TEST(MomentDtypes, GroupsMayDiffer) {
  const Tensor p = make_param(), q = make_param();
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{p}, std::make_unique<AdamWOptions>(compact()));
  groups.emplace_back(std::vector<Tensor>{q}, std::make_unique<AdamWOptions>(0.01));
  AdamW adam(groups), other(groups);
  train(adam, p, 1, 1);
  train(adam, q, 1, 1);
  EXPECT_EQ(state_of(adam, p).exp_avg().dtype(), kFloat8_e4m3fn);
  EXPECT_EQ(state_of(adam, q).exp_avg().dtype(), kFloat);
  other.load_state_dict(adam.state_dict());
  EXPECT_EQ(difference(other.state_dict(), adam.state_dict()), "");
}

TEST(MomentDtypes, ALoadedStateSharesNoMemory) {
  const Tensor p = make_param(), q = make_param();
  AdamW adam({p}, compact()), other({q}, compact());
  train(adam, p, 2, 1);
  other.load_state_dict(adam.state_dict());
  const StateDict before = clone(other.state_dict());
  train(adam, p, 2, 5);
  EXPECT_EQ(difference(other.state_dict(), before), "");
}

TEST(MomentDtypes, ARefusedStepConvertsNothing) {
  const Tensor p = make_param(), q = make_param();
  AdamW adam({p, q}, AdamWOptions(0.01));
  train(adam, p, 1, 1);
  train(adam, q, 1, 1);
  static_cast<AdamWOptions&>(adam.param_groups()[0].options()).exp_avg_dtype(kFloat8_e4m3fn);
  state_of(adam, q).exp_avg_sq(zeros({3}, q.options()));
  EXPECT_THROWS((train(adam, p, 1, 2)), StateError, "exp_avg_sq is [3]");
  EXPECT_EQ(state_of(adam, p).exp_avg().dtype(), kFloat);
}

// A program may set a moment in f32 while the scales of its float8 predecessor are still there.
TEST(MomentDtypes, AScaleWithoutFloat8IsNotSaved) {
  const Tensor p = make_param(), q = make_param();
  AdamW adam({p}, compact()), other({q}, compact());
  train(adam, p, 1, 1);
  static_cast<AdamWOptions&>(adam.param_groups()[0].options()).exp_avg_dtype(kFloat);
  state_of(adam, p).exp_avg(zeros({20, 30}, p.options().dtype(kFloat)));
  EXPECT_FALSE(adam.state_dict().contains("state.0.exp_avg_scale"));
  train(adam, p, 1, 2);
  other.load_state_dict(adam.state_dict());
}

TEST(MomentDtypes, RefusesInvalidDtypes) {
  const Tensor p = make_param();
  EXPECT_THROWS((AdamW({p}, compact().exp_avg_dtype(kHalf))), StateError, "AdamW", "exp_avg_dtype is f16",
                "f32, bf16 or f8e4m3fn");
  EXPECT_THROWS((AdamW({p}, compact().exp_avg_sq_dtype(kFloat8_e4m3fn))), StateError, "exp_avg_sq_dtype is f8e4m3fn",
                "f32 or bf16");
}

TEST(MomentDtypes, RefusesStatesThatDoNotFit) {
  const Tensor p = make_param();
  AdamW adam({p}, compact());
  train(adam, p, 1, 1);
  const Tensor scale = state_of(adam, p).exp_avg_scale();
  for (const Tensor& wrong : {Tensor(), zeros({4}, scale.options()), scale.to(kDouble)}) {
    state_of(adam, p).exp_avg_scale(wrong);
    EXPECT_THROWS((train(adam, p, 1, 2)), StateError, "exp_avg of a [20, 30] parameter", "size 5");
  }
  state_of(adam, p).exp_avg_scale(scale).exp_avg(zeros({30, 20}, scale.options().dtype(kFloat8_e4m3fn)).t());
  EXPECT_THROWS((train(adam, p, 1, 2)), StateError, "exp_avg of a [20, 30] parameter", "contiguous");
  StateDict state = adam.state_dict();
  StateDict without;
  for (const auto& item : state) {
    if (item.key() != "state.0.exp_avg_scale") without.insert(item.key(), item.value());
  }
  EXPECT_THROWS((adam.load_state_dict(without)), StateError, "missing keys: 'state.0.exp_avg_scale'");
}

/// The loss after training a linear model, whose gradients become small.
double loss_after_training(const AdamWOptions& options) {
  Tensor w = make_param(kFloat, {64, 16});
  const Tensor x = empty({256, 64}, kCPU);
  for (int64_t i = 0; i < x.numel(); ++i)
    x.data_ptr<float>()[i] = static_cast<float>(counter_normal(8, static_cast<uint64_t>(i)));
  const Tensor inputs = x.to(get_default_device());
  const Tensor targets = matmul(inputs, full({64, 16}, 0.3, inputs.options()));
  AdamW adam({w}, options);
  Tensor loss;
  for (int step = 0; step < 400; ++step) {
    adam.zero_grad();
    loss = mean(square(matmul(inputs, w) - targets));
    loss.backward();
    adam.step();
  }
  return loss.item<double>();
}

TEST(MomentDtypes, TrainLikeF32) {
  const AdamWOptions f32 = AdamWOptions(0.02).weight_decay(0);
  const double reference = loss_after_training(f32);
  ASSERT_LT(reference, 1e-2) << "starts at about 70";
  for (const DType first : {kFloat8_e4m3fn, kBFloat16}) {
    AdamWOptions options = f32;
    options.exp_avg_dtype(first).exp_avg_sq_dtype(kBFloat16);
    EXPECT_LT(loss_after_training(options), 1.5 * reference) << name(first);
  }
}

}  // namespace
}  // namespace tandem::testing
