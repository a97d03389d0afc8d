// Regions of float8: their nesting, the states of delayed scaling, saving, recomputation, exclusion.
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "amp/fp8/delayed_model.h"
#include "support/device.h"
#include "support/throws.h"
#include "tandem/amp/fp8.h"
#include "tandem/amp/modes/dtype_policy.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/tandem.h"
#include "tandem/tensor/weight_float8.h"

namespace tandem::amp {
namespace {

using testing::DelayedModel;
using testing::device_type;

std::vector<float> values_of(const Tensor& x) {
  const Tensor host = x.detach().to(kFloat).contiguous().to(kCPU);
  return {host.data_ptr<float>(), host.data_ptr<float>() + host.numel()};
}
float amax_of(const Tensor& x) { return abs(x.detach()).max().to(kFloat).item<float>(); }
Tensor state_of(const Tensor& weight) { return weight.impl().float8->delayed; }

Tensor input(int64_t seed) { return mul(randn({6, 32}, Generator(static_cast<uint64_t>(seed))), 1.0 + seed); }

TEST(Fp8Autocast, RegionsNest) {
  EXPECT_FALSE(is_fp8_enabled(device_type()));
  {
    const Fp8AutocastGuard fp8(device_type());
    EXPECT_TRUE(is_fp8_enabled(device_type()));
    EXPECT_TRUE(is_autocast_enabled(device_type()));
    EXPECT_EQ(get_autocast_dtype(device_type()), kBFloat16);
    {
      const AutocastGuard plain(device_type());
      EXPECT_FALSE(is_fp8_enabled(device_type()));
      const Fp8AutocastGuard inner(device_type(), MXFP8BlockScaling());
      EXPECT_TRUE(is_fp8_enabled(device_type()));
    }
    EXPECT_TRUE(is_fp8_enabled(device_type()));
    {
      const Fp8AutocastGuard off(device_type(), DelayedScaling(), false);
      EXPECT_FALSE(is_fp8_enabled(device_type()));
      EXPECT_TRUE(is_autocast_enabled(device_type()));
    }
    const AutocastGuard off(device_type(), {}, false);
    EXPECT_FALSE(is_fp8_enabled(device_type()));
  }
  EXPECT_FALSE(is_fp8_enabled(device_type()));
  EXPECT_FALSE(is_autocast_enabled(device_type()));
}

TEST(Fp8Autocast, ThreadsAreIndependentAndTakeTheContext) {
  const Fp8AutocastGuard fp8(device_type());
  const ThreadContext context = ThreadContext::capture();
  std::thread([&] {
    EXPECT_FALSE(is_fp8_enabled(device_type()));
    const ThreadContextGuard guard(context);
    EXPECT_TRUE(is_fp8_enabled(device_type()));
  }).join();
}

TEST(Fp8Autocast, StatesOfWeightsFollowAPlainModel) {
  const auto recipe = DelayedScaling().amax_history_len(3).margin(1);
  const Tensor w = mul(randn({8, 32}, Generator(9)), 0.1).requires_grad_();
  std::vector<DelayedModel> models;
  for (const Fp8Role role : {Fp8Role::input, Fp8Role::weight, Fp8Role::gradient}) {
    models.emplace_back(recipe, fp8_dtype(recipe, role));
  }
  const auto expect_models = [&](const char* when, int step) {
    std::vector<float> all;
    for (const DelayedModel& m : models) {
      const std::vector<float> own = m.state();
      all.insert(all.end(), own.begin(), own.end());
    }
    EXPECT_EQ(values_of(state_of(w)), all) << when << " of step " << step;
  };
  for (int step = 0; step < 6; ++step) {
    Tensor y, z;
    {
      const Fp8AutocastGuard outer(device_type(), recipe);
      if (step > 0) models[2].update();  // the previous iteration's gradients
      {
        const Fp8AutocastGuard inner(device_type(), recipe);
        y = linear(input(step), w);
        z = linear(input(step + 20), w);
      }
      models[0].note(amax_of(input(step)));
      models[0].note(amax_of(input(step + 20)));
      models[1].note(amax_of(w));
      expect_models("the end of the inner region", step);
    }
    models[0].update();
    models[1].update();
    expect_models("the end of the outer region", step);
    y.backward(mul(ones_like(y), 3.0 + step));
    z.backward(mul(ones_like(z), 2.0));
    models[2].note(static_cast<float>(3 + step));
    expect_models("the end of backward", step);
    const NoGradGuard no_grad;
    w.mul_(1.5);
  }
}

TEST(Fp8Autocast, ScalesOfTheStateRoundTheOperands) {
  const Tensor x = input(3), w = randn({8, 32}, Generator(9)).requires_grad_();
  const auto run = [&] {
    const Fp8AutocastGuard fp8(device_type());
    return linear(x, w).detach();
  };
  run();
  const float x_scale = 448 / amax_of(x), w_scale = 448 / amax_of(w);
  EXPECT_EQ(values_of(state_of(w).select(1, 0)), std::vector<float>({x_scale, w_scale, 1}));
  const auto rounded = [](const Tensor& t, float scale) {
    return mul(cast_float8(t.detach(), kFloat8_e4m3fn, Float8CastOptions().scale(full({1}, scale))).to(kDouble),
               1.0f / scale);
  };
  const Tensor want = matmul(rounded(x, x_scale), rounded(w, w_scale).t());
  EXPECT_TRUE(allclose(run().to(kDouble), want, 0x1p-8, 1e-4));
}

TEST(Fp8Autocast, InferenceUsesTheScalesAndLeavesThem) {
  const Tensor w = randn({8, 32}, Generator(9)).requires_grad_();
  Tensor y;
  {
    const Fp8AutocastGuard fp8(device_type());
    y = linear(input(1), w);
  }
  y.sum().backward();
  const std::vector<float> before = values_of(state_of(w));
  {
    const NoGradGuard no_grad;
    const Fp8AutocastGuard fp8(device_type());
    linear(mul(input(1), 100), w);
  }
  EXPECT_EQ(values_of(state_of(w)), before);
}

TEST(Fp8Autocast, AnotherHistoryLengthKeepsTheScales) {
  const Tensor w = randn({8, 32}, Generator(9)).requires_grad_();
  const auto run = [&](int64_t length) {
    const Fp8AutocastGuard fp8(device_type(), DelayedScaling().amax_history_len(length));
    linear(input(1), w);
    return values_of(state_of(w).select(1, 0));
  };
  run(4);
  const std::vector<float> scales = values_of(state_of(w).select(1, 0));
  EXPECT_EQ(run(8), scales);
  EXPECT_EQ(state_of(w).sizes(), IntArrayRef({3, 9}));
  EXPECT_EQ(run(2), scales);
  EXPECT_EQ(state_of(w).sizes(), IntArrayRef({3, 3}));
}

struct TwoLayers : nn::Module {
  TwoLayers() : a(32, 16), b(16, 4) {
    register_module("a", a);
    register_module("b", b);
  }
  Tensor forward(const Tensor& x) { return b(relu(a(x))); }
  nn::Linear a, b;
};

/// One step of training; returns the loss.
float step(TwoLayers& net, optim::SGD& optimizer, const Fp8Recipe& recipe, int64_t number) {
  optimizer.zero_grad();
  Tensor loss;
  {
    const Fp8AutocastGuard fp8(device_type(), recipe);
    loss = mse_loss(net.forward(input(number % 5)), zeros({6, 4}));
  }
  loss.backward();
  optimizer.step();
  return loss.item<float>();
}

TEST(Fp8Autocast, SavedAndLoadedRunsContinueBitForBit) {
  const auto recipe = DelayedScaling().amax_history_len(4);
  manual_seed(5);
  TwoLayers net, resumed;
  optim::SGD optimizer(net.parameters(), optim::SGDOptions(1e-3));
  for (int k = 0; k < 6; ++k) step(net, optimizer, recipe, k);
  std::stringstream file;
  save(net, file);
  load(resumed, file);
  const auto finish = [&](TwoLayers& run, optim::SGD& by) {
    std::vector<std::vector<float>> seen;
    for (int k = 6; k < 12; ++k) {
      seen.push_back({step(run, by, recipe, k)});
      seen.push_back(values_of(state_of(run.a->weight)));
      seen.push_back(values_of(state_of(run.b->weight)));
    }
    return seen;
  };
  optim::SGD continued(resumed.parameters(), optim::SGDOptions(1e-3));
  const auto want = finish(net, optimizer);
  EXPECT_EQ(finish(resumed, continued), want);
}

TEST(Fp8Autocast, StateDictsNameTheStates) {
  TwoLayers net;
  EXPECT_FALSE(net.state_dict().contains("a.weight._fp8"));
  optim::SGD optimizer(net.parameters(), optim::SGDOptions(1e-3));
  step(net, optimizer, DelayedScaling().amax_history_len(4), 1);
  const StateDict state = net.state_dict();
  ASSERT_TRUE(state.contains("a.weight._fp8"));
  EXPECT_EQ(state["a.weight._fp8"].sizes(), IntArrayRef({3, 5}));
  EXPECT_TRUE(state.contains("b.weight._fp8_noted"));
  StateDict bad = state;
  bad["a.weight._fp8"] = zeros({2, 5});
  TwoLayers other;
  const std::vector<float> before = values_of(other.a->weight);
  EXPECT_THROWS(other.load_state_dict(bad), StateError, "'a.weight._fp8' is [2, 5] f32", "[3, 1 + history length]");
  EXPECT_EQ(values_of(other.a->weight), before);
  bad = state;
  bad["a.weight._fp8_noted"] = ones({2}, kBool);
  EXPECT_THROWS(other.load_state_dict(bad), StateError, "'a.weight._fp8_noted' is [2] bool", "one element");
  StateDict without("Entry");
  for (const auto& [name, tensor] : state) {
    if (name.find("_fp8") == std::string::npos) without.insert(name, tensor);
  }
  net.load_state_dict(without);  // of a run without float8: the states stay
  EXPECT_EQ(values_of(state_of(net.a->weight)), values_of(state["a.weight._fp8"]));
}

TEST(Fp8Autocast, ClonesHaveStatesOfTheirOwn) {
  nn::Linear layer(32, 8);
  {
    const Fp8AutocastGuard fp8(device_type());
    layer(input(1));
  }
  exclude_from_fp8(layer);
  const auto copy = std::dynamic_pointer_cast<nn::LinearImpl>(layer->clone());
  EXPECT_EQ(values_of(state_of(copy->weight)), values_of(state_of(layer->weight)));
  EXPECT_FALSE(state_of(copy->weight).is_alias_of(state_of(layer->weight)));
  EXPECT_TRUE(find_weight_float8(copy->weight)->excluded);
}

TEST(Fp8Autocast, RecomputedProductsEqualTheOriginals) {
  for (const Fp8Recipe& recipe : {Fp8Recipe(DelayedScaling().amax_history_len(2)), Fp8Recipe(MXFP8BlockScaling())}) {
    for (const bool nested : {false, true}) {
      const Tensor first = mul(randn({32, 32}, Generator(3)), 0.3), x = input(2);
      const auto gradients = [&](bool recomputes) {
        const Tensor w = first.clone().requires_grad_(), in = x.clone().requires_grad_();
        for (int k = 0; k < 3; ++k) {
          Tensor y;
          {
            const Fp8AutocastGuard fp8(device_type(), recipe);
            const auto layers = [&](const Tensor& h) {
              std::optional<Fp8AutocastGuard> inner;
              if (nested) inner.emplace(device_type(), recipe);
              return relu(linear(relu(linear(h, w)), w));
            };
            const Tensor scaled = mul(in, 1.0 + k);
            y = recomputes ? autograd::checkpoint(layers, scaled) : layers(scaled);
          }
          y.to(kFloat).square().sum().backward();
        }
        std::vector<std::vector<float>> all{values_of(w.grad()), values_of(in.grad())};
        if (std::holds_alternative<DelayedScaling>(recipe)) all.push_back(values_of(state_of(w)));
        return all;
      };
      EXPECT_EQ(gradients(true), gradients(false)) << to_string(recipe) << (nested ? ", nested" : "");
    }
  }
}

TEST(Fp8Autocast, RegionsInsideRecomputationLeaveTheHistories) {
  const Tensor first = mul(randn({32, 32}, Generator(3)), 0.3);
  const auto state_after = [&](bool recomputes) {
    const Tensor w = first.clone().requires_grad_(), in = input(2).requires_grad_();
    for (int k = 0; k < 3; ++k) {
      const auto layer = [&](const Tensor& h) {
        const Fp8AutocastGuard fp8(device_type(), DelayedScaling().amax_history_len(4));
        return linear(h, w);
      };
      const Tensor y = recomputes ? autograd::checkpoint(layer, in) : layer(in);
      y.backward(mul(ones_like(y), 1.0 + k));
    }
    return values_of(state_of(w));
  };
  EXPECT_EQ(state_after(true), state_after(false));
}

TEST(Fp8Autocast, StepsOnManyThreadsUpdateTheScales) {
  const auto recipe = DelayedScaling().amax_history_len(4);
  const Tensor w = randn({8, 32}, Generator(9)).requires_grad_();
  for (int k = 0; k < 3; ++k) {
    const ThreadContext context = ThreadContext::capture();
    std::thread([&] {
      const ThreadContextGuard guard(context);
      Tensor y;
      {
        const Fp8AutocastGuard fp8(device_type(), recipe);
        y = linear(input(1).to(w.device()), w);
      }
      y.backward(mul(ones_like(y), 0.25));
    }).join();
  }
  EXPECT_EQ(values_of(state_of(w).select(1, 0))[2], 57344 / 0.25f);
}

TEST(Fp8Autocast, AContextOfAnEndedRegionDoesNotHoldLaterOnes) {
  const auto recipe = DelayedScaling().amax_history_len(4);
  const Tensor w = randn({8, 32}, Generator(9)).requires_grad_();
  ThreadContext context = ThreadContext::capture();
  {
    const Fp8AutocastGuard fp8(device_type());
    context = ThreadContext::capture();
  }
  const ThreadContextGuard guard(context);
  for (int k = 0; k < 3; ++k) {
    const Fp8AutocastGuard fp8(device_type(), recipe);
    linear(input(1), w);
  }
  EXPECT_EQ(values_of(state_of(w).select(1, 0))[0], 448 / amax_of(input(1)));
}

TEST(Fp8Autocast, EvaluationLeavesTheLengthOfHistories) {
  const Tensor w = randn({8, 32}, Generator(9)).requires_grad_();
  {
    const Fp8AutocastGuard fp8(device_type(), DelayedScaling().amax_history_len(6));
    linear(input(1), w);
  }
  const std::vector<float> before = values_of(state_of(w));
  {
    const NoGradGuard no_grad;
    const Fp8AutocastGuard fp8(device_type());
    linear(input(1), w);
  }
  EXPECT_EQ(values_of(state_of(w)), before);
}

TEST(Fp8Autocast, LoadingReplacesPendingGradients) {
  const auto recipe = DelayedScaling().amax_history_len(2);
  TwoLayers saved, live, fresh;
  optim::SGD a(saved.parameters(), optim::SGDOptions(1e-3)), b(live.parameters(), optim::SGDOptions(1e-3));
  for (int k = 0; k < 3; ++k) step(saved, a, recipe, k);
  std::stringstream file;
  save(saved, file);
  for (int k = 3; k < 5; ++k) step(live, b, recipe, k);
  const void* const memory = state_of(live.a->weight).const_data_ptr<float>();
  for (TwoLayers* net : {&live, &fresh}) {
    file.seekg(0);
    load(*net, file);
  }
  EXPECT_EQ(state_of(live.a->weight).const_data_ptr<float>(), memory);  // which graphs use
  const auto after = [&](TwoLayers& net) {
    const Fp8AutocastGuard fp8(device_type(), recipe);
    net.forward(input(1));
    return values_of(state_of(net.a->weight));
  };
  EXPECT_EQ(after(live), after(fresh));
}

TEST(Fp8Autocast, RegionsOfDeviceTypesAreIndependent) {
  const DeviceType other = device_type() == kCPU ? kCUDA : kCPU;
  const Fp8AutocastGuard fp8(device_type());
  const AutocastGuard off(other, {}, false);
  EXPECT_TRUE(is_fp8_enabled(device_type()));
}

TEST(Fp8Autocast, AnExceptionLeavesTheScales) {
  const Tensor w = randn({8, 32}, Generator(9)).requires_grad_();
  const auto fail = [&] {
    const Fp8AutocastGuard fp8(device_type());
    linear(full({2, 32}, std::numeric_limits<double>::infinity()), w);
    linear(ones({2, 3}), w);
  };
  EXPECT_THROWS(fail(), ShapeError, "linear: ");
  EXPECT_EQ(values_of(state_of(w).select(1, 0)), std::vector<float>({1, 1, 1}));
  EXPECT_FALSE(is_fp8_enabled(device_type()));
  {
    const Fp8AutocastGuard fp8(device_type());
    EXPECT_TRUE(isfinite(linear(input(1), w).detach()).all().item<bool>());
  }
  EXPECT_EQ(values_of(state_of(w).select(1, 0))[0], 448 / amax_of(input(1)));
}

TEST(Fp8Autocast, ExcludedWeightsComputeInBf16) {
  TwoLayers net;
  const Tensor x = input(1);
  const auto run = [&] {
    const Fp8AutocastGuard fp8(device_type(), Float8CurrentScaling());
    return net.forward(x).detach();
  };
  Tensor plain;
  {
    const AutocastGuard autocast(device_type(), kBFloat16);
    plain = net.forward(x).detach();
  }
  const Tensor all = run();
  EXPECT_FALSE(equal(all, plain));
  exclude_from_fp8(net, {"a", "b.weight"});
  EXPECT_TRUE(equal(run(), plain));
  include_in_fp8(net.a);
  EXPECT_FALSE(equal(run(), plain));
  include_in_fp8(net);
  EXPECT_TRUE(equal(run(), all));
  EXPECT_THROWS(exclude_from_fp8(net, {"a", "c"}), StateError, "exclude_from_fp8: ", "'c'", "named_parameters()");
  EXPECT_TRUE(equal(run(), all));
}

/// Two layers with one weight.
struct Tied : nn::Module {
  Tied() {
    register_module("first", first);
    head->register_parameter("weight", first->weight);
    register_module("head", head);
  }
  struct Head : nn::Module {};
  nn::Linear first{4, 4};
  std::shared_ptr<Head> head = std::make_shared<Head>();
};

TEST(Fp8Autocast, ExcludesModulesWhoseWeightsAreTied) {
  Tied model;
  exclude_from_fp8(model, {"head"});
  EXPECT_TRUE(find_weight_float8(model.first->weight)->excluded);
}

TEST(Fp8Autocast, ModulesWithADTypePolicyAreLeftOut) {
  TwoLayers net;
  const Tensor x = input(1);
  const auto run = [&] {
    const Fp8AutocastGuard fp8(device_type(), Float8CurrentScaling());
    return net.forward(x).detach();
  };
  exclude_from_fp8(net, {"a"});
  const Tensor excluded = run();
  include_in_fp8(net);
  EXPECT_FALSE(equal(run(), excluded));
  set_dtype_policy(net.a, "mixed_bfloat16");
  EXPECT_TRUE(equal(run(), excluded));
}

TEST(Fp8Autocast, GradScalerSkipsStepsWithNonFiniteGradients) {
  TwoLayers net;
  optim::SGD optimizer(net.parameters(), optim::SGDOptions(1e-3));
  GradScaler scaler(GradScalerOptions().init_scale(4));
  const std::vector<float> before = values_of(net.a->weight);
  Tensor loss;
  {
    const Fp8AutocastGuard fp8(device_type(), Float8CurrentScaling());
    loss = mse_loss(net.forward(input(1)), full({6, 4}, std::numeric_limits<double>::infinity()));
  }
  scaler.scale(loss).backward();
  scaler.step(optimizer);
  scaler.update();
  EXPECT_EQ(values_of(net.a->weight), before);
  EXPECT_EQ(scaler.get_scale(), 2);
}

TEST(Fp8Autocast, BadInput) {
  EXPECT_THROWS(Fp8AutocastGuard(device_type(), DelayedScaling().amax_history_len(0)), StateError,
                "Fp8AutocastGuard: ", "amax_history_len = 0");
  EXPECT_FALSE(is_fp8_enabled(device_type()));
}

}  // namespace
}  // namespace tandem::amp
