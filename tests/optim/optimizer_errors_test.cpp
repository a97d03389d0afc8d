// Optimizers reject invalid parameters, gradients, states and options before they write anything.
#include <cmath>
#include <functional>

#include "support/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using optim::Adam;
using optim::AdamOptions;
using optim::AdamW;
using optim::AdamWOptions;
using optim::OptimizerParamGroup;
using optim::SGD;
using optim::SGDOptions;
using Tensors = std::vector<Tensor>;

/// A user-defined optimizer that overrides only what is required.
struct Plain : optim::Optimizer {
  using optim::Optimizer::Optimizer;
  using optim::Optimizer::step;
  Tensor step(LossClosure = nullptr) override { return {}; }
};

Tensor leaf() { return ones({3}).requires_grad_(); }

TEST(OptimizerErrors, Parameters) {
  const Tensor none, p = leaf(), n = ones({2, 3}, kLong);
  const OptimizerParamGroup nothing(Tensors{});
  const auto sgd = [](const Tensors& parameters) { SGD optimizer(parameters, 0.1); };
  const auto add = [=](const Tensor& x) { SGD(Tensors{p}, 0.1).add_param_group(OptimizerParamGroup({x})); };
  expect_refused({
      BAD_INPUT("Optimizer", sgd({p, none}), StateError, "parameter 1", "undefined tensor", "give it a value first"),
      BAD_INPUT("Optimizer", sgd({p, n}), DTypeError, "parameter 1 is [2, 3] i64", "floating", ".to(kFloat)"),
      BAD_INPUT("Optimizer", sgd({p * 2}), AutogradError, "parameter 0 ([3])", "the result of an op", "detach()"),
      BAD_INPUT("Optimizer", sgd({p, p}), StateError, "parameter 1 ([3])", "already", "once"),
      BAD_INPUT("Optimizer", sgd({ones({1}).expand({3})}), ShapeError, "parameter 0 [3] f32", "share memory",
                "clone()"),
      BAD_INPUT("add_param_group", add(p), StateError, "parameter 0 ([3])", "already", "once"),
      BAD_INPUT("add_param_group", add(none), StateError, "parameter 0", "undefined tensor", "give it a value first"),
      BAD_INPUT("SGD", SGD({nothing}, 0.1).step(), StateError, "without any parameters", "registered"),
      BAD_INPUT("Adam", Adam({nothing}).step(), StateError, "without any parameters", "registered"),
      BAD_INPUT("AdamW", AdamW({nothing}).step(), StateError, "without any parameters", "registered"),
      BAD_INPUT("Optimizer", SGD(Tensors{}, 0.1), StateError, "parameter list is empty", "registered"),
      BAD_INPUT("Optimizer", Adam(Tensors{}), StateError, "parameter list is empty", "registered"),
      BAD_INPUT("Optimizer", AdamW(Tensors{}), StateError, "parameter list is empty", "registered"),
      BAD_INPUT("Optimizer", Plain(Tensors{}, std::make_unique<SGDOptions>(1)), StateError, "parameter list is empty",
                "registered"),
      BAD_INPUT("Optimizer", Adam(std::vector<OptimizerParamGroup>{}), StateError, "parameter groups is empty",
                "pass at least one"),
  });
}

TEST(OptimizerErrors, Options) {
  const Tensors p = {leaf()};
  const double nan = std::nan(""), inf = INFINITY;
  const char* rule = "finite and at least 0";
  expect_refused({
      BAD_INPUT("SGD", SGD(p, -0.5), StateError, "lr = -0.5", rule),
      BAD_INPUT("SGD", SGD(p, SGDOptions(1).momentum(nan)), StateError, "momentum = nan", rule),
      BAD_INPUT("SGD", SGD(p, SGDOptions(1).weight_decay(inf)), StateError, "weight_decay = inf", rule),
      BAD_INPUT("SGD", SGD(p, SGDOptions(1).dampening(nan)), StateError, "dampening = nan", "finite"),
      BAD_INPUT("SGD", SGD(p, SGDOptions(1).dampening(-inf)), StateError, "dampening = -inf", "finite"),
      BAD_INPUT("SGD", SGD(p, SGDOptions(1).nesterov(true)), StateError, "momentum = 0", "above 0"),
      BAD_INPUT("SGD", SGD(p, SGDOptions(1).nesterov(true).momentum(1).dampening(0.5)), StateError, "dampening = 0.5",
                "dampening 0"),
      BAD_INPUT("Adam", Adam(p, -1), StateError, "lr = -1", rule),
      BAD_INPUT("Adam", Adam(p, AdamOptions().eps(-1)), StateError, "eps = -1", rule),
      BAD_INPUT("Adam", Adam(p, AdamOptions().weight_decay(-1)), StateError, "weight_decay = -1", rule),
      BAD_INPUT("Adam", Adam(p, AdamOptions().betas({1, 0.9})), StateError, "beta 0 = 1", "[0, 1)"),
      BAD_INPUT("Adam", Adam(p, AdamOptions().betas({0.9, nan})), StateError, "beta 1 = nan", "[0, 1)"),
      BAD_INPUT("AdamW", AdamW(p, nan), StateError, "lr = nan", rule),
      BAD_INPUT("AdamW", AdamW(p, AdamWOptions().eps(inf)), StateError, "eps = inf", rule),
      BAD_INPUT("AdamW", AdamW(p, AdamWOptions().weight_decay(inf)), StateError, "weight_decay = inf", rule),
      BAD_INPUT("AdamW", AdamW(p, AdamWOptions().betas({-0.1, 0.9})), StateError, "beta 0 = -0.1", "[0, 1)"),
      BAD_INPUT("AdamW", AdamW(p, AdamWOptions().betas({0.9, 1.5})), StateError, "beta 1 = 1.5", "[0, 1)"),
      BAD_INPUT("Optimizer", Plain(p, nullptr), StateError, "default options are null", "pass options"),
      BAD_INPUT("options", OptimizerParamGroup(p).options(), StateError, "no options yet", "defaults"),
  });
}

