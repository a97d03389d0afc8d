// State of optimizers: PyTorch's keys, the same bits after loading, and no change if a state does not fit.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "optim/tested_optimizers.h"
#include "support/counter.h"
#include "support/state.h"
#include "support/throws.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using namespace optim;  // NOLINT(google-build-using-namespace)

std::vector<Tensor> make_params(DType dtype = kFloat) {
  return {full({3, 2}, 0.5, dtype).requires_grad_(), full({4}, -0.25, dtype).requires_grad_(),
          full({2}, 1.0, dtype).requires_grad_()};
}

/// Trains; the last parameter has no gradient and therefore no state.
void train(Optimizer& optimizer, const std::vector<Tensor>& params, int steps, uint64_t seed) {
  for (int step = 0; step < steps; ++step) {
    for (size_t k = 0; k < 2; ++k) {
      const Tensor g = empty(params[k].sizes(), kCPU);
      for (int64_t i = 0; i < g.numel(); ++i) {
        g.data_ptr<float>()[i] = static_cast<float>(counter_normal(seed + k, static_cast<uint64_t>(i)));
      }
      params[k].mutable_grad() = g.to(params[k].device(), params[k].dtype());
    }
    optimizer.step();
    seed += 10;
  }
}

template <class O, class Options>
std::unique_ptr<O> make(const std::vector<Tensor>& params, const Options& first, const Options& second) {
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{params[0]}, std::make_unique<Options>(first));
  groups.emplace_back(std::vector<Tensor>{params[1], params[2]}, std::make_unique<Options>(second));
  return std::make_unique<O>(groups, first);
}

/// Trains, loads the state into an optimizer with other options, and continues training both.
template <class O, class Options>
void round_trip(const Options& first, const Options& second, const Options& others, DType dtype = kFloat) {
  const std::vector<Tensor> a = make_params(dtype), b = make_params(dtype);
  const auto one = make<O>(a, first, second);
  train(*one, a, 3, 1);
  const auto other = make<O>(b, others, others);
  train(*other, b, 1, 99);
  const Optimizer& held = *other;
  const OptimizerOptions* options = &held.param_groups()[0].options();
  other->load_state_dict(one->state_dict());
  EXPECT_EQ(&held.param_groups()[0].options(), options) << "references to options stay valid";
  EXPECT_EQ(difference(one->state_dict(), other->state_dict()), "");
  NoGradGuard no_grad;
  for (size_t k = 0; k < a.size(); ++k) b[k].copy_(a[k]);
  train(*one, a, 3, 7);
  train(*other, b, 3, 7);
  for (size_t k = 0; k < a.size(); ++k) EXPECT_EQ(difference(a[k], b[k]), "") << k;
  EXPECT_EQ(difference(one->state_dict(), other->state_dict()), "");
}

