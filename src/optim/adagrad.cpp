#include "tandem/optim/adagrad.h"

#include <utility>

#include "src/optim/optimizer_kind.h"

namespace tandem::optim {
namespace {

struct AdagradKind {
  static constexpr const char* name = "Adagrad";
  using Class = Adagrad;
  using Options = AdagradOptions;
  using ParamState = AdagradParamState;
  static void check(const Options& o) {
    checks::not_negative("lr_decay", o.lr_decay());
    checks::not_negative("initial_accumulator_value", o.initial_accumulator_value());
    checks::not_negative("eps", o.eps());
  }
  static auto rule(const Options& o) { return math::Adagrad{o.lr_decay(), o.eps(), o.weight_decay()}; }
  static StateFields fields(ParamState& s, const Options& o) {
    return {{{{"sum", &s.sum(), Use::required, o.initial_accumulator_value()}}}, &s.step()};
  }
};

}  // namespace

void AdagradOptions::visit_fields(StateVisitor& visitor) {
  visitor.number("lr", lr_);
  visitor.number("lr_decay", lr_decay_);
  visitor.number("weight_decay", weight_decay_);
  visitor.number("initial_accumulator_value", initial_accumulator_value_);
  visitor.number("eps", eps_);
  visitor.number("maximize", maximize_);
}

void AdagradParamState::visit_fields(StateVisitor& visitor) {
  visitor.count("step", step_);
  visitor.tensor("sum", sum_);
}

AdagradOptions::AdagradOptions(double lr) : lr_(lr) {}

Adagrad::Adagrad(const std::vector<OptimizerParamGroup>& param_groups, AdagradOptions defaults)
    : MultiTensorOptimizer(param_groups, std::make_unique<AdagradOptions>(std::move(defaults))) {
  check_all_options();
}

Adagrad::Adagrad(std::vector<Tensor> params, AdagradOptions defaults)
    : Adagrad(std::vector<OptimizerParamGroup>{group_of(std::move(params))}, std::move(defaults)) {}

const OptimizerKind& Adagrad::kind() const { return kind_of<AdagradKind>(); }

}  // namespace tandem::optim
