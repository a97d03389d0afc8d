// LBFGS against PyTorch's (tests/golden/optimizers.py).
#include "tandem/optim/lbfgs.h"

#include <cmath>
#include <map>
#include <stdexcept>

#include "support/bad_input.h"
#include "support/counter.h"
#include "support/device.h"
#include "support/state.h"
#include "support/traces.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/sgd.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using optim::LBFGS;
using optim::LBFGSOptions;

Tensor start_value(uint64_t seed, DType dtype) {
  std::vector<double> v;
  for (uint64_t i = 0; i < 5; ++i) v.push_back(counter_normal(seed, i));
  return tensor(v, dtype).requires_grad_();
}

/// The function that optimizers.py minimizes, of parameters that begin at its values.
struct Problem {
  explicit Problem(DType dtype = kDouble) : a(start_value(1, dtype)), b(start_value(2, dtype)) {}
  Tensor loss(double sign = 1) const {
    const Tensor first = a.narrow(0, 0, 4);
    const Tensor curved = (a.narrow(0, 1, 4) - first * first).square().sum() * 10 + (a - 1).square().sum();
    return (curved + (b * b - a).square().sum()) * sign;
  }
  optim::Optimizer::LossClosure closure(optim::Optimizer& optimizer, double sign = 1) const {
    return [this, &optimizer, sign] {
      optimizer.zero_grad();
      Tensor l = loss(sign);
      l.backward();
      return l;
    };
  }
  Tensor a, b;
};

LBFGSOptions wolfe(double lr = 1) { return LBFGSOptions(lr).line_search_fn("strong_wolfe"); }

const std::map<std::string, LBFGSOptions>& lbfgs_cases() {
  static const std::map<std::string, LBFGSOptions> all = {
      {"fixed", LBFGSOptions(0.1).max_iter(4)},
      {"wolfe", wolfe().max_iter(6)},
      {"wolfe_small_start", wolfe(1e-3).max_iter(4)},
      {"wolfe_large_start", wolfe(50).max_iter(4)},
      {"short_history", wolfe().max_iter(8).history_size(2)},
      {"few_evaluations", wolfe().max_iter(8).max_eval(5)},
      {"tolerances", wolfe().max_iter(30).tolerance_grad(0.5).tolerance_change(0.01)},
      {"maximize", wolfe().max_iter(5).maximize(true)},
  };
  return all;
}

TEST(LBFGS, MatchesPyTorch) {
  const nlohmann::json golden = read_traces("optimizers").at("lbfgs");
  ASSERT_EQ(golden.size(), lbfgs_cases().size());
  for (const auto& [name, options] : lbfgs_cases()) {
    const Problem problem;
    LBFGS lbfgs({problem.a, problem.b}, options);
    int step = 0;
    for (const auto& expected : golden.at(name)) {
      const std::string what = name + ", step " + std::to_string(step++);
      const double loss = lbfgs.step(problem.closure(lbfgs, options.maximize() ? -1 : 1)).item<double>();
      // Each iteration amplifies rounding errors: the history divides by small differences.
      const auto near = [&](double actual, double value) {
        EXPECT_NEAR(actual, value, 1e-9 * std::max(1.0, std::abs(value))) << what;
      };
      near(loss, expected.at("loss").get<double>());
      for (int64_t i = 0; i < 5; ++i) {
        near(problem.a[i].item<double>(), expected.at("a")[static_cast<size_t>(i)].get<double>());
        near(problem.b[i].item<double>(), expected.at("b")[static_cast<size_t>(i)].get<double>());
      }
      const StateDict state = lbfgs.state_dict();
      EXPECT_EQ(state["state.0.func_evals"].item<int64_t>(), expected.at("func_evals").get<int64_t>()) << what;
      EXPECT_EQ(state["state.0.n_iter"].item<int64_t>(), expected.at("n_iter").get<int64_t>()) << what;
    }
  }
}

TEST(LBFGS, MinimizesInF32) {
  const Problem problem(kFloat);
  LBFGS lbfgs({problem.a, problem.b}, wolfe().max_iter(100));
  for (int i = 0; i < 3; ++i) lbfgs.step(problem.closure(lbfgs));
  EXPECT_LT(problem.loss().item<float>(), 1e-6F);
}

TEST(LBFGS, ResumesBitForBit) {
  for (const char* line_search : {"", "strong_wolfe"}) {
    LBFGSOptions options = LBFGSOptions(0.5).max_iter(3).history_size(4);
    if (*line_search != 0) options.line_search_fn(line_search);
    const Problem one, other;
    LBFGS first({one.a, one.b}, options), resumed({other.a, other.b}, LBFGSOptions(3));
    for (int i = 0; i < 3; ++i) first.step(one.closure(first));
    const StateDict saved = clone(first.state_dict());
    EXPECT_TRUE(saved.contains("state.0.old_dirs.3"));
    EXPECT_FALSE(saved.contains("state.0.old_dirs.4"));
    resumed.load_state_dict(saved);
    EXPECT_EQ(difference(resumed.state_dict(), saved), "");
    other.a.set_data(one.a.detach().clone());
    other.b.set_data(one.b.detach().clone());
    for (int i = 0; i < 3; ++i) {
      first.step(one.closure(first));
      resumed.step(other.closure(resumed));
      EXPECT_EQ(difference(one.a, other.a), "");
      EXPECT_EQ(difference(one.b, other.b), "");
    }
    EXPECT_EQ(difference(resumed.state_dict(), first.state_dict()), "");
  }
}

