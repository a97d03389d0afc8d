// Apex's levels and scale_loss, against a model of scales, skips and sums in plain numbers.
#include "tandem/amp/opt_level.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "support/state.h"
#include "support/throws.h"
#include "tandem/amp/auto_mixed_precision.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/base/warn.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

using amp::InitializeOptions;
using amp::OptLevel;
using amp::ScaleLossOptions;

InitializeOptions silent() { return InitializeOptions().verbosity(0); }

/// O1 leaves the thread's autocast on: every test ends as it began.
struct OptLevels : ::testing::Test {
  ~OptLevels() override {
    amp::set_autocast_enabled(kCPU, false);
    amp::set_autocast_dtype(kCPU, kBFloat16);
    set_initial_autocast(kCPU, {false, kBFloat16});
  }
};

struct OneParameter : nn::Module {
  explicit OneParameter(double value) { p = register_parameter("p", full({4}, value)); }
  Tensor p;
};

struct Cube {
  int models, losses, optimizers;
  bool by_id;
  int overflow_iteration, overflow_loss;  // -1: none
  OptLevel level;
};

/// Apex's cube: losses l = 0, 1 of weight 1/8 (l + 1) over model 0 and, where there are two, model l. All numbers are
/// exact in f16, so the comparison is of equal numbers.
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

TEST_F(OptLevels, TheCubeOfModelsLossesOptimizersAndOverflows) {
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

struct Net : nn::Module {
  Net() : fc1(4, 8), norm(8), fc2(8, 2) {
    register_module("fc1", fc1);
    register_module("norm", norm);
    register_module("fc2", fc2);
  }
  Tensor forward(const Tensor& x) {
    seen = x.dtype();
    hidden = fc1(x);
    return fc2(relu(norm(hidden)));
  }
  nn::Linear fc1;
  nn::BatchNorm1d norm;
  nn::Linear fc2;
  DType seen = kFloat;
  Tensor hidden;
};

TEST_F(OptLevels, LevelsSetDTypes) {
  struct Row {
    OptLevel level;
    InitializeOptions options;
    DType weight, norm, input, hidden, output;
    bool masters;
  };
  const Row rows[] = {
      {OptLevel::O0, silent(), kFloat, kFloat, kFloat, kFloat, kFloat, false},
      {OptLevel::O1, silent(), kFloat, kFloat, kFloat, kHalf, kHalf, false},
      {OptLevel::O1, silent().cast_model_outputs(kFloat), kFloat, kFloat, kFloat, kHalf, kFloat, false},
      {OptLevel::O2, silent(), kHalf, kFloat, kHalf, kHalf, kFloat, true},
      {OptLevel::O2, silent().cast_model_type(kBFloat16), kBFloat16, kFloat, kBFloat16, kBFloat16, kFloat, true},
      {OptLevel::O2, silent().cast_model_outputs(kHalf), kHalf, kFloat, kHalf, kHalf, kHalf, true},
      {OptLevel::O2, silent().keep_batchnorm_fp32(false), kHalf, kHalf, kHalf, kHalf, kFloat, true},
      {OptLevel::O3, silent(), kHalf, kHalf, kHalf, kHalf, kFloat, false},
      {OptLevel::O3, silent().keep_batchnorm_fp32(true), kHalf, kFloat, kHalf, kHalf, kFloat, false},
      {OptLevel::O2, silent().enabled(false), kFloat, kFloat, kFloat, kFloat, kFloat, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.level));
    const auto net = std::make_shared<Net>();
    optim::SGD sgd(net->parameters(), optim::SGDOptions(0.1));
    const Tensor weight = net->fc1->weight.detach().clone();
    amp::initialize(nn::ModuleHolder<Net>(net), sgd, row.level, row.options);
    const Tensor y = nn::call(*net, randn({3, 4}));
    EXPECT_EQ(net->fc1->weight.dtype(), row.weight);
    EXPECT_EQ(net->norm->weight.dtype(), row.norm);
    EXPECT_EQ(net->norm->running_mean.dtype(), row.norm);
    EXPECT_EQ(net->seen, row.input);
    EXPECT_EQ(net->hidden.dtype(), row.hidden);
    EXPECT_EQ(y.dtype(), row.output);
    EXPECT_EQ(sgd.master_weights() != optim::MasterWeights::none, row.masters);
    if (row.masters) {  // the f32 values, not those rounded to 16 bits
      EXPECT_TRUE(sgd.master(net->fc1->weight).eq(weight).all().item<bool>());
    }
    amp::set_autocast_enabled(kCPU, false);
  }
}

