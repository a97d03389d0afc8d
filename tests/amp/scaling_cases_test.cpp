// Whole loops with a GradScaler against the same loops without: PyTorch's test_grad_scaling_* and Apex's combinations
// of models, losses and optimizers. tests/amp/README.md maps their tests to these.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "support/compare.h"
#include "support/device.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/cast_cache.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/engine.h"
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

constexpr int kSteps = 20, kSkipped = 4;

std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, const nn::Sequential& model) {
  if (name == "sgd") {
    return std::make_unique<optim::SGD>(model->parameters(), optim::SGDOptions(0.05).momentum(0.9));
  }
  if (name == "adam") return std::make_unique<optim::Adam>(model->parameters(), optim::AdamOptions(0.01));
  return std::make_unique<optim::AdamW>(model->parameters(), optim::AdamWOptions(0.01));
}

nn::Sequential make_model(uint64_t seed = 1) {
  manual_seed(seed);
  return nn::Sequential(nn::Linear(8, 8), nn::Tanh(), nn::Linear(8, 8));
}

/// The data for one step of a loop, between zero_grad and update. If `overflows`, multiplies the loss by inf.
struct Step {
  nn::Sequential& model;
  optim::Optimizer& optimizer;
  GradScaler& scaler;
  Tensor x, y;
  bool overflows;

  Tensor loss() const {
    const Tensor l = mse_loss(model->forward(x), y);
    return overflows ? l * INFINITY : l;
  }
};
struct Case {
  const char* name;
  std::function<void(const Step&)> run;
};

void clip(const Step& s, double max_norm) { nn::utils::clip_grad_norm_(s.model->parameters(), max_norm); }

std::vector<Case> cases() {
  return {
      {"plain",
       [](const Step& s) {
         s.scaler.scale(s.loss()).backward();
         s.scaler.step(s.optimizer);
       }},
      {"separate_unscale",
       [](const Step& s) {
         s.scaler.scale(s.loss()).backward();
         s.scaler.unscale_(s.optimizer);
         s.scaler.step(s.optimizer);
       }},
      {"clipping_by_a_scaled_norm",
       [](const Step& s) {
         s.scaler.scale(s.loss()).backward();
         clip(s, 0.2 * s.scaler.get_scale());
         s.scaler.step(s.optimizer);
       }},
      {"clipping_separate_unscale",
       [](const Step& s) {
         s.scaler.scale(s.loss()).backward();
         s.scaler.unscale_(s.optimizer);
         clip(s, 0.2);
         s.scaler.step(s.optimizer);
       }},
      {"penalty",
       [](const Step& s) {
         Tensor loss = mse_loss(s.model->forward(s.x), s.y);
         const auto grads = s.scaler.unscale(
             autograd::grad({s.scaler.scale(loss)}, s.model->parameters(), {}, {}, /*create_graph=*/true));
         Tensor norm = zeros({});
         for (const Tensor& g : grads) norm = norm + g.pow(2).sum();
         loss = loss + norm.sqrt();
         s.scaler.scale(s.overflows ? loss * INFINITY : loss).backward();
         s.scaler.step(s.optimizer);
       }},
      {"accumulation",
       [](const Step& s) {
         s.scaler.scale(mse_loss(s.model->forward(s.x * 0.5), s.y) / 2).backward();
         s.scaler.scale(s.loss() / 2).backward();
         s.scaler.step(s.optimizer);
       }},
      {"run_twice_over_one_graph",
       [](const Step& s) {
         const Tensor out = s.model->forward(s.x);
         s.scaler.scale(mse_loss(out, s.y)).backward({}, /*retain_graph=*/true);
         s.scaler.scale(s.overflows ? out.sum() * INFINITY : (out * 0.1).sum()).backward();
         s.scaler.step(s.optimizer);
       }},
  };
}

/// Trains for kSteps. In step kSkipped the scaled run overflows, and the control skips the step.
Tensor train(const Case& c, const std::string& optimizer_name, GradScaler& scaler, bool control) {
  nn::Sequential model = make_model();
  const auto optimizer = make_optimizer(optimizer_name, model);
  for (int i = 0; i < kSteps; ++i) {
    manual_seed(100 + static_cast<uint64_t>(i));
    const Tensor x = randn({4, 8}), y = randn({4, 8});
    optimizer->zero_grad();
    if (control && i == kSkipped) continue;
    c.run({model, *optimizer, scaler, x, y, i == kSkipped});
    scaler.update();
  }
  return nn::utils::parameters_to_vector(model->parameters());
}

