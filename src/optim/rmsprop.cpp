#include "tandem/optim/rmsprop.h"

#include <utility>

#include "src/optim/optimizer_kind.h"

namespace tandem::optim {
namespace {

struct RMSpropKind {
  static constexpr const char* name = "RMSprop";
  using Class = RMSprop;
  using Options = RMSpropOptions;
  using ParamState = RMSpropParamState;
  static void check(const Options& o) {
    checks::not_negative("alpha", o.alpha());
    checks::not_negative("eps", o.eps());
    checks::not_negative("momentum", o.momentum());
  }
  static auto rule(const Options& o) { return math::RmsProp{o.alpha(), o.eps(), o.weight_decay(), o.momentum()}; }
  static StateFields fields(ParamState& s, const Options& o) {
    return {{{{"square_avg", &s.square_avg(), Use::required},
              {"momentum_buffer", &s.momentum_buffer(), optional_if(o.momentum() > 0)},
              {"grad_avg", &s.grad_avg(), optional_if(o.centered())}}},
            &s.step()};
  }
};

}  // namespace

void RMSpropOptions::visit_fields(StateVisitor& visitor) {
  visitor.number("lr", lr_);
  visitor.number("alpha", alpha_);
  visitor.number("eps", eps_);
  visitor.number("weight_decay", weight_decay_);
  visitor.number("momentum", momentum_);
  visitor.number("centered", centered_);
  visitor.number("maximize", maximize_);
}

void RMSpropParamState::visit_fields(StateVisitor& visitor) {
  visitor.count("step", step_);
  visitor.tensor("square_avg", square_avg_);
  visitor.optional_tensor("momentum_buffer", momentum_buffer_, square_avg_);
  visitor.optional_tensor("grad_avg", grad_avg_, square_avg_);
}

RMSpropOptions::RMSpropOptions(double lr) : lr_(lr) {}

RMSprop::RMSprop(const std::vector<OptimizerParamGroup>& param_groups, RMSpropOptions defaults)
    : MultiTensorOptimizer(param_groups, std::make_unique<RMSpropOptions>(std::move(defaults))) {
  check_all_options();
}

RMSprop::RMSprop(std::vector<Tensor> params, RMSpropOptions defaults)
    : RMSprop(std::vector<OptimizerParamGroup>{group_of(std::move(params))}, std::move(defaults)) {}

const OptimizerKind& RMSprop::kind() const { return kind_of<RMSpropKind>(); }

}  // namespace tandem::optim