TEST(OptimizerState, RoundTrip) {
  for (const DType dtype : {kFloat, kDouble, kBFloat16}) {
    round_trip<SGD>(SGDOptions(0.1), SGDOptions(0.2).weight_decay(0.1), SGDOptions(1).momentum(0.9), dtype);
    round_trip<SGD>(SGDOptions(0.1).momentum(0.9), SGDOptions(0.2).momentum(0.5).nesterov(true), SGDOptions(1), dtype);
    round_trip<Adam>(AdamOptions(0.1), AdamOptions(0.01).betas({0.5, 0.8}).maximize(true), AdamOptions(1), dtype);
    round_trip<Adam>(AdamOptions(0.1), AdamOptions(0.1).amsgrad(true), AdamOptions(1).amsgrad(true), dtype);
    round_trip<AdamW>(AdamWOptions(0.1).eps(1e-4), AdamWOptions(0.1).amsgrad(true), AdamWOptions(1), dtype);
    const AdamWOptions compact = AdamWOptions(0.1).exp_avg_dtype(kFloat8_e4m3fn).exp_avg_sq_dtype(kBFloat16);
    round_trip<AdamW>(compact, AdamWOptions(compact).amsgrad(true), AdamWOptions(compact).lr(1), dtype);
    round_trip<RMSprop>(RMSpropOptions(0.1).alpha(0.5), RMSpropOptions(0.1).centered(true).maximize(true),
                        RMSpropOptions(1).momentum(0.5), dtype);
    round_trip<RMSprop>(RMSpropOptions(0.1).eps(0.1), RMSpropOptions(0.1).momentum(0.9).weight_decay(0.1),
                        RMSpropOptions(1), dtype);
    round_trip<Adagrad>(AdagradOptions(0.1).lr_decay(0.5).eps(0.1),
                        AdagradOptions(0.1).initial_accumulator_value(2).weight_decay(0.1).maximize(true),
                        AdagradOptions(1), dtype);
    round_trip<Adadelta>(AdadeltaOptions(0.1).rho(0.5).eps(0.1), AdadeltaOptions().weight_decay(0.1).maximize(true),
                         AdadeltaOptions(2), dtype);
    round_trip<Adamax>(AdamaxOptions(0.1).betas({0.5, 0.8}).eps(0.1), AdamaxOptions().weight_decay(0.1).maximize(true),
                       AdamaxOptions(1), dtype);
    round_trip<NAdam>(NAdamOptions(0.1).betas({0.5, 0.8}).eps(0.1).momentum_decay(0.5),
                      NAdamOptions().weight_decay(0.1).decoupled_weight_decay(true).maximize(true), NAdamOptions(1),
                      dtype);
    round_trip<RAdam>(RAdamOptions(0.1).betas({0.5, 0.8}).eps(0.1),
                      RAdamOptions().weight_decay(0.1).decoupled_weight_decay(true).maximize(true), RAdamOptions(1),
                      dtype);
    round_trip<Lion>(LionOptions(0.1).betas({0.5, 0.8}), LionOptions().weight_decay(0.1).maximize(true), LionOptions(1),
                     dtype);
    round_trip<LAMB>(LAMBOptions(0.1).betas({0.5, 0.8}).eps(0.1), LAMBOptions().weight_decay(0.1).maximize(true),
                     LAMBOptions(1), dtype);
  }
}

TEST(OptimizerState, KeysMatchPyTorch) {
  const std::vector<Tensor> p = make_params();
  const auto adam = make<Adam>(p, AdamOptions(0.1), AdamOptions(0.2).amsgrad(true));
  train(*adam, p, 2, 1);
  const StateDict state = adam->state_dict();
  for (const char* key : {"state.0.step", "state.0.exp_avg", "state.0.exp_avg_sq", "state.1.max_exp_avg_sq",
                          "param_groups.0.lr", "param_groups.1.eps", "param_groups.1.weight_decay"}) {
    EXPECT_TRUE(state.contains(key)) << key;
  }
  EXPECT_FALSE(state.contains("state.0.max_exp_avg_sq"));
  EXPECT_FALSE(state.contains("state.2.step"));
  EXPECT_EQ(state["state.0.step"].item<float>(), 2);
  EXPECT_EQ(state["param_groups.1.lr"].item<double>(), 0.2);
  EXPECT_EQ(state["param_groups.1.lr"].dtype(), kDouble);
  EXPECT_EQ(difference(state["param_groups.1.params"], tensor({1, 2})), "");
}

TEST(OptimizerState, OfAnotherDtypeIsConverted) {
  const std::vector<Tensor> p = make_params(kDouble), q = make_params(kFloat);
  Adam wide(p, AdamOptions(0.1)), narrow(q, AdamOptions(0.1));
  train(wide, p, 2, 1);
  narrow.load_state_dict(wide.state_dict());
  EXPECT_EQ(difference(narrow.state_dict()["state.0.exp_avg"], wide.state_dict()["state.0.exp_avg"].to(kFloat)), "");
}

