// Steps with a GradScaler's scale and found_inf flag, and the low-precision copies that a step updates.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "optim/tested_optimizers.h"
#include "support/device.h"
#include "support/state.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/cast_cache.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

using testing::device_type;

struct AmpStep : ::testing::TestWithParam<size_t> {
  static std::unique_ptr<optim::Optimizer> make(std::vector<Tensor> params) {
    return testing::tested_optimizers()[GetParam()].make(std::move(params), 0.5);
  }
};

bool same_tensor(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.eq(b).all().item<bool>();
}

/// Returns the state of the optimizer's only parameter.
StateDict state_of(const optim::Optimizer& optimizer) { return state_below(optimizer.state_dict(), "state.0"); }

TEST_P(AmpStep, UnscalesGradientsAsItReadsThem) {
  const Tensor start = randn({100}), grad = randn({100});
  const Tensor a = start.clone().requires_grad_(), b = start.clone().requires_grad_();
  auto plain = make({a}), scaled = make({b});
  EXPECT_TRUE(scaled->supports_amp_scaling());
  const Tensor scale = full({}, 1024.0), inverse = full({}, 1.0 / 1024);
  for (int i = 0; i < 3; ++i) {
    a.mutable_grad() = grad.clone();
    b.mutable_grad() = grad * scale;
    plain->step();
    scaled->step(FusedUnscale{inverse, zeros({})});
    EXPECT_TRUE(same_tensor(b.grad(), grad * scale));  // still scaled
  }
  EXPECT_TRUE(same_tensor(a.detach(), b.detach()));
}

TEST_P(AmpStep, SkipsOnFoundInf) {
  const Tensor p = randn({10}).requires_grad_();
  p.mutable_grad() = randn({10});
  auto optimizer = make({p});
  const FusedUnscale clean{full({}, 0.5), zeros({})}, overflow{full({}, 0.5), ones({})};
  for (int round = 0; round < 2; ++round) {  // before and after the first step
    const Tensor before = p.detach().clone();
    const StateDict state = testing::clone(state_of(*optimizer));
    optimizer->step(overflow);
    EXPECT_TRUE(same_tensor(p.detach(), before));
    const StateDict after = state_of(*optimizer);
    if (!state.is_empty()) {
      EXPECT_EQ(testing::difference(after, state), "");
    }
    for (const auto& item : after) {
      const float initial = item.key() == "mu_product" ? 1 : 0;
      if (state.is_empty()) {
        EXPECT_TRUE(item.value().to(kFloat).eq(initial).all().item<bool>()) << item.key();
      }
    }
    optimizer->step(clean);
    EXPECT_FALSE(same_tensor(p.detach(), before));
  }
  // A skipped first step does not count as a step.
  const Tensor q = randn({10}).requires_grad_(), r = q.detach().clone().requires_grad_();
  auto skipping = make({q}), straight = make({r});
  q.mutable_grad() = ones({10});
  r.mutable_grad() = ones({10});
  skipping->step(overflow);
  skipping->step(clean);
  skipping->step(clean);
  straight->step(clean);
  straight->step(clean);
  EXPECT_TRUE(same_tensor(q.detach(), r.detach()));
}

TEST_P(AmpStep, RefusesBadScalingTensors) {
  const Tensor p = randn({10}).requires_grad_();
  p.mutable_grad() = ones({10});
  auto optimizer = make({p});
  EXPECT_THROWS(optimizer->step(FusedUnscale{ones({2}), {}}), StateError, "inverse_scale", "[2]");
  EXPECT_THROWS(optimizer->step(FusedUnscale{{}, ones({}, kHalf)}), StateError, "found_inf", "f16");
}

/// A product for which autocast casts `weight`.
Tensor forward(const Tensor& weight, DType dtype) {
  amp::AutocastGuard autocast(device_type(), dtype);
  return mm(ones({2, weight.size(0)}), weight);
}

TEST_P(AmpStep, UpdatesTheLowPrecisionCopy) {
  for (DType dtype : {kHalf, kBFloat16}) {
    const Tensor w = randn({16, 8}).requires_grad_(), bias = randn({8}).requires_grad_();
    auto optimizer = make({bias, w});  // bias is never cast and has no copy
    for (int i = 0; i < 4; ++i) {
      optimizer->zero_grad();
      (forward(w, dtype).to(kFloat) + bias).square().sum().backward();
      optimizer->step(FusedUnscale{full({}, 1.0), full({}, i == 2 ? 1.0 : 0.0)});  // step 2 is skipped
      if (i == 0) continue;  // the first step requests copies; the next region creates them
      const Tensor copy = amp::detail::lasting_copy(w, dtype);
      ASSERT_TRUE(copy.defined()) << "step " << i;
      EXPECT_TRUE(same_tensor(copy, w.detach().to(dtype)));
      EXPECT_FALSE(amp::detail::lasting_copy(bias, dtype).defined());
      // The next region does not cast.
      const amp::CastCacheStats before = amp::autocast_cache_stats();
      forward(w, dtype);
      EXPECT_EQ(amp::autocast_cache_stats().hits, before.hits + 1);
      EXPECT_EQ(amp::autocast_cache_stats().misses, before.misses);
    }
    // Any other change discards the copy.
    NoGradGuard no_grad;
    w.mul_(2);
    EXPECT_FALSE(amp::detail::lasting_copy(w, dtype).defined());
    EXPECT_TRUE(same_tensor(forward(w, dtype), mm(ones({2, 16}, dtype), w.to(dtype))));
  }
}

