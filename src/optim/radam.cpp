#include "tandem/optim/radam.h"

#include <utility>

#include "src/optim/optimizer_kind.h"

namespace tandem::optim {
namespace {

struct RAdamKind {
  static constexpr const char* name = "RAdam";
  using Class = RAdam;
  using Options = RAdamOptions;
  using ParamState = RAdamParamState;
  static void check(const Options& o) {
    checks::not_negative("eps", o.eps());
    check_betas(o.betas());
  }
  static auto rule(const Options& o) {
    return math::RAdam{std::get<0>(o.betas()), std::get<1>(o.betas()), o.eps(), o.weight_decay(),
                       o.decoupled_weight_decay()};
  }
  static StateFields fields(ParamState& s, const Options&) {
    return {{{{"exp_avg", &s.exp_avg(), Use::required}, {"exp_avg_sq", &s.exp_avg_sq(), Use::required}}}, &s.step()};
  }
};

}  // namespace

void RAdamOptions::visit_fields(StateVisitor& visitor) {
  visitor.number("lr", lr_);
  visitor.number("beta1", std::get<0>(betas_));
  visitor.number("beta2", std::get<1>(betas_));
  visitor.number("eps", eps_);
  visitor.number("weight_decay", weight_decay_);
  visitor.number("decoupled_weight_decay", decoupled_weight_decay_);
  visitor.number("maximize", maximize_);
}

void RAdamParamState::visit_fields(StateVisitor& visitor) {
  visitor.count("step", step_);
  visitor.tensor("exp_avg", exp_avg_);
  visitor.tensor("exp_avg_sq", exp_avg_sq_);
}

RAdamOptions::RAdamOptions(double lr) : lr_(lr) {}

RAdam::RAdam(const std::vector<OptimizerParamGroup>& param_groups, RAdamOptions defaults)
    : MultiTensorOptimizer(param_groups, std::make_unique<RAdamOptions>(std::move(defaults))) {
  check_all_options();
}

RAdam::RAdam(std::vector<Tensor> params, RAdamOptions defaults)
    : RAdam(std::vector<OptimizerParamGroup>{group_of(std::move(params))}, std::move(defaults)) {}

const OptimizerKind& RAdam::kind() const { return kind_of<RAdamKind>(); }

}  // namespace tandem::optim
