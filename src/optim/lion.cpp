#include "tandem/optim/lion.h"

#include <utility>

#include "src/optim/optimizer_kind.h"

namespace tandem::optim {
namespace {

struct LionKind {
  static constexpr const char* name = "Lion";
  using Class = Lion;
  using Options = LionOptions;
  using ParamState = LionParamState;
  static void check(const Options& o) { check_betas(o.betas()); }
  static auto rule(const Options& o) {
    return math::Lion{std::get<0>(o.betas()), std::get<1>(o.betas()), o.weight_decay()};
  }
  static StateFields fields(ParamState& s, const Options&) { return {{{{"exp_avg", &s.exp_avg(), Use::required}}}}; }
};

}  // namespace

void LionOptions::visit_fields(StateVisitor& visitor) {
  visitor.number("lr", lr_);
  visitor.number("beta1", std::get<0>(betas_));
  visitor.number("beta2", std::get<1>(betas_));
  visitor.number("weight_decay", weight_decay_);
  visitor.number("maximize", maximize_);
}

void LionParamState::visit_fields(StateVisitor& visitor) { visitor.tensor("exp_avg", exp_avg_); }

LionOptions::LionOptions(double lr) : lr_(lr) {}

Lion::Lion(const std::vector<OptimizerParamGroup>& param_groups, LionOptions defaults)
    : MultiTensorOptimizer(param_groups, std::make_unique<LionOptions>(std::move(defaults))) {
  check_all_options();
}

Lion::Lion(std::vector<Tensor> params, LionOptions defaults)
    : Lion(std::vector<OptimizerParamGroup>{group_of(std::move(params))}, std::move(defaults)) {}

const OptimizerKind& Lion::kind() const { return kind_of<LionKind>(); }

}  // namespace tandem::optim
