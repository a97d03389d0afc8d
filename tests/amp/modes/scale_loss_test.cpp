// Apex's scale_loss against a model of scales, skips and sums in plain numbers.
#include <cmath>

#include "amp/modes/opt_level_support.h"
#include "support/state.h"
#include "support/throws.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/base/warn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"

namespace tandem::testing {
namespace {

using amp::OptLevel;
using amp::ScaleLossOptions;

struct Cube {
  int models, losses, optimizers;
  bool by_id;
  int overflow_iteration, overflow_loss;  // -1: none
  OptLevel level;
};

/// Apex's combinations of models, losses, optimizers. Loss l (0 or 1) has weight (l + 1) / 8 and covers model 0; with
/// two models, loss 1 also covers model 1. All numbers are exact in f16, so results are compared for equality.
void run_cube(const Cube& c) {
  constexpr double kRate = 0.5, kInit = 65536;
  std::vector<std::unique_ptr<OneParameter>> models;
  std::vector<std::unique_ptr<optim::SGD>> optimizers;
  std::vector<nn::Module*> module_list;
  std::vector<optim::Optimizer*> optimizer_list;
  std::vector<std::vector<Tensor>> params(static_cast<size_t>(c.optimizers));
  for (int m = 0; m < c.models; ++m) {
    models.push_back(std::make_unique<OneParameter>(1 + m));
    module_list.push_back(models.back().get());
    params[static_cast<size_t>(m % c.optimizers)].push_back(models.back()->p);
  }
  for (auto& list : params) {
    optimizers.push_back(std::make_unique<optim::SGD>(list, optim::SGDOptions(kRate)));
    optimizer_list.push_back(optimizers.back().get());
  }
  amp::initialize(module_list, optimizer_list, c.level,
                  silent().num_losses(c.by_id ? c.losses : 1).loss_scale("dynamic"));

  std::vector<double> values, scales(static_cast<size_t>(c.by_id ? c.losses : 1), kInit);
  for (int m = 0; m < c.models; ++m) values.push_back(1 + m);
  for (int iteration = 0; iteration < 4; ++iteration) {
    for (auto& optimizer : optimizers) optimizer->zero_grad();
    std::vector<double> sums(values.size(), 0);
    std::vector<bool> skip(optimizers.size(), false);
    for (int l = 0; l < c.losses; ++l) {
      const bool overflow = iteration == c.overflow_iteration && l == c.overflow_loss;
      const double weight = overflow ? INFINITY : (l + 1) / 8.0;
      std::vector<size_t> touched{0};
      if (c.models == 2 && l == 1) touched.push_back(1);
      Tensor loss;
      std::vector<optim::Optimizer*> trained;
      for (size_t m : touched) {
        const Tensor part = (models[m]->p * full({4}, weight)).sum();
        loss = loss.defined() ? loss + part : part;
        sums[m] += weight;
        optim::Optimizer* owner = optimizer_list[m % optimizers.size()];
        if (std::find(trained.begin(), trained.end(), owner) == trained.end()) trained.push_back(owner);
        if (overflow) skip[m % optimizers.size()] = true;
      }
      const size_t id = c.by_id ? static_cast<size_t>(l) : 0;
      if (overflow) scales[id] /= 2;
      amp::scale_loss(loss, trained, ScaleLossOptions().loss_id(static_cast<int64_t>(id))).backward();
    }
    for (auto& optimizer : optimizers) optimizer->step();
    for (size_t m = 0; m < values.size(); ++m) {
      if (!skip[m % optimizers.size()]) values[m] -= kRate * sums[m];
      ASSERT_EQ(models[m]->p[0].item<float>(), values[m]) << "model " << m << ", iteration " << iteration;
      ASSERT_EQ(optimizers[m % optimizers.size()]->master(models[m]->p)[3].item<float>(), values[m]);
    }
    const amp::LossScalersState state = amp::state_dict(*optimizers[0]);
    for (size_t i = 0; i < scales.size(); ++i) {
      ASSERT_EQ(state.at("loss_scaler" + std::to_string(i)).at("scale").to_double(), scales[i]) << iteration;
    }
  }
}

TEST_F(OptLevels, AllCombinationsOfModelsLossesAndOptimizers) {
  for (const OptLevel level : {OptLevel::O0, OptLevel::O1, OptLevel::O2, OptLevel::O3}) {
    for (int models = 1; models <= 2; ++models) {
      for (int losses = 1; losses <= 2; ++losses) {
        for (int optimizers = 1; optimizers <= models; ++optimizers) {
          for (const bool by_id : {false, true}) {
            for (int iteration = -1; iteration < 2; ++iteration) {
              for (int loss = 0; loss < (iteration < 0 ? 1 : losses); ++loss) {
                SCOPED_TRACE(::testing::Message()
                             << "O" << static_cast<int>(level) << ", models " << models << ", losses " << losses
                             << ", optimizers " << optimizers << ", by id " << by_id << ", overflow at " << iteration
                             << '/' << loss);
                run_cube({models, losses, optimizers, by_id, iteration, loss, level});
                if (HasFatalFailure()) return;
              }
            }
          }
        }
      }
    }
  }
}

// Accumulation: delayed passes leave scaled gradients; the last pass unscales the sum.
TEST_F(OptLevels, DelayUnscale) {
  OneParameter model(1);
  optim::SGD sgd({model.p}, optim::SGDOptions(1));
  amp::initialize(model, sgd, OptLevel::O2, silent());
  amp::scale_loss((model.p * full({4}, 0.125)).sum(), sgd, ScaleLossOptions().delay_unscale(true)).backward();
  EXPECT_EQ(model.p.grad()[0].item<float>(), 8192);
  EXPECT_THROWS(sgd.step(), StateError, "step: ", "still scaled", "delay_unscale");
  amp::scale_loss((model.p * full({4}, 0.125)).sum(), sgd).backward();
  EXPECT_EQ(model.p.grad().dtype(), kFloat);
  EXPECT_EQ(model.p.grad()[0].item<float>(), 0.25);
  sgd.step();
  EXPECT_EQ(model.p[0].item<float>(), 0.75);
}

// Existing gradients, then delayed passes, then one that unscales: the sum equals that of plain backward passes.
TEST_F(OptLevels, DelayedUnscaleAddsToUnscaledGradients) {
  for (const OptLevel level : {OptLevel::O0, OptLevel::O2}) {
    for (const double scale : {0.0, 1000.0}) {
      SCOPED_TRACE(::testing::Message() << "O" << static_cast<int>(level) << ", scale " << scale);
      struct Both : nn::Module {
        Both() { p = register_parameter("p", ones({4})), q = register_parameter("q", ones({4})); }
        Tensor loss(double w) const { return ((p + q) * full({4}, w)).sum(); }
        Tensor p, q;
      } model, plain;
      optim::SGD sgd(model.parameters(), optim::SGDOptions(1));
      amp::initialize(model, sgd, level,
                      silent().loss_scale(scale == 0 ? amp::LossScale("dynamic") : amp::LossScale(scale)));
      const auto delayed = ScaleLossOptions().delay_unscale(true);
      const auto expect_plain_gradients = [&] {
        for (const auto& [own, reference] : {std::pair(model.p, plain.p), std::pair(model.q, plain.q)}) {
          EXPECT_NEAR(own.grad()[0].item<double>(), reference.grad()[0].item<double>(), 1e-6);
        }
      };
      amp::scale_loss(model.loss(0.125), sgd).backward();
      amp::scale_loss(model.loss(0.25), sgd, delayed).backward();
      EXPECT_THROWS(sgd.step(), StateError, "step: ", "still scaled");
      amp::scale_loss((model.p * full({4}, 0.5)).sum(), sgd, delayed).backward();
      amp::scale_loss(model.loss(0.0625), sgd).backward();
      for (const double w : {0.125, 0.25, 0.0625}) plain.loss(w).backward();
      (plain.p * full({4}, 0.5)).sum().backward();
      expect_plain_gradients();
      // Next, only some parameters get new gradients; then all gradients are zeroed first.
      amp::scale_loss((model.p * full({4}, 0.25)).sum(), sgd, delayed).backward();
      amp::scale_loss((model.p * full({4}, 0.5)).sum(), sgd).backward();
      (plain.p * full({4}, 0.75)).sum().backward();
      expect_plain_gradients();
      amp::scale_loss(model.loss(0.25), sgd, delayed).backward();
      for (nn::Module* m : {static_cast<nn::Module*>(&model), static_cast<nn::Module*>(&plain)}) m->zero_grad(false);
      amp::scale_loss(model.loss(0.125), sgd).backward();
      plain.loss(0.125).backward();
      expect_plain_gradients();
    }
  }
}

TEST_F(OptLevels, MixedScalesAreRefused) {
  OneParameter model(1), other(1);
  optim::SGD a({model.p}, optim::SGDOptions(1)), b({other.p}, optim::SGDOptions(1));
  amp::initialize({&model, &other}, {&a, &b}, OptLevel::O1, silent().num_losses(2));
  const auto delayed = ScaleLossOptions().delay_unscale(true);
  amp::scale_loss(model.p.sum(), a, delayed).backward();
  amp::scale_loss(other.p.sum(), b).backward();
  EXPECT_THROWS(amp::scale_loss(model.p.sum(), a, ScaleLossOptions().loss_id(1)).backward(), StateError,
                "scale_loss: ", "scale of loss 0", "this is loss 1");
  EXPECT_THROWS(amp::scale_loss(model.p.sum(), {&a, &b}).backward(), StateError,
                "scale_loss: ", "1 optimizers are still");
  a.zero_grad();  // drops the gradients and their scale
  a.step();
  amp::scale_loss(model.p.sum(), {&a, &b}, ScaleLossOptions().loss_id(1)).backward();
  b.zero_grad(/*set_to_none=*/false);
  a.step();
  b.step();
  EXPECT_EQ(model.p[0].item<float>(), 0);
  EXPECT_EQ(other.p[0].item<float>(), 1);
}

TEST_F(OptLevels, ZeroedF16GradientsAccumulateAgain) {
  OneParameter model(1);
  optim::SGD sgd({model.p}, optim::SGDOptions(1));
  amp::initialize(model, sgd, OptLevel::O2, silent());
  for (int i = 0; i < 2; ++i) {
    sgd.zero_grad(/*set_to_none=*/false);
    amp::scale_loss((model.p * full({4}, 0.25)).sum(), sgd).backward();
    sgd.step();
  }
  EXPECT_EQ(model.p[0].item<float>(), 0.5);
}

TEST_F(OptLevels, StaticScaleAndLimits) {
  OneParameter fixed(1), low(1), high(1);
  optim::SGD a({fixed.p}, optim::SGDOptions(1)), b({low.p}, optim::SGDOptions(1)), c({high.p}, optim::SGDOptions(1));
  amp::initialize(fixed, a, OptLevel::O2, silent().loss_scale(128.0));
  amp::initialize(low, b, OptLevel::O0, silent().loss_scale("dynamic").min_loss_scale(32768));
  amp::initialize(high, c, OptLevel::O0, silent().loss_scale("dynamic").max_loss_scale(1024));
  const auto scale_of = [](const optim::Optimizer& o) {
    return amp::state_dict(o).at("loss_scaler0").at("scale").to_double();
  };
  for (int i = 0; i < 3; ++i) {
    amp::ScaledLoss loss = amp::scale_loss((fixed.p * 0.25).sum(), a);
    EXPECT_EQ(loss.tensor().item<float>(), 128 * fixed.p.sum().item<float>() * 0.25);
    a.zero_grad();
    b.zero_grad();
    amp::scale_loss((low.p * INFINITY).sum(), b).backward();
    b.step();
    EXPECT_EQ(low.p[0].item<float>(), 1);
  }
  EXPECT_EQ(scale_of(a), 128);
  EXPECT_EQ(scale_of(b), 32768);
  EXPECT_EQ(scale_of(c), 1024);
}

// An exception between scale_loss and the end of its scope restores the previous gradients; destructors never throw.
TEST_F(OptLevels, ExceptionsRestoreTheGradients) {
  OneParameter model(1);
  optim::SGD sgd({model.p}, optim::SGDOptions(1));
  amp::initialize(model, sgd, OptLevel::O2, silent());
  const auto delayed = ScaleLossOptions().delay_unscale(true);
  const auto loss = [&](double weight) { return (model.p * full({4}, weight)).sum(); };
  const auto fails = [&](const ScaleLossOptions& options) {
    amp::ScaledLoss scaled = amp::scale_loss(loss(2), sgd, options);
    scaled.backward();
    throw std::runtime_error("in between");
  };
  EXPECT_THROW(fails({}), std::runtime_error);
  EXPECT_FALSE(model.p.grad().defined());
  sgd.step();
  EXPECT_EQ(model.p[0].item<float>(), 1);
  // First with unscaled gradients present, then with scaled ones.
  amp::scale_loss(loss(0.25), sgd).backward();
  const Tensor unscaled = model.p.grad().clone();
  for (const ScaleLossOptions& options : {ScaleLossOptions(), delayed}) {
    EXPECT_THROW(fails(options), std::runtime_error);
    EXPECT_TRUE(model.p.grad().eq(unscaled).all().item<bool>());
  }
  amp::scale_loss(loss(0.125), sgd, delayed).backward();
  const Tensor scaled = model.p.grad().clone();
  for (const ScaleLossOptions& options : {ScaleLossOptions(), delayed}) {
    EXPECT_THROW(fails(options), std::runtime_error);
    EXPECT_TRUE(model.p.grad().eq(scaled).all().item<bool>());
  }
  amp::scale_loss(loss(0.125), sgd).backward();
  sgd.step();
  EXPECT_EQ(model.p[0].item<float>(), 0.5);
}

TEST_F(OptLevels, FailedBackwardLeavesNoGradients) {
  struct Net : nn::Module {
    Net() { first = register_parameter("first", ones({4})), last = register_parameter("last", ones({4})); }
    Tensor first, last;
  } model;
  optim::SGD sgd(model.parameters(), optim::SGDOptions(1));
  amp::initialize(model, sgd, OptLevel::O0, silent().loss_scale("dynamic"));
  const auto fails = [&] {
    const Tensor h = model.first * 2;
    h.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("halfway"); });
    amp::scale_loss((h * model.last).sum(), sgd).backward();
  };
  EXPECT_THROW(fails(), std::runtime_error);
  EXPECT_FALSE(model.last.grad().defined());
  amp::scale_loss((model.last * 0.25).sum(), sgd).backward();
  sgd.step();
  EXPECT_EQ(model.last[0].item<float>(), 0.75);
}