TEST(OptimizerErrors, OptionsOfGroups) {
  const auto group = []<class Options>(const Options& options) {
    return OptimizerParamGroup(Tensors{leaf()}, options.clone());
  };
  // Options given with a group, added with one, or set later; in the last case the next step throws before it writes.
  const auto made = [=](const auto& make, const auto& options) {
    const auto optimizer = make(std::vector<OptimizerParamGroup>{OptimizerParamGroup(Tensors{leaf()}), group(options)});
  };
  const auto added = [=](const auto& make, const auto& options) {
    make({OptimizerParamGroup(Tensors{leaf()})})->add_param_group(group(options));
  };
  const auto set = [](const auto& make, const auto& options) {
    const auto optimizer = make({OptimizerParamGroup(Tensors{leaf()})});
    optimizer->param_groups()[0].params()[0].mutable_grad() = ones({3});
    optimizer->param_groups()[0].set_options(options.clone());
    try {
      optimizer->step();
    } catch (...) {
      EXPECT_TRUE(optimizer->parameters()[0].detach().eq(1).all().template item<bool>());
      throw;
    }
  };
  using Groups = std::vector<OptimizerParamGroup>;
  const auto sgd = [](const Groups& groups) { return std::make_unique<SGD>(groups, 1); };
  const auto adam = [](const Groups& groups) { return std::make_unique<Adam>(groups); };
  const auto adamw = [](const Groups& groups) { return std::make_unique<AdamW>(groups); };
  expect_refused({
      BAD_INPUT("SGD", made(sgd, SGDOptions(-0.5)), StateError, "lr = -0.5"),
      BAD_INPUT("SGD", added(sgd, SGDOptions(1).momentum(-1)), StateError, "momentum = -1"),
      BAD_INPUT("SGD", set(sgd, SGDOptions(-0.5)), StateError, "lr = -0.5"),
      BAD_INPUT("SGD", set(sgd, SGDOptions(1).momentum(-1)), StateError, "momentum = -1"),
      BAD_INPUT("SGD", set(sgd, SGDOptions(1).weight_decay(-1)), StateError, "weight_decay = -1"),
      BAD_INPUT("Adam", made(adam, AdamOptions(-1)), StateError, "lr = -1"),
      BAD_INPUT("Adam", added(adam, AdamOptions().eps(-1)), StateError, "eps = -1"),
      BAD_INPUT("Adam", set(adam, AdamOptions(-1)), StateError, "lr = -1"),
      BAD_INPUT("Adam", set(adam, AdamOptions().eps(-1)), StateError, "eps = -1"),
      BAD_INPUT("Adam", set(adam, AdamOptions().betas({1, 0.9})), StateError, "beta 0 = 1"),
      BAD_INPUT("AdamW", made(adamw, AdamWOptions().betas({0.9, -0.1})), StateError, "beta 1 = -0.1"),
      BAD_INPUT("AdamW", added(adamw, AdamWOptions().weight_decay(-1)), StateError, "weight_decay = -1"),
      BAD_INPUT("AdamW", set(adamw, AdamWOptions().weight_decay(-1)), StateError, "weight_decay = -1"),
  });
}

TEST(OptimizerErrors, OptionsOfAnotherOptimizer) {
  const auto step = []<class Optimizer>(Optimizer optimizer, std::unique_ptr<optim::OptimizerOptions> options) {
    optimizer->param_groups()[0].params()[0].mutable_grad() = ones({3});
    optimizer->param_groups()[0].set_options(std::move(options));
    optimizer->step();
  };
  expect_refused({
      BAD_INPUT("SGD", step(std::make_unique<SGD>(Tensors{leaf()}, 1), std::make_unique<AdamOptions>()), StateError,
                "another optimizer", "give it SGDOptions"),
      BAD_INPUT("Adam", step(std::make_unique<Adam>(Tensors{leaf()}), std::make_unique<SGDOptions>(1)), StateError,
                "another optimizer", "give it AdamOptions"),
      BAD_INPUT("AdamW", step(std::make_unique<AdamW>(Tensors{leaf()}), std::make_unique<AdamOptions>()), StateError,
                "another optimizer", "give it AdamWOptions"),
  });
}

