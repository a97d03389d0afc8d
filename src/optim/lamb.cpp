#include "tandem/optim/lamb.h"

#include <utility>

#include "src/optim/optimizer_kind.h"

namespace tandem::optim {
namespace {

struct LAMBKind {
  static constexpr const char* name = "LAMB";
  using Class = LAMB;
  using Options = LAMBOptions;
  using ParamState = LAMBParamState;
  static void check(const Options& o) {
    checks::not_negative("eps", o.eps());
    check_betas(o.betas());
  }
  static auto rule(const Options& o) {
    return math::Lamb{std::get<0>(o.betas()), std::get<1>(o.betas()), o.eps(), o.weight_decay()};
  }
  static StateFields fields(ParamState& s, const Options&) {
    return {{{{"exp_avg", &s.exp_avg(), Use::required}, {"exp_avg_sq", &s.exp_avg_sq(), Use::required}}}, &s.step()};
  }
};

}  // namespace

void LAMBOptions::visit_fields(StateVisitor& visitor) {
  visitor.number("lr", lr_);
  visitor.number("beta1", std::get<0>(betas_));
  visitor.number("beta2", std::get<1>(betas_));
  visitor.number("eps", eps_);
  visitor.number("weight_decay", weight_decay_);
  visitor.number("maximize", maximize_);
}

void LAMBParamState::visit_fields(StateVisitor& visitor) {
  visitor.count("step", step_);
  visitor.tensor("exp_avg", exp_avg_);
  visitor.tensor("exp_avg_sq", exp_avg_sq_);
}

LAMBOptions::LAMBOptions(double lr) : lr_(lr) {}

LAMB::LAMB(const std::vector<OptimizerParamGroup>& param_groups, LAMBOptions defaults)
    : MultiTensorOptimizer(param_groups, std::make_unique<LAMBOptions>(std::move(defaults))) {
  check_all_options();
}

LAMB::LAMB(std::vector<Tensor> params, LAMBOptions defaults)
    : LAMB(std::vector<OptimizerParamGroup>{group_of(std::move(params))}, std::move(defaults)) {}

const OptimizerKind& LAMB::kind() const { return kind_of<LAMBKind>(); }

}  // namespace tandem::optim
