// One small training run in every mode, compared with the same run in f32.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "amp/modes/opt_level_support.h"
#include "support/compare.h"
#include "support/counter.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/modes/auto_mixed_precision.h"
#include "tandem/amp/modes/booster.h"
#include "tandem/amp/modes/dtype_policy.h"
#include "tandem/amp/modes/loss_scale_optimizer.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

using amp::OptLevel;

struct Training {
  nn::Sequential net{nn::Linear(8, 32), nn::BatchNorm1d(nn::BatchNormOptions(32)), nn::ReLU(), nn::Linear(32, 4)};
  optim::Adam adam{net->parameters(), optim::AdamOptions(5e-3)};

  /// Returns the losses of 40 steps on a learnable rule; `step` runs one step.
  std::vector<double> losses(const std::function<Tensor(const Tensor& x, const Tensor& y)>& step) {
    std::vector<double> all;
    for (int i = 0; i < 40; ++i) {
      const Tensor host = empty({64, 8}, kCPU);
      float* values = host.data_ptr<float>();
      for (int64_t k = 0; k < host.numel(); ++k) {
        values[k] = static_cast<float>(counter_normal(static_cast<uint64_t>(i), static_cast<uint64_t>(k)));
      }
      const Tensor x = host.to(get_default_device()), y = x.narrow(1, 0, 4).argmax(1);
      adam.zero_grad();
      all.push_back(step(x, y).item<double>());
    }
    return all;
  }
};

std::vector<double> train(const std::function<std::vector<double>(Training&)>& run) {
  manual_seed(11);
  Training training;
  return run(training);
}

std::vector<double> train_f32() {
  return train([](Training& t) {
    return t.losses([&](const Tensor& x, const Tensor& y) {
      const Tensor loss = cross_entropy(t.net(x), y);
      loss.backward();
      t.adam.step();
      return loss;
    });
  });
}

/// Checks that the first loss is within 16-bit rounding of the f32 run, that later ones are near it, and that the run
/// learns something.
void expect_close(const std::vector<double>& losses) {
  static const std::vector<double> f32 = train_f32();
  ASSERT_EQ(losses.size(), f32.size());
  EXPECT_NEAR(losses[0], f32[0], 0.02);
  for (size_t i = 0; i < f32.size(); ++i) ASSERT_NEAR(losses[i], f32[i], 0.08) << i;
  EXPECT_LT(losses.back(), 0.6 * losses.front());
}

std::vector<double> train_level(OptLevel level, DType low = kHalf) {
  auto options = amp::InitializeOptions().verbosity(0);
  if (low != kHalf) options.cast_model_type(low);
  std::vector<double> losses = train([&](Training& t) {
    amp::initialize(t.net, t.adam, level, options);
    return t.losses([&](const Tensor& x, const Tensor& y) {
      const Tensor loss = cross_entropy(t.net(x), y);
      amp::scale_loss(loss, t.adam).backward();
      t.adam.step();
      return loss;
    });
  });
  end_o1();
  return losses;
}

TEST(ModesTraining, OptLevels) {
  EXPECT_EQ(train_level(OptLevel::O0), train_f32());
  expect_close(train_level(OptLevel::O1));
  expect_close(train_level(OptLevel::O2));
  expect_close(train_level(OptLevel::O2, kBFloat16));
  EXPECT_TRUE(std::isfinite(train_level(OptLevel::O3).back()));  // O3 has no guaranteed accuracy
}

TEST(ModesTraining, Boosters) {
  for (const char* mode : {"fp16", "bf16", "fp8", "fp16_naive"}) {
    SCOPED_TRACE(mode);
    expect_close(train([&](Training& t) {
      amp::Booster booster(mode);
      nn::CrossEntropyLoss criterion;
      auto [net, opt, loss_of] = booster.boost(t.net, t.adam, criterion);
      return t.losses([&, &net = net, &opt = opt, &loss_of = loss_of](const Tensor& x, const Tensor& y) {
        const Tensor loss = loss_of(net(x), y);
        booster.backward(loss, opt);
        opt.step();
        return loss;
      });
    }));
  }
}

TEST(ModesTraining, PoliciesAndLossScaleOptimizer) {
  for (const char* policy : {"mixed_float16", "mixed_bfloat16"}) {
    expect_close(train([&](Training& t) {
      amp::set_dtype_policy(t.net, policy);
      amp::LossScaleOptimizer optimizer(t.adam);
      return t.losses([&](const Tensor& x, const Tensor& y) {
        const Tensor loss = cross_entropy(t.net(x).to(kFloat), y);
        optimizer.scale_loss(loss).backward();
        optimizer.step();
        return loss;
      });
    }));
  }
}

