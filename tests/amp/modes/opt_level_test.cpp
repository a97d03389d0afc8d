// Apex's levels: dtypes, masters, states, lists.
#include <thread>

#include "amp/modes/opt_level_support.h"
#include "support/device.h"
#include "support/state.h"
#include "support/throws.h"
#include "tandem/amp/modes/auto_mixed_precision.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/base/warn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

using amp::InitializeOptions;
using amp::OptLevel;

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
    if (row.masters) {  // the f32 values, without rounding to 16 bits
      EXPECT_TRUE(sgd.master(net->fc1->weight).eq(weight).all().item<bool>());
    }
    amp::set_autocast_enabled(device_type(), false);
  }
}

TEST_F(OptLevels, MasterParamsHoldTheGradients) {
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

TEST_F(OptLevels, ZeroGradReleasesMasterGradients) {
  for (const bool set_to_none : {true, false}) {
    OneParameter model(1);
    optim::SGD sgd({model.p}, optim::SGDOptions(1));
    amp::initialize(model, sgd, OptLevel::O2, silent());
    amp::scale_loss((model.p * full({4}, 0.375)).sum(), sgd).backward();
    const std::vector<Tensor> masters = amp::master_params(sgd);
    const std::weak_ptr<TensorImpl> gradient = model.p.grad().impl_ptr();
    sgd.zero_grad(set_to_none);
    EXPECT_EQ(gradient.expired(), set_to_none);
    EXPECT_FALSE(masters[0].grad().defined());
  }
}

// A checkpoint of one level loads at another: weights are saved as f32, and the scale is kept if both levels have one.
TEST_F(OptLevels, CheckpointsLoadAtOtherLevels) {
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
      amp::set_autocast_enabled(device_type(), false);
      amp::initialize(b, sgd_b, to, options(to));
      amp::load_model_state(b, state, {&sgd_b});
      amp::load_state_dict(sgd_b, scales);
      const auto restored = amp::model_state(b, {&sgd_b});
      for (const auto& item : state) {
        const double tolerance = to == OptLevel::O3 ? 1e-3 : 0;  // f16, without master weights
        const Tensor difference = restored[item.key()].to(kFloat) - item.value().to(kFloat);
        EXPECT_LE(difference.abs().max().item<double>(), tolerance) << item.key();
      }
      if (from == OptLevel::O1 && to == OptLevel::O2) {
        const auto own = amp::state_dict(sgd_b);
        for (const auto& [key, value] : own.at("loss_scaler0")) {
          EXPECT_EQ(value.to_double(), scales.at("loss_scaler0").at(key).to_double()) << key;
        }
      }
      amp::set_autocast_enabled(device_type(), false);
    }
  }
  set_warning_handler(quiet);
}

// A state that does not fit leaves the model and its masters unchanged; here the last tensor is an integer tensor.
TEST_F(OptLevels, InvalidStateChangesNothing) {
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

// Another level turns off the autocast that O1 enabled, but not autocast enabled by something else.
TEST_F(OptLevels, OnlyAutocastEnabledByO1IsTurnedOff) {
  SKIP_ON_CUDA("the environment switch uses f16 there");
  const auto initialize = [](OptLevel level) {
    OneParameter model(1);
    optim::SGD sgd({model.p}, optim::SGDOptions(1));
    amp::initialize(model, sgd, level, silent());
  };
  const auto expect_autocast = [type = device_type()](bool on, DType dtype) {
    EXPECT_EQ(amp::is_autocast_enabled(type), on);
    EXPECT_EQ(amp::get_autocast_dtype(type), dtype);
    std::thread([&] {
      EXPECT_EQ(amp::is_autocast_enabled(type), on);
      EXPECT_EQ(amp::get_autocast_dtype(type), dtype);
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
  // Nor autocast that the program has changed since.
  initialize(OptLevel::O1);
  amp::set_autocast_dtype(device_type(), kBFloat16);
  initialize(OptLevel::O0);
  EXPECT_TRUE(amp::is_autocast_enabled(device_type()));
}

TEST_F(OptLevels, OptimizerStateHoldsOptionalScales) {
  const auto loss_of = [](nn::Linear& net) { return net(ones({2, 4})).mean(); };
  nn::Linear scaled(4, 1), plain(4, 1);
  optim::SGD sgd(scaled->parameters(), optim::SGDOptions(0.1)), f32(plain->parameters(), optim::SGDOptions(0.1));
  amp::initialize(scaled, sgd, OptLevel::O1, silent().max_loss_scale(4096));
  amp::scale_loss(loss_of(scaled), sgd).backward();
  sgd.step();
  const std::string key = "step_scaler.loss_scaler0._growth_tracker";
  StateDict state = clone(sgd.state_dict());
  EXPECT_EQ(state[key].item<int64_t>(), 1);
  f32.load_state_dict(state);  // an f32 run accepts it
  const StateDict without = f32.state_dict();
  EXPECT_FALSE(without.contains(key));
  sgd.load_state_dict(without);  // and saves none, which is also accepted
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