TEST(ScalingCases, EveryLoopEqualsItsUnscaledControl) {
  for (const Case& c : cases()) {
    for (const char* optimizer : {"sgd", "adam", "adamw"}) {
      SCOPED_TRACE(std::string(c.name) + " with " + optimizer);
      GradScaler none(GradScalerOptions().enabled(false));
      const Tensor expected = train(c, optimizer, none, true);
      EXPECT_EQ(none.get_scale(), 1);
      // Grows after every clean step: from 128, doubled in each clean step and halved once.
      GradScaler scaler(GradScalerOptions().init_scale(128).growth_interval(1));
      const Tensor actual = train(c, optimizer, scaler, false);
      // Scales are powers of two, so only clipping and norms round differently.
      EXPECT_TRUE(near(actual, expected, {1e-5, 1e-6}));
      EXPECT_EQ(scaler.get_scale(), 128 * std::exp2(kSteps - 1) / 2);
    }
  }
}

TEST(ScalingCases, StateMovesBetweenScalersInEveryIteration) {
  // PyTorch pickles the scaler; here its state is loaded into a new one.
  nn::Sequential models[2] = {make_model(), make_model()};
  GradScaler kept(GradScalerOptions().init_scale(128).growth_interval(3).hysteresis(2));
  auto moved = std::make_unique<GradScaler>(GradScalerOptions().init_scale(128).growth_interval(3).hysteresis(2));
  double last = 128;
  int changes = 0;
  const auto first = make_optimizer("adamw", models[0]), second = make_optimizer("adamw", models[1]);
  for (int i = 0; i < kSteps; ++i) {
    manual_seed(100 + static_cast<uint64_t>(i));
    const Tensor x = randn({4, 8}), y = randn({4, 8});
    for (const bool is_kept : {true, false}) {
      nn::Sequential& model = models[is_kept ? 0 : 1];
      optim::Optimizer& optimizer = is_kept ? *first : *second;
      GradScaler& scaler = is_kept ? kept : *moved;
      optimizer.zero_grad();
      const Tensor loss = mse_loss(model->forward(x), y);
      scaler.scale(i % 5 == 3 || i % 5 == 4 ? loss * INFINITY : loss).backward();
      scaler.step(optimizer);
      scaler.update();
    }
    auto next = std::make_unique<GradScaler>(GradScalerOptions().hysteresis(2));
    next->load_state_dict(moved->state_dict());
    moved = std::move(next);
    EXPECT_EQ(moved->get_scale(), kept.get_scale()) << i;
    changes += kept.get_scale() != last;
    last = kept.get_scale();
    EXPECT_EQ(moved->get_growth_tracker(), kept.get_growth_tracker()) << i;
  }
  EXPECT_TRUE(same_bits(nn::utils::parameters_to_vector(models[1]->parameters()),
                        nn::utils::parameters_to_vector(models[0]->parameters())));
  EXPECT_GE(changes, 6);
}

/// One parameter per model; loss l is the sum of (l + 1) times each parameter that it covers.
TEST(ScalingCases, AllCombinationsOfModelsLossesAndOptimizers) {
  for (int models : {1, 2}) {
    for (int losses : {1, 2}) {
      for (int optimizers = 1; optimizers <= models; ++optimizers) {
        for (int overflowing = -1; overflowing < losses; ++overflowing) {
          for (const bool unscales : {false, true}) {
            SCOPED_TRACE(::testing::Message() << models << " models, " << losses << " losses, " << optimizers
                                              << " optimizers, loss " << overflowing << " overflows");
            std::vector<Tensor> p;
            for (int m = 0; m < models; ++m) p.push_back(full({2}, 1.0).requires_grad_());
            std::vector<std::unique_ptr<optim::SGD>> sgd;
            for (int o = 0; o < optimizers; ++o) {
              const std::vector<Tensor> own = optimizers == 2 ? std::vector<Tensor>{p[static_cast<size_t>(o)]} : p;
              sgd.push_back(std::make_unique<optim::SGD>(own, optim::SGDOptions(0.25)));
            }
            // The last loss covers all models, any earlier one only the first model.
            const auto reaches = [&](int loss, int model) { return loss == losses - 1 || model == 0; };
            GradScaler scaler(GradScalerOptions().init_scale(64));
            for (int l = 0; l < losses; ++l) {
              Tensor loss = zeros({});
              for (int m = 0; m < models; ++m) {
                if (reaches(l, m)) loss = loss + (p[static_cast<size_t>(m)] * (l + 1.0)).sum();
              }
              scaler.scale(l == overflowing ? loss * INFINITY : loss).backward({}, true);
            }
            if (unscales) scaler.unscale_(*sgd[0]);
            for (const auto& o : sgd) scaler.step(*o);
            scaler.update();
            for (int m = 0; m < models; ++m) {
              double gradient = 0;
              bool inf = false;
              for (int l = 0; l < losses; ++l) {
                if (reaches(l, m)) gradient += l + 1;
                // An optimizer skips if any of its models has an inf.
                for (int other = 0; other < models; ++other) {
                  inf = inf || (l == overflowing && reaches(l, other) && (optimizers == 1 || other == m));
                }
              }
              EXPECT_EQ(p[static_cast<size_t>(m)][0].item<double>(), inf ? 1 : 1 - 0.25 * gradient) << "model " << m;
            }
            EXPECT_EQ(scaler.get_scale(), overflowing >= 0 ? 32 : 64);
          }
        }
      }
    }
  }
}

