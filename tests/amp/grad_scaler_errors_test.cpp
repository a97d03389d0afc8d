// The scaler throws for options and states outside their domains, losses and gradients that it cannot scale, and calls
// in the wrong order.
#include <cmath>

#include "support/bad_input.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/sgd.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using amp::GradScaler;
using amp::GradScalerOptions;

TEST(ScalerErrors, Options) {
  const auto make = [](const GradScalerOptions& options) { GradScaler scaler(options); };
  expect_refused({
      BAD_INPUT("GradScaler", make(GradScalerOptions().init_scale(0)), StateError, "init_scale", "positive", "not 0"),
      BAD_INPUT("GradScaler", make(GradScalerOptions().init_scale(1e39)), StateError, "init_scale", "f32", "1e+39"),
      BAD_INPUT("GradScaler", make(GradScalerOptions().growth_factor(1)), StateError, "growth_factor", "not 1"),
      BAD_INPUT("GradScaler", make(GradScalerOptions().growth_factor(INFINITY)), StateError, "growth_factor", "inf"),
      BAD_INPUT("GradScaler", make(GradScalerOptions().backoff_factor(1)), StateError, "backoff_factor", "not 1"),
      BAD_INPUT("GradScaler", make(GradScalerOptions().backoff_factor(0)), StateError, "backoff_factor", "not 0"),
      BAD_INPUT("GradScaler", make(GradScalerOptions().growth_interval(0)), StateError, "growth_interval", "not 0"),
      BAD_INPUT("GradScaler", make(GradScalerOptions().min_scale(-1)), StateError, "min_scale", "positive", "not -1"),
      BAD_INPUT("GradScaler", make(GradScalerOptions().max_scale(-1)), StateError, "max_scale", "positive", "not -1"),
      BAD_INPUT("GradScaler", make(GradScalerOptions().min_scale(8).max_scale(4)), StateError, "min_scale 8",
                "max_scale 4", "swap them"),
      BAD_INPUT("GradScaler", make(GradScalerOptions().init_scale(2).min_scale(8)), StateError, "init_scale 2",
                "min_scale 8", "change one"),
      BAD_INPUT("GradScaler", make(GradScalerOptions().init_scale(8).max_scale(4)), StateError, "init_scale 8",
                "max_scale 4"),
      BAD_INPUT("GradScaler", make(GradScalerOptions().hysteresis(0)), StateError, "hysteresis", "not 0"),
      BAD_INPUT("GradScaler", make(GradScalerOptions().max_consecutive_skips(-1)), StateError, "max_consecutive_skips",
                "not -1", "at least 0"),
  });
}

/// A parameter, its optimizer and a scaler; each row uses a new one.
struct Training {
  Tensor p = ones({3}).requires_grad_();
  optim::SGD sgd{std::vector<Tensor>{p}, optim::SGDOptions(0.1)};
  GradScaler scaler{GradScalerOptions().init_scale(4)};
  Training& backward() {
    scaler.scale(p.sum()).backward();
    return *this;
  }
};

template <class E>
BadInput row(const std::string& function, const std::string& call, void (*run)(Training&),
             std::vector<std::string> texts) {
  return bad_input<E>(
      function, call,
      [run] {
        Training t;
        run(t);
      },
      std::move(texts));
}

TEST(ScalerErrors, Setters) {
  expect_refused({
      row<StateError>("set_growth_factor", "0.5", [](Training& t) { t.scaler.set_growth_factor(0.5); },
                      {"growth_factor", "above 1", "not 0.5"}),
      row<StateError>("set_backoff_factor", "2", [](Training& t) { t.scaler.set_backoff_factor(2); },
                      {"backoff_factor", "between 0 and 1", "not 2"}),
      row<StateError>("set_growth_interval", "-1", [](Training& t) { t.scaler.set_growth_interval(-1); },
                      {"growth_interval", "at least 1", "not -1"}),
  });
}

