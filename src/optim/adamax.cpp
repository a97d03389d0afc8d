#include "tandem/optim/adamax.h"

#include <utility>

#include "src/optim/optimizer_kind.h"

namespace tandem::optim {
namespace {

struct AdamaxKind {
  static constexpr const char* name = "Adamax";
  using Class = Adamax;
  using Options = AdamaxOptions;
  using ParamState = AdamaxParamState;
  static void check(const Options& o) {
    checks::not_negative("eps", o.eps());
    check_betas(o.betas());
  }
  static auto rule(const Options& o) {
    return math::Adamax{std::get<0>(o.betas()), std::get<1>(o.betas()), o.eps(), o.weight_decay()};
  }
  static StateFields fields(ParamState& s, const Options&) {
    return {{{{"exp_avg", &s.exp_avg(), Use::required}, {"exp_inf", &s.exp_inf(), Use::required}}}, &s.step()};
  }
};

}  // namespace

void AdamaxOptions::visit_fields(StateVisitor& visitor) {
  visitor.number("lr", lr_);
  visitor.number("beta1", std::get<0>(betas_));
  visitor.number("beta2", std::get<1>(betas_));
  visitor.number("eps", eps_);
  visitor.number("weight_decay", weight_decay_);
  visitor.number("maximize", maximize_);
}

void AdamaxParamState::visit_fields(StateVisitor& visitor) {
  visitor.count("step", step_);
  visitor.tensor("exp_avg", exp_avg_);
  visitor.tensor("exp_inf", exp_inf_);
}

AdamaxOptions::AdamaxOptions(double lr) : lr_(lr) {}

Adamax::Adamax(const std::vector<OptimizerParamGroup>& param_groups, AdamaxOptions defaults)
    : MultiTensorOptimizer(param_groups, std::make_unique<AdamaxOptions>(std::move(defaults))) {
  check_all_options();
}

Adamax::Adamax(std::vector<Tensor> params, AdamaxOptions defaults)
    : Adamax(std::vector<OptimizerParamGroup>{group_of(std::move(params))}, std::move(defaults)) {}

const OptimizerKind& Adamax::kind() const { return kind_of<AdamaxKind>(); }

}  // namespace tandem::optim
