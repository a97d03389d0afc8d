#include "tandem/amp/modes/dtype_policy.h"

#include "tandem/amp/cast_hook.h"
#include "tandem/base/check.h"

namespace tandem::amp {
namespace {

struct Row {
  const char* name;
  DType compute, variable;
};
constexpr Row kPolicies[] = {{"float32", kFloat, kFloat},
                             {"float16", kHalf, kHalf},
                             {"bfloat16", kBFloat16, kBFloat16},
                             {"mixed_float16", kHalf, kFloat},
                             {"mixed_bfloat16", kBFloat16, kFloat}};

const Row& row_of(std::string_view name) {
  const OpScope op("DTypePolicy");
  for (const Row& row : kPolicies) {
    if (name == row.name) return row;
  }
  TANDEM_THROW(
      StateError,
      "\"{}\" is not a policy; use \"float32\", \"float16\", \"bfloat16\", \"mixed_float16\" or \"mixed_bfloat16\"",
      name);
}

/// Applies the casts of a policy, and stores the policy itself.
class PolicyHook final : public nn::CallHook {
 public:
  explicit PolicyHook(const DTypePolicy& policy)
      : policy(policy), casts_({policy.compute_dtype(), {}, policy.is_mixed(), policy.compute_dtype()}) {}
  Tensor input(const Tensor& x) const override { return casts_.input(x); }
  std::shared_ptr<void> enter(Device device) const override { return casts_.enter(device); }

  const DTypePolicy policy;

 private:
  CastHook casts_;
};

}  // namespace

DTypePolicy::DTypePolicy(std::string_view name)
    : name_(row_of(name).name), compute_(row_of(name).compute), variable_(row_of(name).variable) {}

void set_dtype_policy(nn::Module& module, const DTypePolicy& policy) {
  module.to(policy.variable_dtype());
  module.set_call_hook(std::make_shared<PolicyHook>(policy));
}

DTypePolicy dtype_policy(const nn::Module& module) {
  const auto* hook = dynamic_cast<const PolicyHook*>(module.call_hook().get());
  return hook ? hook->policy : DTypePolicy("float32");
}

void set_global_dtype_policy(const DTypePolicy& policy) {
  const OpScope op("set_global_dtype_policy");
  TANDEM_CHECK(policy.variable_dtype() == kFloat, StateError,
               "\"{}\" keeps variables in {}; use \"mixed_float16\", \"mixed_bfloat16\" or \"float32\", or pass it to "
               "set_dtype_policy() for single modules",
               policy.name(), name(policy.variable_dtype()));
  if (policy.is_mixed()) {
    nn::set_default_call_hook(std::make_shared<PolicyHook>(policy), std::make_shared<PolicyHook>("float32"));
  } else {
    nn::set_default_call_hook(nullptr);
  }
}

}  // namespace tandem::amp