TEST(ScalingCases, StepDoesNotCheckUnscaledGradientsAgain) {
  // PyTorch's test_params_invalidated_with_grads_invalidated_between_unscale_and_step: tandem has the same limitation.
  const Tensor p = ones({2}).requires_grad_();
  optim::AdamW adamw({p}, optim::AdamWOptions(0.1));
  GradScaler scaler;
  scaler.scale(p.sum()).backward();
  scaler.unscale_(adamw);
  p.grad().fill_(NAN);
  EXPECT_FALSE(scaler.step(adamw).skipped());
  EXPECT_TRUE(std::isnan(p[0].item<float>()));
}

/// A user-defined optimizer that unscales and skips by itself.
class ScalingDescent : public optim::Optimizer {
 public:
  explicit ScalingDescent(std::vector<Tensor> params)
      : Optimizer(std::move(params), std::make_unique<optim::SGDOptions>(1.0)) {}
  Tensor step(LossClosure) override {
    ADD_FAILURE() << "the scaler must pass scale and flag";
    return {};
  }
  void step(const FusedUnscale& scaling) override {
    NoGradGuard no_grad;
    const Tensor go = (scaling.found_inf.eq(0)).to(kFloat);
    for (const Tensor& p : parameters()) {
      Tensor g = p.grad();
      if (scaling.inverse_scale.defined()) g = g * scaling.inverse_scale;
      p.sub_(where(go.to(kBool), g, zeros_like(g)));
    }
  }
  bool supports_amp_scaling() const override { return true; }
};

TEST(ScalingCases, CustomFusedStepReceivesScaleAndFlag) {
  for (const bool unscales : {false, true}) {
    const Tensor p = full({2}, 5.0).requires_grad_();
    ScalingDescent descent({p});
    GradScaler scaler(GradScalerOptions().init_scale(16));
    for (const double slope : {2.0, HUGE_VAL, 1.0}) {
      descent.zero_grad();
      scaler.scale((p * slope).sum()).backward();
      if (unscales) scaler.unscale_(descent);
      scaler.step(descent);
      scaler.update();
    }
    EXPECT_EQ(p[0].item<float>(), 5 - 2 - 1);
    EXPECT_EQ(p.grad()[0].item<float>(), 1) << "unscaled afterwards";
    EXPECT_EQ(scaler.get_scale(), 8);
  }
}

TEST(ScalingCases, ScalersInOneProcessAreIndependent) {
  const Tensor p = ones({1}).requires_grad_();
  optim::SGD sgd({p}, optim::SGDOptions(0.1));
  GradScaler a(GradScalerOptions().init_scale(4)), b(GradScalerOptions().init_scale(4));
  a.scale(p.sum() * INFINITY).backward();
  a.step(sgd);
  sgd.zero_grad();
  b.scale(p.sum()).backward();
  EXPECT_FALSE(b.step(sgd).skipped());
  a.update();
  b.update();
  EXPECT_EQ(a.get_scale(), 2);
  EXPECT_EQ(b.get_scale(), 4);
}

TEST(ScalingCases, TrainEvalTrainInOneRegionKeepsGradients) {
  // Apex's test_cache.py: lower, f32 and promote ops, with weights in either precision.
  for (const DType weight : {kFloat, kBFloat16}) {
    const Tensor w = randn({4, 4}, weight).requires_grad_(), x = randn({4, 4});
    const std::vector<std::function<Tensor()>> ops = {[&] { return mm(x, w); }, [&] { return exp(w); },
                                                      [&] {
                                                        return cat({w, x.to(kBFloat16)});
                                                      }};
    for (const auto& op : ops) {
      amp::AutocastGuard region(device_type());
      Tensor first, again;
      first = autograd::grad({op().to(kFloat).sum()}, {w})[0];
      {
        NoGradGuard eval;
        EXPECT_FALSE(op().requires_grad());
      }
      again = autograd::grad({op().to(kFloat).sum()}, {w})[0];
      EXPECT_TRUE(same_bits(again, first));
      EXPECT_EQ(first.dtype(), weight);
    }
  }
}

TEST(ScalingCases, RegionsEndedOutOfOrderRestoreTheirState) {
  auto outer = std::make_optional<amp::AutocastGuard>(device_type(), kHalf);
  auto inner = std::make_optional<amp::AutocastGuard>(device_type(), kBFloat16);
  outer.reset();  // restores: off
  EXPECT_FALSE(amp::is_autocast_enabled(device_type()));
  inner.reset();  // restores: f16
  EXPECT_EQ(amp::get_autocast_dtype(device_type()), kHalf);
  EXPECT_TRUE(amp::is_autocast_enabled(device_type()));
  EXPECT_EQ(amp::autocast_cache_stats().entries, 0) << "no region is active";
  thread_state() = ThreadState();
}

}  // namespace
}  // namespace tandem::testing
