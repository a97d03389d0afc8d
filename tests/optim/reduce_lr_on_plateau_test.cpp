// ReduceLROnPlateauScheduler against PyTorch's (tests/golden/schedulers.py).
#include "tandem/optim/reduce_lr_on_plateau.h"

#include <cmath>
#include <functional>
#include <map>

#include "support/bad_input.h"
#include "support/state.h"
#include "support/traces.h"
#include "tandem/optim/sgd.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using optim::OptimizerParamGroup;
using optim::SGD;
using optim::SGDOptions;
using Plateau = optim::ReduceLROnPlateauScheduler;

SGD make_sgd() {
  std::vector<OptimizerParamGroup> groups;
  for (const double lr : {0.1, 0.02}) {
    groups.emplace_back(std::vector<Tensor>{zeros({1}).requires_grad_()}, std::make_unique<SGDOptions>(lr));
  }
  return SGD(groups, 1.0);
}

const std::map<std::string, std::function<Plateau(SGD&)>>& plateaus() {
  static const std::map<std::string, std::function<Plateau(SGD&)>> all = {
      {"defaults", [](SGD& o) { return Plateau(o); }},
      {"patient", [](SGD& o) { return Plateau(o, Plateau::min, 0.5, 2, 1e-4, Plateau::rel, 2); }},
      {"max",
       [](SGD& o) {
         return Plateau(o, Plateau::max, 0.3, 1, 0.1, Plateau::abs, 0, {0.02, 0.001});
       }},
      {"abs", [](SGD& o) { return Plateau(o, Plateau::min, 0.2, 0, 0.05, Plateau::abs, 0, {}, 1e-3); }},
  };
  return all;
}

TEST(ReduceLROnPlateau, MatchesPyTorch) {
  const nlohmann::json golden = read_traces("schedulers");
  ASSERT_EQ(golden.at("plateaus").size(), plateaus().size());
  for (const auto& [name, make] : plateaus()) {
    SGD sgd = make_sgd();
    Plateau plateau = make(sgd);
    size_t epoch = 0;
    for (const auto& expected : golden.at("plateaus").at(name)) {
      plateau.step(golden.at("metrics")[epoch++].get<double>());
      EXPECT_EQ(plateau.get_last_lr(), expected.get<std::vector<double>>()) << name << ", epoch " << epoch;
      EXPECT_EQ(plateau.last_epoch(), static_cast<int64_t>(epoch));
    }
  }
}

TEST(ReduceLROnPlateau, ResumesFromItsState) {
  const nlohmann::json metrics = read_traces("schedulers").at("metrics");
  for (const auto& [name, make] : plateaus()) {
    SGD a = make_sgd(), b = make_sgd();
    Plateau one = make(a), other = make(b);
    for (size_t i = 0; i < 8; ++i) one.step(metrics[i].get<double>());
    b.load_state_dict(a.state_dict());
    other.load_state_dict(one.state_dict());
    EXPECT_EQ(difference(other.state_dict(), one.state_dict()), "");
    for (size_t i = 8; i < metrics.size(); ++i) {
      one.step(metrics[i].get<double>());
      other.step(metrics[i].get<double>());
      EXPECT_EQ(one.get_last_lr(), other.get_last_lr()) << name;
      EXPECT_EQ(one.best(), other.best());
      EXPECT_EQ(one.num_bad_epochs(), other.num_bad_epochs());
    }
  }
}

TEST(ReduceLROnPlateau, NaNIsNoImprovement) {
  SGD sgd = make_sgd();
  Plateau plateau(sgd, Plateau::min, 0.5, 0);
  plateau.step(NAN);
  EXPECT_EQ(plateau.get_last_lr(), (std::vector<double>{0.05, 0.01}));
}

TEST(ReduceLROnPlateauErrors, ArgumentsAndStates) {
  // Shared: rows copy what they use.
  const auto sgd = std::make_shared<SGD>(std::vector<Tensor>{zeros({1}).requires_grad_()}, 0.1);
  sgd->add_param_group(OptimizerParamGroup({zeros({1}).requires_grad_()}));
  const auto plateau =
      std::make_shared<Plateau>(*sgd, Plateau::min, 0.5, 0, 0, Plateau::rel, 0, std::vector<double>{0, 0});
  const char* op = "ReduceLROnPlateauScheduler";
  expect_refused({
      BAD_INPUT(op, Plateau(*sgd, Plateau::min, 1), StateError, "factor = 1", "[0, 1)"),
      BAD_INPUT(op, Plateau(*sgd, Plateau::min, 0.1, -1), StateError, "patience = -1"),
      BAD_INPUT(op, Plateau(*sgd, Plateau::min, 0.1, 1, NAN), StateError, "threshold = nan"),
      BAD_INPUT(op, Plateau(*sgd, Plateau::min, 0.1, 1, 0, Plateau::rel, -1), StateError, "cooldown = -1"),
      BAD_INPUT(op, Plateau(*sgd, Plateau::min, 0.1, 1, 0, Plateau::rel, 0, {1, 2, 3}), StateError,
                "min_lr has 3 values for 2 parameter groups"),
      BAD_INPUT(op, Plateau(*sgd, Plateau::min, 0.1, 1, 0, Plateau::rel, 0, {}, -1), StateError, "eps = -1"),
      BAD_INPUT("load_state_dict", plateau->load_state_dict({}), StateError, "missing keys: 'last_epoch', 'best'"),
  });
  StateDict state = clone(plateau->state_dict());
  state["num_bad_epochs"] = tensor(-2);
  expect_refused({BAD_INPUT("load_state_dict", plateau->load_state_dict(state), StateError, "'num_bad_epochs' is -2")});
  sgd->add_param_group(OptimizerParamGroup({zeros({1}).requires_grad_()}));
  plateau->step(1);
  expect_refused({BAD_INPUT(op, plateau->step(2), StateError, "group 2 was added")});
  EXPECT_EQ(plateau->last_epoch(), 1) << "a failed step does not count";
}

}  // namespace
}  // namespace tandem::testing