TEST(ScalerErrors, CallsOutOfOrder) {
  const std::vector<std::string> unscaled = {"has not scaled a loss", "call scale(loss).backward() first"};
  expect_refused({
      row<StateError>(
          "unscale_", "first", [](Training& t) { t.scaler.unscale_(t.sgd); }, unscaled),
      row<StateError>(
          "step", "first", [](Training& t) { t.scaler.step(t.sgd); }, unscaled),
      row<StateError>(
          "update", "first", [](Training& t) { t.scaler.update(); }, unscaled),
      row<StateError>(
          "update", "a number first", [](Training& t) { t.scaler.update(2.0); }, unscaled),
      row<StateError>(
          "update", "a tensor first", [](Training& t) { t.scaler.update(ones({})); }, unscaled),
      row<StateError>("update", "before step", [](Training& t) { t.backward().scaler.update(); },
                      {"no optimizer was stepped", "call step(optimizer) first"}),
      row<StateError>("unscale_", "twice",
                      [](Training& t) {
                        t.backward().scaler.unscale_(t.sgd);
                        t.scaler.unscale_(t.sgd);
                      },
                      {"already called", "once per iteration"}),
      row<StateError>("unscale_", "after step",
                      [](Training& t) {
                        t.backward().scaler.step(t.sgd);
                        t.scaler.unscale_(t.sgd);
                      },
                      {"after step()", "update()"}),
      row<StateError>("step", "twice",
                      [](Training& t) {
                        t.backward().scaler.step(t.sgd);
                        t.scaler.step(t.sgd);
                      },
                      {"already called", "call update()"}),
      row<StateError>("step", "a closure",
                      [](Training& t) { t.backward().scaler.step(t.sgd, [] { return Tensor(); }); },
                      {"closure", "without a closure"}),
      row<StateError>(
          "inverse_scale", "first", [](Training& t) { t.scaler.inverse_scale(); }, unscaled),
      row<StateError>(
          "unscale", "first", [](Training& t) { t.scaler.unscale(t.p); }, unscaled),
      row<StateError>("run_step", "after unscale_ of tensors",
                      [](Training& t) {
                        t.backward().scaler.unscale_({ones({2})});
                        t.scaler.run_step(t.sgd, [&] { return t.p.sum(); });
                      },
                      {"middle of an iteration", "call update() first"}),
      row<StateError>("run_step", "after a flag",
                      [](Training& t) {
                        t.backward().scaler.record_found_inf(ones({}));
                        t.scaler.run_step(t.sgd, [&] { return t.p.sum(); });
                      },
                      {"middle of an iteration", "call update() first"}),
      row<StateError>("run_step", "in an iteration",
                      [](Training& t) {
                        t.backward().scaler.unscale_(t.sgd);
                        t.scaler.run_step(t.sgd, [&] { return t.p.sum(); });
                      },
                      {"middle of an iteration", "call update() first"}),
      row<StateError>("run_step", "no closure", [](Training& t) { t.scaler.run_step(t.sgd, nullptr); },
                      {"the closure is empty", "computes the loss"}),
      row<StateError>("run_step", "negative",
                      [](Training& t) {
                        t.scaler.run_step(
                            t.sgd, [&] { return t.p.sum(); }, -1);
                      },
                      {"max_replays", "at least 0", "not -1"}),
      row<StateError>("load_state_dict", "after unscale_ of tensors",
                      [](Training& t) {
                        t.backward().scaler.unscale_({ones({2})});
                        t.scaler.load_state_dict(t.scaler.state_dict());
                      },
                      {"middle of an iteration", "call update() first"}),
      row<StateError>("load_state_dict", "after a flag",
                      [](Training& t) {
                        t.backward().scaler.record_found_inf(ones({}));
                        t.scaler.load_state_dict(t.scaler.state_dict());
                      },
                      {"middle of an iteration", "call update() first"}),
      row<StateError>("load_state_dict", "in an iteration",
                      [](Training& t) {
                        t.backward().scaler.unscale_(t.sgd);
                        t.scaler.load_state_dict(t.scaler.state_dict());
                      },
                      {"middle of an iteration", "call update() first"}),
  });
}

