#include "tandem/optim/adadelta.h"

#include <utility>

#include "src/optim/optimizer_kind.h"
#include "tandem/base/check.h"

namespace tandem::optim {
namespace {

struct AdadeltaKind {
  static constexpr const char* name = "Adadelta";
  using Class = Adadelta;
  using Options = AdadeltaOptions;
  using ParamState = AdadeltaParamState;
  static void check(const Options& o) {
    TANDEM_CHECK(o.rho() >= 0 && o.rho() <= 1, StateError, "rho = {}; it must be in [0, 1]", o.rho());
    checks::not_negative("eps", o.eps());
  }
  static auto rule(const Options& o) { return math::Adadelta{o.rho(), o.eps(), o.weight_decay()}; }
  static StateFields fields(ParamState& s, const Options&) {
    return {{{{"square_avg", &s.square_avg(), Use::required}, {"acc_delta", &s.acc_delta(), Use::required}}},
            &s.step()};
  }
};

}  // namespace

void AdadeltaOptions::visit_fields(StateVisitor& visitor) {
  visitor.number("lr", lr_);
  visitor.number("rho", rho_);
  visitor.number("eps", eps_);
  visitor.number("weight_decay", weight_decay_);
  visitor.number("maximize", maximize_);
}

void AdadeltaParamState::visit_fields(StateVisitor& visitor) {
  visitor.count("step", step_);
  visitor.tensor("square_avg", square_avg_);
  visitor.tensor("acc_delta", acc_delta_);
}

AdadeltaOptions::AdadeltaOptions(double lr) : lr_(lr) {}

Adadelta::Adadelta(const std::vector<OptimizerParamGroup>& param_groups, AdadeltaOptions defaults)
    : MultiTensorOptimizer(param_groups, std::make_unique<AdadeltaOptions>(std::move(defaults))) {
  check_all_options();
}

Adadelta::Adadelta(std::vector<Tensor> params, AdadeltaOptions defaults)
    : Adadelta(std::vector<OptimizerParamGroup>{group_of(std::move(params))}, std::move(defaults)) {}

const OptimizerKind& Adadelta::kind() const { return kind_of<AdadeltaKind>(); }

}  // namespace tandem::optim