TEST_P(AmpStep, KeepsACopyThatAGraphNeeds) {
  const Tensor w = randn({4, 4}).requires_grad_(), x = randn({2, 4}).requires_grad_();
  Tensor y;
  {
    amp::AutocastGuard autocast(device_type(), kBFloat16);
    y = mm(x, w).sum();
  }
  y.backward({}, /*retain_graph=*/true);
  const Tensor first = x.grad().clone();
  auto optimizer = make({w});
  optimizer->step();
  x.mutable_grad() = Tensor();
  y.backward();  // uses the weight of the forward pass
  EXPECT_TRUE(same_tensor(x.grad(), first));
  EXPECT_TRUE(same_tensor(forward(w, kBFloat16), mm(ones({2, 4}, kBFloat16), w.detach().to(kBFloat16))));
}

TEST_P(AmpStep, MakesNoLastingCopyIfAPointerEscaped) {
  TANDEM_TEST_ON_HOST();
  const Tensor w = randn({4, 4}).requires_grad_();
  auto optimizer = make({w});
  forward(w, kBFloat16).sum().backward();
  float* pointer = w.data_ptr<float>();
  optimizer->step();
  EXPECT_FALSE(amp::detail::lasting_copy(w, kBFloat16).defined());
  pointer[0] = 100;
  EXPECT_EQ(forward(w, kBFloat16)[0][0].to(kFloat).item<float>(),
            mm(ones({2, 4}, kBFloat16), w.detach().to(kBFloat16))[0][0].item<float>());
}

/// Checks that autocast uses a current cast of `weight`.
void expect_current_cast(const Tensor& weight) {
  const Tensor expected = mm(ones({2, weight.size(0)}, kBFloat16), weight.detach().to(kBFloat16));
  EXPECT_TRUE(same_tensor(forward(weight, kBFloat16), expected));
}

TEST_P(AmpStep, ParametersThatShareMemoryHaveNoStaleCasts) {
  const Tensor a = randn({8, 8}).requires_grad_(), b = ones({8, 8}).requires_grad_();
  b.set_data(a);
  const Tensor rows = a.detach().narrow(0, 2, 4).requires_grad_();  // part of the same memory
  auto optimizer = make({a, b, rows});
  for (int i = 0; i < 4; ++i) {
    optimizer->zero_grad();
    for (const Tensor& w : {a, b, rows}) expect_current_cast(w);
    (forward(a, kBFloat16) + forward(b, kBFloat16) + forward(rows, kBFloat16)).to(kFloat).sum().backward();
    optimizer->step();
  }
}

TEST_P(AmpStep, PartsOfOneBufferKeepTheirLastingCopies) {
  const Tensor flat = randn({128});
  const auto part = [&](int64_t first) { return flat.narrow(0, first, 64).view({8, 8}).detach().requires_grad_(); };
  const Tensor a = part(0), b = part(64);
  auto optimizer = make({a, b});
  for (int i = 0; i < 3; ++i) {
    optimizer->zero_grad();
    (forward(a, kBFloat16) + forward(b, kBFloat16)).to(kFloat).sum().backward();
    optimizer->step();
  }
  for (const Tensor& w : {a, b}) EXPECT_TRUE(amp::detail::lasting_copy(w, kBFloat16).defined());
}

TEST(SharedMemory, ParametersAreUpdatedInOrder) {
  const int64_t n = 1 << 17;  // more than one thread's share
  const Tensor a = ones({n}).requires_grad_(), b = ones({n}).requires_grad_();
  b.set_data(a);
  optim::SGD sgd({a, b}, optim::SGDOptions(0.5).weight_decay(1));
  for (int i = 0; i < 3; ++i) {
    a.detach().fill_(1.0);
    a.mutable_grad() = full({n}, 1.0);
    b.mutable_grad() = full({n}, 2.0);
    sgd.step();
    // 1 - (1 + 1) / 2 = 0, then 0 - (2 + 0) / 2
    EXPECT_TRUE(a.detach().eq(-1).all().item<bool>());
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, AmpStep, testing::all_tested_optimizers(), testing::tested_optimizer_name);

}  // namespace
}  // namespace tandem