TEST(ScalerErrors, LossesGradientsAndScales) {
  const std::string scale = "f32 tensor of one element that does not require grad";
  const std::string number = "new_scale must be a positive normal f32 number";
  expect_refused({
      row<StateError>("scale", "undefined", [](Training& t) { t.scaler.scale(Tensor()); },
                      {"the loss is an undefined tensor", "give it a value first"}),
      row<StateError>("scale", "a list",
                      [](Training& t) {
                        t.scaler.scale(std::vector<Tensor>{t.p, Tensor()});
                      },
                      {"the loss is an undefined tensor", "give it a value first"}),
      row<DTypeError>("scale", "i64",
                      [](Training& t) {
                        t.scaler.scale(ones({2, 3}, kLong));
                      },
                      {"floating", "[2, 3] i64", ".to(kFloat)"}),
      row<DTypeError>("unscale", "i64", [](Training& t) { t.backward().scaler.unscale(ones({3}, kLong)); },
                      {"floating", "[3] i64", ".to(kFloat)"}),
      row<DTypeError>("unscale_", "f16 gradient",
                      [](Training& t) {
                        t.backward();
                        t.p.mutable_grad() = ones({3}, kHalf);
                        t.scaler.unscale_(t.sgd);
                      },
                      {"parameter 0 [3]", "f16", "keep parameters in f32"}),
      row<StateError>("update", "0", [](Training& t) { t.backward().scaler.update(0.0); },
                      {"new_scale", "positive", "not 0"}),
      row<StateError>("update", "nan", [](Training& t) { t.backward().scaler.update(NAN); },
                      {"new_scale", "positive", "not nan"}),
      row<StateError>("update", "undefined", [](Training& t) { t.backward().scaler.update(Tensor()); },
                      {"new_scale is an undefined tensor", "give it a value first"}),
      row<StateError>("update", "[2]", [](Training& t) { t.backward().scaler.update(ones({2})); },
                      {"new_scale is [2] f32", scale, "pass a number"}),
      row<StateError>("update", "f64", [](Training& t) { t.backward().scaler.update(ones({}, kDouble)); },
                      {"new_scale is [] f64", scale, ".to(kFloat)"}),
      row<StateError>("update", "with grad", [](Training& t) { t.backward().scaler.update(ones({}).requires_grad_()); },
                      {"[] f32 and requires grad", scale, "detach()"}),
      row<ShapeError>("unscale_", "an expanded gradient",
                      [](Training& t) {
                        t.backward();
                        t.p.mutable_grad() = ones({1}).expand({3});
                        t.scaler.unscale_(t.sgd);
                      },
                      {"parameter 0 [3]", "share memory", "clone()"}),
      row<StateError>("update", "above max_scale",
                      [](Training& t) {
                        t.scaler = GradScaler(GradScalerOptions().init_scale(4).max_scale(8));
                        t.backward().scaler.update(16.0);
                      },
                      {"new_scale 16", "max_scale 8", "change one"}),
      row<StateError>("update", "a tensor above max_scale",
                      [](Training& t) {
                        t.scaler = GradScaler(GradScalerOptions().init_scale(4).max_scale(8));
                        t.backward().scaler.update(full({}, 16.0));
                      },
                      {"new_scale 16", "max_scale 8", "change one"}),
      row<StateError>("update", "a zero", [](Training& t) { t.backward().scaler.update(zeros({})); },
                      {number, "not 0"}),
      row<StateError>("update", "a negative number", [](Training& t) { t.backward().scaler.update(full({}, -2.0)); },
                      {number, "not -2"}),
      row<StateError>("update", "NaN", [](Training& t) { t.backward().scaler.update(full({}, NAN)); },
                      {number, "not nan"}),
      row<StateError>("update", "inf", [](Training& t) { t.backward().scaler.update(full({}, INFINITY)); },
                      {number, "not inf"}),
      row<DeviceError>("update", "far", [](Training& t) { t.backward().scaler.update(on_another_device({})); },
                       {"new_scale is on cuda", "on cpu", ".to(device)"}),
      row<DeviceError>("unscale_", "a gradient elsewhere",
                       [](Training& t) {
                         t.backward();
                         t.p.mutable_grad() = on_another_device({3});
                         t.scaler.unscale_(t.sgd);
                       },
                       {"parameter 0 [3] is on cuda", "on cpu", "one scaler per device type"}),
      row<DeviceError>("step", "a gradient elsewhere",
                       [](Training& t) {
                         t.backward();
                         t.p.mutable_grad() = on_another_device({3});
                         t.scaler.step(t.sgd);
                       },
                       {"parameter 0 [3] is on cuda", "on cpu", "one scaler per device type"}),
  });
}

TEST(ScalerErrors, CodeOfTheUserNamesItsErrors) {
  struct Failing : optim::Optimizer {
    explicit Failing(const Tensor& p) : Optimizer({p}, std::make_unique<optim::SGDOptions>(0.1)) {}
    using Optimizer::step;
    Tensor step(LossClosure = nullptr) override { return mm(ones({3}), ones({3})); }
  };
  Training t;
  Failing failing(t.p);
  t.backward();
  EXPECT_THROWS(t.scaler.step(failing), ShapeError, "mm: ");
  GradScaler scaler;
  EXPECT_THROWS(scaler.run_step(t.sgd, [&] { return mm(t.p, t.p); }), ShapeError, "mm: ");
  t.p.mutable_grad() = ones({5});
  scaler.scale(ones({}));
  EXPECT_THROWS(scaler.step(t.sgd), ShapeError, "SGD: ") << "an optimizer names itself";
}

TEST(ScalerErrors, RefusedListOfLossesHasNoEffect) {
  GradScaler scaler;
  EXPECT_THROWS(scaler.scale(std::vector<Tensor>{ones({}), ones({}, kLong)}), DTypeError, "scale: ", "[] i64");
  EXPECT_THROWS(scaler.update(2.0), StateError, "has not scaled a loss");
}

TEST(ScalerErrors, States) {
  const auto load = [](const char* key, Scalar value) {
    GradScaler scaler(GradScalerOptions().init_scale(4));
    auto state = scaler.state_dict();
    state[key] = value;
    scaler.load_state_dict(state);
  };
  const auto load_without = [](const char* key) {
    GradScaler scaler;
    auto state = scaler.state_dict();
    state.erase(key);
    scaler.load_state_dict(state);
  };
  expect_refused({
      BAD_INPUT("load_state_dict", GradScaler().load_state_dict({}), StateError, "empty", "disabled", "fresh one"),
      BAD_INPUT("load_state_dict", load_without("scale"), StateError, "'scale'", "missing", "state_dict()"),
      BAD_INPUT("load_state_dict", load_without("_growth_tracker"), StateError, "'_growth_tracker'", "missing"),
      BAD_INPUT("load_state_dict", load("scale", -1.0), StateError, "scale", "positive", "not -1"),
      BAD_INPUT("load_state_dict", load("growth_factor", 1), StateError, "growth_factor", "above 1", "not 1"),
      BAD_INPUT("load_state_dict", load("backoff_factor", 2), StateError, "backoff_factor", "between 0 and 1", "not 2"),
      BAD_INPUT("load_state_dict", load("growth_interval", 0), StateError, "growth_interval", "whole number", "not 0"),
  });
}

}  // namespace
}  // namespace tandem::testing