TEST(OptimizerStateErrors, InvalidStateChangesNothing) {
  const std::vector<Tensor> p = make_params();
  const auto adam = make<Adam>(p, AdamOptions(0.1), AdamOptions(0.2));
  train(*adam, p, 2, 1);
  const StateDict good = clone(adam->state_dict());
  const auto refused = [&](const std::function<void(StateDict&)>& change, const std::vector<std::string>& texts) {
    StateDict state = clone(good);
    change(state);
    EXPECT_EQ(mismatch<StateError>([&] { adam->load_state_dict(state); }, texts), "");
    EXPECT_EQ(difference(adam->state_dict(), good), "");
  };
  refused(
      [](StateDict& s) { s.clear(); },
      {"load_state_dict: ", "missing keys: 'param_groups.0.params', 'param_groups.0.lr'", "param_groups.1.maximize"});
  refused([](StateDict& s) { s.insert("state.7.step", tensor(1.0)); }, {"unexpected keys: 'state.7.step'"});
  refused([](StateDict& s) { s.insert("param_groups.2.lr", tensor(1.0)); }, {"unexpected keys: 'param_groups.2.lr'"});
  refused([](StateDict& s) { s.insert("zero_redundancy.rank", tensor(0)); }, {"unexpected keys: 'zero_redundancy"});
  refused(
      [](StateDict& s) {
        s["state.0.exp_avg"] = ones({2, 3});
      },
      {"'state.0.exp_avg' is [2, 3] f32 in the state, but [3, 2] f32 here"});
  refused([](StateDict& s) { s["state.0.exp_avg"] = ones({3, 2}, kLong); }, {"[3, 2] i64 in the state"});
  refused([](StateDict& s) { s.erase("state.0.step"); }, {"missing keys: 'state.0.step'"});
  refused([](StateDict& s) { s["param_groups.0.lr"] = ones({2}); }, {"'param_groups.0.lr' is [2] f32", "one number"});
  refused([](StateDict& s) { s["param_groups.0.amsgrad"] = tensor(1); }, {"one bool"});
  refused([](StateDict& s) { s["param_groups.0.lr"] = tensor(-1.0); }, {"Adam: lr = -1"});
  refused(
      [](StateDict& s) {
        s["param_groups.1.params"] = tensor({1, 3});
      },
      {"'param_groups.1.params' does not have the numbers 1 to 2"});
  refused([](StateDict& s) { s["param_groups.1.params"] = tensor({1}); }, {"[1] i64 in the state, but [2] i64 here"});
  refused([](StateDict& s) { s["state.0.exp_avg"] = Tensor(); }, {"'state.0.exp_avg' is an undefined tensor"});
  SGD sgd(make_params(), 0.1);
  refused([&](StateDict& s) { s = sgd.state_dict(); }, {"missing keys: ", "beta1", "unexpected keys: ", "momentum"});
}

TEST(OptimizerStateErrors, StepCountsAreFiniteAndNotNegative) {
  for (const TestedOptimizer& kind : tested_optimizers()) {
    const std::vector<Tensor> p = make_params();
    const auto optimizer = kind.make(p, kind.rate);
    train(*optimizer, p, 2, 1);
    const StateDict good = clone(optimizer->state_dict());
    if (!good.contains("state.1.step")) continue;  // Lion, SGD without momentum
    for (const auto& [steps, shown] : {std::pair{-3.0, "-3"}, {NAN, "nan"}, {INFINITY, "inf"}, {1e40, "1e+40"}}) {
      StateDict state = clone(good);
      state["state.1.step"] = tensor(steps, kDouble);
      EXPECT_THROWS(optimizer->load_state_dict(state), StateError,
                    "load_state_dict: ", std::string("'state.1.step' is ") + shown, "finite and at least 0",
                    "nothing was changed");
      EXPECT_EQ(difference(optimizer->state_dict(), good), "") << kind.name;
    }
    StateDict state = clone(good);
    state["state.1.step"] = tensor(0.0);
    EXPECT_NO_THROW(optimizer->load_state_dict(state)) << kind.name;
  }
}

TEST(OptimizerStateErrors, CustomOptimizerErrorNamesTheMissingOverride) {
  struct Options : OptimizerCloneableOptions<Options> {};
  struct Plain : Optimizer {
    using Optimizer::Optimizer;
    using Optimizer::step;
    Tensor step(LossClosure = nullptr) override { return {}; }
  };
  const std::vector<Tensor> p = make_params();
  Plain plain(p, std::make_unique<Options>());
  EXPECT_THROWS(plain.state_dict(), NotImplementedError, "state_dict: ", "override visit_fields");
  EXPECT_THROWS(plain.load_state_dict({}), NotImplementedError, "override visit_fields");
  Plain other(p, std::make_unique<SGDOptions>(0.1));
  StateDict state = other.state_dict();
  EXPECT_NO_THROW(other.load_state_dict(state));
  state.insert("state.0.step", tensor(1.0));
  EXPECT_THROWS(other.load_state_dict(state), NotImplementedError, "override new_param_state");
}

}  // namespace
}  // namespace tandem::testing
