#include "src/optim/momentum.h"

#include "tandem/base/check.h"
#include "tandem/ops/checks.h"

namespace tandem::optim {
namespace {

/// Finds the field of a group's options that schedules cycle, and optionally sets it.
class MomentumField : public StateVisitor {
 public:
  explicit MomentumField(std::optional<double> value) : value_(value) {}
  bool found() const { return found_; }

  void number(const std::string& name, double& value) override {
    if (name != "momentum" && name != "beta1") return;
    found_ = true;
    if (value_) value = *value_;
  }
  void number(const std::string&, int64_t&) override {}
  void number(const std::string&, bool&) override {}
  void number(const std::string&, std::optional<double>&) override {}
  void tensor(const std::string&, Tensor&) override {}
  void optional_tensor(const std::string&, Tensor&, const Tensor&) override {}
  void scaled_tensor(const std::string&, Tensor&, Tensor&) override {}

 private:
  std::optional<double> value_;
  bool found_ = false;
};

}  // namespace

bool set_momentum(OptimizerOptions& options, double momentum) {
  MomentumField field(momentum);
  options.visit_fields(field);
  return field.found();
}

void check_has_momentum(const Optimizer& optimizer) {
  for (const OptimizerParamGroup& group : optimizer.param_groups()) {
    MomentumField field(std::nullopt);
    group.options().clone()->visit_fields(field);
    TANDEM_CHECK(field.found(), StateError,
                 "the optimizer's options have neither momentum nor betas to cycle; set cycle_momentum(false)");
  }
}

void check_per_group(const char* name, const std::vector<double>& values, const Optimizer& optimizer) {
  const size_t groups = optimizer.param_groups().size();
  TANDEM_CHECK(values.size() == 1 || values.size() == groups, StateError,
               "{} has {} values for {} parameter groups; give one for all or one for each", name, values.size(),
               groups);
  for (const double value : values) checks::not_negative(name, value);
}

double of_group(const char* name, const std::vector<double>& values, size_t group) {
  if (values.size() == 1) return values[0];
  TANDEM_CHECK(
      group < values.size(), StateError,
      "{} has {} values, but parameter group {} was added since; create the schedule after all groups, or give "
      "one value for all",
      name, values.size(), group);
  return values[group];
}

}  // namespace tandem::optim
