#include "tandem/optim/nadam.h"

#include <utility>

#include "src/optim/optimizer_kind.h"

namespace tandem::optim {
namespace {

struct NAdamKind {
  static constexpr const char* name = "NAdam";
  using Class = NAdam;
  using Options = NAdamOptions;
  using ParamState = NAdamParamState;
  static void check(const Options& o) {
    checks::not_negative("eps", o.eps());
    checks::not_negative("momentum_decay", o.momentum_decay());
    check_betas(o.betas());
  }
  static auto rule(const Options& o) {
    return math::NAdam{std::get<0>(o.betas()), std::get<1>(o.betas()), o.eps(),
                       o.weight_decay(),       o.momentum_decay(),     o.decoupled_weight_decay()};
  }
  static StateFields fields(ParamState& s, const Options&) {
    return {{{{"exp_avg", &s.exp_avg(), Use::required}, {"exp_avg_sq", &s.exp_avg_sq(), Use::required}}},
            &s.step(),
            &s.mu_product()};
  }
};

}  // namespace

void NAdamOptions::visit_fields(StateVisitor& visitor) {
  visitor.number("lr", lr_);
  visitor.number("beta1", std::get<0>(betas_));
  visitor.number("beta2", std::get<1>(betas_));
  visitor.number("eps", eps_);
  visitor.number("weight_decay", weight_decay_);
  visitor.number("momentum_decay", momentum_decay_);
  visitor.number("decoupled_weight_decay", decoupled_weight_decay_);
  visitor.number("maximize", maximize_);
}

void NAdamParamState::visit_fields(StateVisitor& visitor) {
  visitor.count("step", step_);
  visitor.tensor("mu_product", mu_product_);
  visitor.tensor("exp_avg", exp_avg_);
  visitor.tensor("exp_avg_sq", exp_avg_sq_);
}

NAdamOptions::NAdamOptions(double lr) : lr_(lr) {}

NAdam::NAdam(const std::vector<OptimizerParamGroup>& param_groups, NAdamOptions defaults)
    : MultiTensorOptimizer(param_groups, std::make_unique<NAdamOptions>(std::move(defaults))) {
  check_all_options();
}

NAdam::NAdam(std::vector<Tensor> params, NAdamOptions defaults)
    : NAdam(std::vector<OptimizerParamGroup>{group_of(std::move(params))}, std::move(defaults)) {}

const OptimizerKind& NAdam::kind() const { return kind_of<NAdamKind>(); }

}  // namespace tandem::optim