// The previous gradients are restored, as after an exception in the scope.
TEST_F(OptLevels, NextStepThrowsErrorsOfTheScopeEnd) {
  struct Net : nn::Module {
    Net() { p = register_parameter("p", ones({4})), q = register_parameter("q", ones({4})); }
    Tensor loss() const { return ((p + q) * full({4}, 0.25)).sum(); }
    Tensor p, q;
  } model;
  optim::SGD sgd(model.parameters(), optim::SGDOptions(1));
  amp::initialize(model, sgd, OptLevel::O2, silent());
  const auto quiet = set_warning_handler({});
  const auto fails = [&] {
    amp::ScaledLoss loss = amp::scale_loss(model.loss(), sgd);
    loss.backward();
    model.q.mutable_grad() = ones({4}, kLong);
  };
  for (const bool before : {false, true}) {
    if (before) amp::scale_loss(model.loss(), sgd).backward();
    fails();
    EXPECT_THROWS(sgd.step(), DTypeError, "scale_loss: ", "i64");
    EXPECT_EQ(model.p.grad().defined(), before);
    EXPECT_EQ(model.q.grad().defined(), before);
    sgd.step();
    EXPECT_EQ(model.p[0].item<float>(), before ? 0.75 : 1);
    EXPECT_EQ(model.q[0].item<float>(), before ? 0.75 : 1);
  }
  set_warning_handler(quiet);
}

}  // namespace
}  // namespace tandem::testing