TEST(OptimizerErrors, GradientsAndStates) {
  using Make = std::function<std::unique_ptr<optim::Optimizer>(const Tensor&)>;
  struct Kind {
    const char* name;
    const char* state;
    Make make;
  };
  const Kind kinds[] = {
      {"SGD", "momentum_buffer",
       [](const Tensor& p) { return std::make_unique<SGD>(Tensors{p}, SGDOptions(0.1).momentum(0.9)); }},
      {"Adam", "exp_avg", [](const Tensor& p) { return std::make_unique<Adam>(Tensors{p}); }},
      {"AdamW", "exp_avg", [](const Tensor& p) { return std::make_unique<AdamW>(Tensors{p}); }},
  };
  for (const Kind& kind : kinds) {
    const auto step = [make = kind.make](const Tensor& gradient) {
      const Tensor p = leaf();
      p.mutable_grad() = gradient;
      make(p)->step();
    };
    const auto step_replaced = [make = kind.make](const Tensor& data) {
      const Tensor p = leaf();
      const auto optimizer = make(p);
      p.mutable_grad() = ones({3});
      optimizer->step();
      p.set_data(data);
      p.mutable_grad() = ones_like(data);
      optimizer->step();
    };
    const auto step_beside = [make = kind.make](const Tensor& slipped_in) {
      const auto optimizer = make(leaf());
      optimizer->param_groups()[0].params().push_back(slipped_in);
      optimizer->step();
    };
    const Tensor whole = ones({2}, kLong);
    whole.mutable_grad() = ones({2});
    const auto step_scaled = [make = kind.make](const Tensor& inverse_scale, const Tensor& found_inf) {
      make(leaf())->step(FusedUnscale{inverse_scale, found_inf});
    };
    expect_refused({
        BAD_INPUT(kind.name, step(ones({5})), ShapeError, "[3] parameter", "gradient of [5]", "equal"),
        BAD_INPUT(kind.name, step_beside({}), StateError, "undefined tensor", "give it a value first"),
        BAD_INPUT(kind.name, step_beside(whole), DTypeError, "[2] i64", "floating", ".to(kFloat)"),
        BAD_INPUT(kind.name, step(ones({3}, kLong)), DTypeError, "[3] parameter", "i64", "floating"),
        BAD_INPUT(kind.name, step(on_another_device({3})), DeviceError, "on cpu", "on cuda", "zero_grad()"),
        BAD_INPUT(kind.name, step_replaced(ones({5})), StateError, kind.state, "[3] f32 on cpu", "[5] f32 on cpu",
                  "new optimizer"),
        BAD_INPUT(kind.name, step_replaced(ones({3}, kDouble)), StateError, kind.state, "[3] f32", "[3] f64",
                  "new optimizer"),
        BAD_INPUT(kind.name, step_scaled(ones({2}), {}), StateError, "inverse_scale is [2] f32", "one element"),
        BAD_INPUT(kind.name, step_scaled({}, ones({}, kHalf)), StateError, "found_inf is [] f16", "f32"),
    });
  }
}

TEST(OptimizerErrors, MissingOverridesOfCustomOptimizers) {
  struct NoRate : optim::OptimizerCloneableOptions<NoRate> {};
  const Tensor p = leaf();
  expect_refused({
      BAD_INPUT("step", Plain(Tensors{p}, std::make_unique<SGDOptions>(1)).step(FusedUnscale{}), NotImplementedError,
                "unscale_", "supports_amp_scaling()"),
      BAD_INPUT("get_lr", NoRate().get_lr(), StateError, "no learning rate", "override get_lr"),
      BAD_INPUT("set_lr", NoRate().set_lr(2), StateError, "no learning rate to set to 2", "override get_lr"),
  });
}

TEST(OptimizerErrors, CodeOfTheUserNamesItsErrors) {
  const Tensor vector = ones({3});
  SGD sgd(Tensors{leaf()}, 0.1);
  EXPECT_THROWS(sgd.step([&] { return mm(vector, vector); }), ShapeError, "mm: ");
}

TEST(OptimizerErrors, ReplacedStepCount) {
  const Tensor p = ones({2}).requires_grad_();
  Adam adam({p});
  p.mutable_grad() = ones({2});
  adam.step();
  auto& state = static_cast<optim::AdamParamState&>(*adam.state().at(&p.impl()));
  for (const Tensor& bad : {Tensor(), ones({4}), ones({}, kLong)}) {
    state.step(bad);
    expect_refused({bad_input<StateError>("Adam", "step()", [&] { adam.step(); },
                                          {"step of a [2] parameter", "f32 tensor of one element"})});
  }
}

}  // namespace
}  // namespace tandem::testing
