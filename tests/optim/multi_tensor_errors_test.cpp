// RMSprop, Adagrad, Adadelta, Adamax, NAdam, RAdam, Lion and LAMB reject invalid options, gradients and states before
// they write anything.
#include <cmath>
#include <functional>

#include "optim/tested_optimizers.h"
#include "support/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using namespace optim;  // NOLINT(google-build-using-namespace)
using Tensors = std::vector<Tensor>;

Tensor ones_leaf() { return ones({3}).requires_grad_(); }

TEST(MultiTensorOptimizerErrors, Options) {
  const Tensors p = {ones_leaf()};
  const double nan = std::nan(""), inf = INFINITY;
  const char* rule = "finite and at least 0";
  expect_refused({
      BAD_INPUT("RMSprop", RMSprop(p, -1), StateError, "lr = -1", rule),
      BAD_INPUT("RMSprop", RMSprop(p, RMSpropOptions().alpha(-1)), StateError, "alpha = -1", rule),
      BAD_INPUT("RMSprop", RMSprop(p, RMSpropOptions().eps(nan)), StateError, "eps = nan", rule),
      BAD_INPUT("RMSprop", RMSprop(p, RMSpropOptions().momentum(inf)), StateError, "momentum = inf", rule),
      BAD_INPUT("RMSprop", RMSprop(p, RMSpropOptions().weight_decay(-1)), StateError, "weight_decay = -1", rule),
      BAD_INPUT("Adagrad", Adagrad(p, nan), StateError, "lr = nan", rule),
      BAD_INPUT("Adagrad", Adagrad(p, AdagradOptions().lr_decay(-1)), StateError, "lr_decay = -1", rule),
      BAD_INPUT("Adagrad", Adagrad(p, AdagradOptions().initial_accumulator_value(-1)), StateError,
                "initial_accumulator_value = -1", rule),
      BAD_INPUT("Adagrad", Adagrad(p, AdagradOptions().eps(-1)), StateError, "eps = -1", rule),
      BAD_INPUT("Adagrad", Adagrad(p, AdagradOptions().weight_decay(-1)), StateError, "weight_decay = -1", rule),
      BAD_INPUT("Adadelta", Adadelta(p, inf), StateError, "lr = inf", rule),
      BAD_INPUT("Adadelta", Adadelta(p, AdadeltaOptions().rho(1.5)), StateError, "rho = 1.5", "[0, 1]"),
      BAD_INPUT("Adadelta", Adadelta(p, AdadeltaOptions().eps(-1)), StateError, "eps = -1", rule),
      BAD_INPUT("Adadelta", Adadelta(p, AdadeltaOptions().weight_decay(nan)), StateError, "weight_decay = nan", rule),
      BAD_INPUT("Adamax", Adamax(p, -1), StateError, "lr = -1", rule),
      BAD_INPUT("Adamax", Adamax(p, AdamaxOptions().betas({1, 0.9})), StateError, "beta 0 = 1", "[0, 1)"),
      BAD_INPUT("Adamax", Adamax(p, AdamaxOptions().eps(-1)), StateError, "eps = -1", rule),
      BAD_INPUT("NAdam", NAdam(p, NAdamOptions().betas({0.9, -0.5})), StateError, "beta 1 = -0.5", "[0, 1)"),
      BAD_INPUT("NAdam", NAdam(p, NAdamOptions().momentum_decay(-1)), StateError, "momentum_decay = -1", rule),
      BAD_INPUT("NAdam", NAdam(p, NAdamOptions().eps(-1)), StateError, "eps = -1", rule),
      BAD_INPUT("RAdam", RAdam(p, RAdamOptions().betas({nan, 0.9})), StateError, "beta 0 = nan", "[0, 1)"),
      BAD_INPUT("RAdam", RAdam(p, RAdamOptions().eps(-1)), StateError, "eps = -1", rule),
      BAD_INPUT("Lion", Lion(p, -1), StateError, "lr = -1", rule),
      BAD_INPUT("Lion", Lion(p, LionOptions().betas({0.9, 1})), StateError, "beta 1 = 1", "[0, 1)"),
      BAD_INPUT("LAMB", LAMB(p, LAMBOptions().betas({-1, 1})), StateError, "beta 0 = -1", "[0, 1)"),
      BAD_INPUT("LAMB", LAMB(p, LAMBOptions().eps(-1)), StateError, "eps = -1", rule),
      BAD_INPUT("LAMB", LAMB(p, LAMBOptions().weight_decay(-1)), StateError, "weight_decay = -1", rule),
  });
}