// Accumulation: the delayed passes leave scaled gradients, the last unscales their sum.
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

// Gradients that were there, delayed passes and one that unscales: their sum is what plain backward passes leave.
TEST_F(OptLevels, DelayUnscaleOverUnscaledGradients) {
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
      // Only some parameters have new gradients; then all start from zeros.
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

TEST_F(OptLevels, ScalesDoNotMix) {
  OneParameter model(1), other(1);
  optim::SGD a({model.p}, optim::SGDOptions(1)), b({other.p}, optim::SGDOptions(1));
  amp::initialize({&model, &other}, {&a, &b}, OptLevel::O1, silent().num_losses(2));
  const auto delayed = ScaleLossOptions().delay_unscale(true);
  amp::scale_loss(model.p.sum(), a, delayed).backward();
  amp::scale_loss(other.p.sum(), b).backward();
  EXPECT_THROWS(amp::scale_loss(model.p.sum(), a, ScaleLossOptions().loss_id(1)).backward(), StateError,
                "scale_loss: ", "scale of loss 0", "comes loss 1");
  EXPECT_THROWS(amp::scale_loss(model.p.sum(), {&a, &b}).backward(), StateError,
                "scale_loss: ", "1 optimizers are still");
  a.zero_grad();  // dropped, with their scale
  a.step();
  amp::scale_loss(model.p.sum(), {&a, &b}, ScaleLossOptions().loss_id(1)).backward();
  b.zero_grad(/*set_to_none=*/false);
  a.step();
  b.step();
  EXPECT_EQ(model.p[0].item<float>(), 0);
  EXPECT_EQ(other.p[0].item<float>(), 1);
}

TEST_F(OptLevels, ZeroedGradientsOf16BitParametersTakeNewOnes) {
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

TEST_F(OptLevels, MasterParamsCarryTheGradients) {
  OneParameter model(1);
  optim::SGD sgd({model.p}, optim::SGDOptions(1));
  amp::initialize(model, sgd, OptLevel::O2, silent());
  amp::scale_loss((model.p * full({4}, 0.375)).sum(), sgd).backward();
  const std::vector<Tensor> masters = amp::master_params(sgd);
  EXPECT_EQ(masters[0].dtype(), kFloat);
  const double norm = nn::utils::clip_grad_norm_(masters, 0.5).item<double>();
  EXPECT_NEAR(norm, 0.75, 1e-6);
  sgd.step();
  EXPECT_NEAR(sgd.master(model.p)[0].item<float>(), 0.75, 1e-5);  // gradient 3/8, clipped to 1/4
}

TEST_F(OptLevels, MasterParamsKeepNoGradientsThatAreZeroed) {
  for (const bool set_to_none : {true, false}) {
    OneParameter model(1);
    optim::SGD sgd({model.p}, optim::SGDOptions(1));
    amp::initialize(model, sgd, OptLevel::O2, silent());
    amp::scale_loss((model.p * full({4}, 0.375)).sum(), sgd).backward();
    const std::vector<Tensor> masters = amp::master_params(sgd);
    const std::weak_ptr<TensorImpl> gradient = model.p.grad().impl_ptr();
    sgd.zero_grad(set_to_none);
    EXPECT_TRUE(gradient.expired());
    EXPECT_FALSE(masters[0].grad().defined());
  }
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

// An exception between scale_loss and the end of its scope leaves the gradients of before; destructors never throw.
TEST_F(OptLevels, ExceptionsPass) {
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
  // Unscaled ones are there, then scaled ones.
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

TEST_F(OptLevels, ABackwardPassThatThrowsLeavesNoGradients) {
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

// It leaves the gradients of before, as exceptions in the scope do.
TEST_F(OptLevels, AFailureAtTheEndOfTheScopeIsThrownByTheNextStep) {
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

// Level A's checkpoint, level B's run: the weights are f32 in between, and the scale goes along where both have one.
TEST_F(OptLevels, CheckpointsCrossLevels) {
  const auto quiet = set_warning_handler({});
  const Tensor x = randn({6, 4});
  const OptLevel levels[] = {OptLevel::O0, OptLevel::O1, OptLevel::O2, OptLevel::O3};
  for (const OptLevel from : levels) {
    for (const OptLevel to : levels) {
      SCOPED_TRACE(::testing::Message() << "O" << static_cast<int>(from) << " to O" << static_cast<int>(to));
      const auto options = [](OptLevel level) {
        return level == OptLevel::O0 || level == OptLevel::O3 ? silent() : silent().max_loss_scale(4096);
      };
      Net a, b;
      optim::SGD sgd_a(a.parameters(), optim::SGDOptions(0.1)), sgd_b(b.parameters(), optim::SGDOptions(0.1));
      amp::initialize(a, sgd_a, from, options(from));
      for (int i = 0; i < 3; ++i) {
        sgd_a.zero_grad();
        amp::scale_loss(nn::call(a, x).to(kFloat).square().mean(), sgd_a).backward();
        sgd_a.step();
      }
      const auto state = amp::model_state(a, {&sgd_a});
      for (const auto& item : state) EXPECT_TRUE(item.value().dtype() == kFloat || item.value().dtype() == kLong);
      const auto scales = amp::state_dict(sgd_a);
      amp::set_autocast_enabled(kCPU, false);
      amp::initialize(b, sgd_b, to, options(to));
      amp::load_model_state(b, state, {&sgd_b});
      amp::load_state_dict(sgd_b, scales);
      const auto restored = amp::model_state(b, {&sgd_b});
      for (const auto& item : state) {
        const double tolerance = to == OptLevel::O3 ? 1e-3 : 0;  // f16, without masters
        const Tensor difference = restored[item.key()].to(kFloat) - item.value().to(kFloat);
        EXPECT_LE(difference.abs().max().item<double>(), tolerance) << item.key();
      }
      if (from == OptLevel::O1 && to == OptLevel::O2) {
        const auto own = amp::state_dict(sgd_b);
        for (const auto& [key, value] : own.at("loss_scaler0")) {
          EXPECT_EQ(value.to_double(), scales.at("loss_scaler0").at(key).to_double()) << key;
        }
      }
      amp::set_autocast_enabled(kCPU, false);
    }
  }
  set_warning_handler(quiet);
}

// A state that does not fit leaves model and masters alone: here the last tensor is one of integers.
TEST_F(OptLevels, AStateThatDoesNotFitChangesNothing) {
  for (const OptLevel level : {OptLevel::O0, OptLevel::O2}) {
    Net net;
    optim::SGD sgd(net.parameters(), optim::SGDOptions(0.1));
    amp::initialize(net, sgd, level, silent());
    const auto before = amp::model_state(net, {&sgd});
    OrderedDict<std::string, Tensor> state;
    for (const auto& item : before) state.insert(item.key(), item.value() + 1);
    state["fc2.bias"] = ones({2}, kLong);
    EXPECT_THROWS(amp::load_model_state(net, state, {&sgd}), StateError, "load_model_state: ", "'fc2.bias'", "i64");
    for (const auto& item : amp::model_state(net, {&sgd})) {
      EXPECT_TRUE(item.value().eq(before[item.key()]).all().item<bool>()) << item.key();
    }
  }
}

// Another level switches the autocast of O1 off, and no one else's.
TEST_F(OptLevels, AutocastThatIsNotO1sStays) {
  const auto initialize = [](OptLevel level) {
    OneParameter model(1);
    optim::SGD sgd({model.p}, optim::SGDOptions(1));
    amp::initialize(model, sgd, level, silent());
  };
  const auto expect_autocast = [](bool on, DType dtype) {
    EXPECT_EQ(amp::is_autocast_enabled(kCPU), on);
    EXPECT_EQ(amp::get_autocast_dtype(kCPU), dtype);
    std::thread([&] {
      EXPECT_EQ(amp::is_autocast_enabled(kCPU), on);
      EXPECT_EQ(amp::get_autocast_dtype(kCPU), dtype);
    }).join();
  };
  for (const bool on : {false, true}) {
    if (on) amp::enable_auto_mixed_precision();
    for (const OptLevel level : {OptLevel::O0, OptLevel::O2, OptLevel::O3}) {
      initialize(level);
      expect_autocast(on, kBFloat16);
      initialize(OptLevel::O1);
      initialize(OptLevel::O1);
      expect_autocast(true, kHalf);
      initialize(level);
      expect_autocast(on, kBFloat16);
    }
  }
  amp::disable_auto_mixed_precision();
  expect_autocast(false, kBFloat16);
  // Nor what the program has changed since.
  initialize(OptLevel::O1);
  amp::set_autocast_dtype(kCPU, kBFloat16);
  initialize(OptLevel::O0);
  EXPECT_TRUE(amp::is_autocast_enabled(kCPU));
}

TEST_F(OptLevels, ScalesAreInTheOptimizersStateAndMayBeLeftOut) {
  const auto loss_of = [](nn::Linear& net) { return net(ones({2, 4})).mean(); };
  nn::Linear scaled(4, 1), plain(4, 1);
  optim::SGD sgd(scaled->parameters(), optim::SGDOptions(0.1)), f32(plain->parameters(), optim::SGDOptions(0.1));
  amp::initialize(scaled, sgd, OptLevel::O1, silent().max_loss_scale(4096));
  amp::scale_loss(loss_of(scaled), sgd).backward();
  sgd.step();
  const std::string key = "step_scaler.loss_scaler0._growth_tracker";
  StateDict state = clone(sgd.state_dict());
  EXPECT_EQ(state[key].item<int64_t>(), 1);
  f32.load_state_dict(state);  // an f32 run takes it
  const StateDict without = f32.state_dict();
  EXPECT_FALSE(without.contains(key));
  sgd.load_state_dict(without);  // and gives none
  EXPECT_EQ(sgd.state_dict()[key].item<int64_t>(), 1);

  state[key] = full({}, 7, kLong);
  state["param_groups.0.lr"] = full({}, 0.5, kDouble);
  StateDict broken = clone(state);
  broken["step_scaler.loss_scaler0.scale"] = full({}, -1, kDouble);
  EXPECT_THROWS(sgd.load_state_dict(broken), StateError, "scale", "-1");
  EXPECT_EQ(sgd.param_groups()[0].options().get_lr(), 0.1);
  sgd.load_state_dict(state);
  EXPECT_EQ(sgd.state_dict()[key].item<int64_t>(), 7);
  EXPECT_EQ(sgd.param_groups()[0].options().get_lr(), 0.5);
}

TEST_F(OptLevels, RegisteredFunctionsChangeLists) {
  amp::register_half_function("softmax");
  EXPECT_EQ(amp::get_policy("softmax"), amp::Cast::lower);
  amp::register_float_function("linear");
  EXPECT_EQ(amp::get_policy("linear"), amp::Cast::f32);
  amp::register_promote_function("linear");
  EXPECT_EQ(amp::get_policy("linear"), amp::Cast::promote);
  amp::reset_policies();
}

}  // namespace
}  // namespace tandem::testing