TEST(LBFGS, ParametersWithoutGradientsStay) {
  const Problem problem;
  const Tensor unused = ones({2}, kDouble).requires_grad_();
  LBFGS lbfgs({problem.a, unused, problem.b}, wolfe().max_iter(3));
  lbfgs.step(problem.closure(lbfgs));
  EXPECT_TRUE(unused.detach().eq(1).all().item<bool>());
  EXPECT_NE(problem.a[0].item<double>(), counter_normal(1, 0));
}

TEST(LBFGS, FailedClosureInALineSearchRestoresTheParameters) {
  const Problem problem;
  LBFGS lbfgs({problem.a, problem.b}, wolfe());
  int calls = 0;
  const auto closure = problem.closure(lbfgs);
  EXPECT_THROW(lbfgs.step([&] {
    if (++calls == 2) throw std::runtime_error("no data");
    return closure();
  }),
               std::runtime_error);
  EXPECT_EQ(difference(problem.a, start_value(1, kDouble)), "");
}

TEST(LBFGSErrors, RefusesAGradScaler) {
  const Problem problem(kFloat);
  LBFGS lbfgs({problem.a, problem.b}, wolfe());
  amp::GradScaler scaler;
  scaler.scale(problem.loss()).backward();
  EXPECT_THROWS(scaler.step(lbfgs), NotImplementedError, "step: ", "evaluates the loss in its step",
                "without a scaler");
  EXPECT_THROWS(scaler.step(lbfgs, problem.closure(lbfgs)), StateError, "closure");
  EXPECT_THROWS(lbfgs.keep_master_weights(), NotImplementedError, "master weights");
  EXPECT_FALSE(lbfgs.supports_amp_scaling());
  // A disabled scaler forwards the closure.
  amp::GradScaler disabled(amp::GradScalerOptions().enabled(false));
  const float before = problem.loss().item<float>();
  disabled.step(lbfgs, problem.closure(lbfgs));
  EXPECT_LT(problem.loss().item<float>(), before);
}

TEST(LBFGSErrors, OptionsAndCalls) {
  const std::vector<Tensor> p = {ones({3}).requires_grad_()};
  const auto lbfgs = std::make_shared<LBFGS>(p);
  const auto half = std::make_shared<LBFGS>(std::vector<Tensor>{ones({3}, kHalf).requires_grad_()});
  const auto two_groups = std::make_shared<LBFGS>(p);
  two_groups->add_param_group(optim::OptimizerParamGroup({ones({2}).requires_grad_()}));
  const std::vector<optim::OptimizerParamGroup> groups = {optim::OptimizerParamGroup(p),
                                                          optim::OptimizerParamGroup({ones({2}).requires_grad_()})};
  const auto zero = [] { return zeros({}); };
  expect_refused({
      BAD_INPUT("LBFGS", LBFGS(p, -1), StateError, "lr = -1"),
      BAD_INPUT("LBFGS", LBFGS(p, LBFGSOptions().max_iter(-1)), StateError, "max_iter = -1"),
      BAD_INPUT("LBFGS", LBFGS(p, LBFGSOptions().max_eval(-1)), StateError, "max_eval = -1"),
      BAD_INPUT("LBFGS", LBFGS(p, LBFGSOptions().history_size(-1)), StateError, "history_size = -1"),
      BAD_INPUT("LBFGS", LBFGS(p, LBFGSOptions().tolerance_grad(NAN)), StateError, "tolerance_grad = nan"),
      BAD_INPUT("LBFGS", LBFGS(p, LBFGSOptions().tolerance_change(-1)), StateError, "tolerance_change = -1"),
      BAD_INPUT("LBFGS", LBFGS(p, LBFGSOptions().line_search_fn("wolfe")), StateError, "\"wolfe\"", "\"strong_wolfe\""),
      BAD_INPUT("LBFGS", LBFGS(groups), StateError, "2 parameter groups", "one group"),
      BAD_INPUT("LBFGS", two_groups->step(zero), StateError, "2 parameter groups", "one group"),
      BAD_INPUT("LBFGS", lbfgs->step(nullptr), StateError, "without a closure", "backward()"),
      BAD_INPUT("LBFGS", lbfgs->step([] { return Tensor(); }), StateError, "an undefined tensor", "one number"),
      BAD_INPUT("LBFGS", lbfgs->step([] { return ones({2}); }), StateError, "returned [2]", "one number"),
      BAD_INPUT("LBFGS", half->step(zero), DTypeError, "[3] f16", ".to(kFloat)"),
  });
  lbfgs->param_groups()[0].set_options(std::make_unique<optim::SGDOptions>(1));
  expect_refused({BAD_INPUT("LBFGS", lbfgs->step(zero), StateError, "give it LBFGSOptions")});
}

TEST(LBFGSErrors, StateThatDoesNotFit) {
  const Problem problem;
  LBFGS lbfgs({problem.a, problem.b}, wolfe().max_iter(3));
  lbfgs.step(problem.closure(lbfgs));
  lbfgs.step(problem.closure(lbfgs));
  const StateDict good = clone(lbfgs.state_dict());
  StateDict state = clone(good);
  state["state.0.d"] = ones({7}, kDouble);
  EXPECT_THROWS(lbfgs.load_state_dict(state), StateError, "'state.0.d' is [7] f64");
  state = clone(good);
  state.erase("state.0.old_dirs.0");
  EXPECT_THROWS(lbfgs.load_state_dict(state), StateError, "unexpected keys: 'state.0.old_dirs.1'");
  // Lists of different lengths are found by the next step.
  auto& own = static_cast<optim::LBFGSParamState&>(*lbfgs.state().at(&problem.a.impl()));
  own.ro().pop_back();
  EXPECT_THROWS(lbfgs.step(problem.closure(lbfgs)), StateError, "does not fit", "new optimizer");
}

}  // namespace
}  // namespace tandem::testing