/// The class of the kind.
std::string op_of(const TestedOptimizer& kind) {
  for (const char* name : {"SGD", "AdamW", "RMSprop"}) {
    if (kind.name.starts_with(name)) return name;
  }
  return kind.name == "AdamAmsgrad" ? "Adam" : kind.name;
}

TEST(MultiTensorOptimizerErrors, GradientsStatesAndOptionsOfOthers) {
  struct Others : OptimizerCloneableOptions<Others> {
    double get_lr() const override { return 1; }
  };
  for (const TestedOptimizer& kind : tested_optimizers()) {
    const std::string op = op_of(kind);
    const auto step = [&](const Tensor& gradient) {
      const Tensor p = ones_leaf();
      p.mutable_grad() = gradient;
      kind.make({p}, 0.1)->step();
    };
    const auto step_with = [&](const std::function<void(Optimizer&, const Tensor&)>& change) {
      const Tensor p = ones_leaf(), q = ones_leaf();
      const auto optimizer = kind.make({p, q}, 0.1);
      p.mutable_grad() = q.mutable_grad() = ones({3});
      optimizer->step();
      const Tensor before = p.detach().clone();
      change(*optimizer, q);
      try {
        optimizer->step();
      } catch (...) {
        EXPECT_TRUE(p.detach().eq(before).all().item<bool>()) << "all checks come before the first write";
        throw;
      }
    };
    expect_refused({
        BAD_INPUT(op, step(ones({5})), ShapeError, "[3] parameter", "gradient of [5]", "equal"),
        BAD_INPUT(op, step(ones({3}, kLong)), DTypeError, "[3] parameter", "i64", "floating"),
        BAD_INPUT(op, step_with([](Optimizer& o, const Tensor&) { o.param_groups()[0].options().set_lr(-1); }),
                  StateError, "lr = -1"),
        BAD_INPUT(op, step_with([](Optimizer& o, const Tensor&) {
                    o.param_groups()[0].set_options(std::make_unique<Others>());
                  }),
                  StateError, "another optimizer", "give it " + op + "Options"),
        BAD_INPUT("Optimizer", kind.make({}, 0.1), StateError, "parameter list is empty"),
    });
    if (kind.name == "SGD") continue;  // it has no state
    expect_refused({
        BAD_INPUT(op, step_with([](Optimizer&, const Tensor& q) {
                    q.set_data(ones({5}));
                    q.mutable_grad() = ones({5});
                  }),
                  StateError, "is [3] ", " on cpu", "[5] f32 on cpu", "new optimizer"),
    });
  }
}

TEST(MultiTensorOptimizerErrors, ReplacedScalars) {
  const Tensor p = ones({2}).requires_grad_();
  NAdam nadam({p});
  p.mutable_grad() = ones({2});
  nadam.step();
  auto& state = static_cast<NAdamParamState&>(*nadam.state().at(&p.impl()));
  const Tensor step = state.step();
  for (const Tensor& bad : {Tensor(), ones({4}), ones({}, kLong)}) {
    state.step(bad);
    expect_refused({bad_input<StateError>("NAdam", "step()", [&] { nadam.step(); }, {"step of a [2] parameter"})});
    state.step(step).mu_product(bad);
    expect_refused({bad_input<StateError>("NAdam", "step()", [&] { nadam.step(); },
                                          {"mu_product of a [2] parameter", "f32 tensor of one element"})});
    state.mu_product(ones({}));
  }
  EXPECT_NO_THROW(nadam.step());
}

}  // namespace
}  // namespace tandem::testing