/// A user-defined optimizer, written as the comment of Optimizer describes: p -= 0.5 g.
class Descent : public optim::Optimizer {
 public:
  explicit Descent(std::vector<Tensor> params)
      : Optimizer(std::move(params), std::make_unique<optim::SGDOptions>(0.5)) {}
  using Optimizer::step;
  void step(const FusedUnscale& scaling) override {
    const NoGradGuard no_grad;
    for (const Tensor& p : parameters()) {
      Tensor g = p.grad();
      if (scaling.inverse_scale.defined()) g = g * scaling.inverse_scale;
      if (scaling.found_inf.defined()) g = where(scaling.found_inf.eq(0), g, zeros_like(g));
      p.sub_(g, defaults().get_lr());
    }
  }
  bool supports_amp_scaling() const override { return true; }
};

/// Returns the weights after three steps in a mode, the second of which overflows; `backward` is that of the mode.
template <class Optimizer>
Tensor weights_after(const std::function<std::function<void(const Tensor&)>(nn::Linear&, optim::Optimizer&)>& mode) {
  manual_seed(4);
  nn::Linear net(4, 1);
  std::unique_ptr<optim::Optimizer> optimizer;
  if constexpr (std::is_same_v<Optimizer, optim::SGD>) {
    optimizer = std::make_unique<optim::SGD>(net->parameters(), optim::SGDOptions(0.5));
  } else {
    optimizer = std::make_unique<Optimizer>(net->parameters());
  }
  const auto backward = mode(net, *optimizer);
  int evaluations = 0;
  for (const double slope : {0.25, HUGE_VAL, 0.5}) {
    optimizer->zero_grad();
    const Tensor given = optimizer->step([&] {
      ++evaluations;
      const Tensor loss = (net(ones({2, 4})).to(kFloat) * slope).sum();
      backward(loss);
      return loss;
    });
    EXPECT_TRUE(given.defined());
  }
  EXPECT_EQ(evaluations, 3);
  end_o1();
  return net->weight.detach().clone();
}

TEST(ModesTraining, CustomOptimizer) {
  using Mode = std::function<std::function<void(const Tensor&)>(nn::Linear&, optim::Optimizer&)>;
  amp::Booster booster("fp16");
  const std::vector<std::pair<const char*, Mode>> modes = {
      {"O1",
       [](nn::Linear& net, optim::Optimizer& optimizer) {
         amp::initialize(net, optimizer, OptLevel::O1, amp::InitializeOptions().verbosity(0));
         return [&optimizer](const Tensor& loss) { amp::scale_loss(loss, optimizer).backward(); };
       }},
      {"fp16",
       [&booster](nn::Linear& net, optim::Optimizer& optimizer) {
         booster.boost(net, optimizer);
         return [&](const Tensor& loss) { booster.backward(loss, optimizer); };
       }},
      {"the environment switch",
       [](nn::Linear&, optim::Optimizer&) {
         amp::enable_auto_mixed_precision(amp::AutoMixedPrecisionOptions().dtype(kHalf));
         return [](const Tensor& loss) { loss.backward(); };
       }},
  };
  for (const auto& [name, mode] : modes) {
    SCOPED_TRACE(name);
    const Tensor own = weights_after<Descent>(mode);
    amp::disable_auto_mixed_precision();
    const Tensor sgd = weights_after<optim::SGD>(mode);
    amp::disable_auto_mixed_precision();
    EXPECT_TRUE(same_bits(own, sgd));
    EXPECT_TRUE(std::isfinite(own.sum().item<double>()));
  }
}

TEST(ModesTraining, MasterWeightsAndRemainders) {
  for (const auto kind : {optim::MasterWeights::f32, optim::MasterWeights::remainder}) {
    expect_close(train([&](Training& t) {
      t.net->to(kBFloat16);
      t.adam.keep_master_weights(kind);
      return t.losses([&](const Tensor& x, const Tensor& y) {
        const Tensor loss = cross_entropy(t.net(x.to(kBFloat16)).to(kFloat), y);
        loss.backward();
        t.adam.step();
        return loss;
      });
    }));
  }
}

TEST(ModesTraining, AutoMixedPrecision) {
  for (const DType low : {kHalf, kBFloat16}) {
    amp::enable_auto_mixed_precision(amp::AutoMixedPrecisionOptions().dtype(low));
    const std::vector<double> losses = train([&](Training& t) {
      return t.losses([&](const Tensor& x, const Tensor& y) {
        const Tensor scores = t.net(x);
        EXPECT_EQ(scores.dtype(), low);
        const Tensor loss = cross_entropy(scores, y);
        loss.backward();
        t.adam.step();
        return loss;
      });
    });
    amp::disable_auto_mixed_precision();
    expect_close(losses);
  }
}

}  // namespace
}  // namespace tandem::testing
