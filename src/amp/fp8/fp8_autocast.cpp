#include "tandem/amp/fp8/fp8_autocast.h"

#include "src/amp/fp8/products.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/base/of_thread.h"
#include "tandem/tensor/weight_float8.h"

namespace tandem::amp {
namespace {

/// The outermost region of a thread, and the gradients whose scales its next one computes.
struct Thread {
  std::shared_ptr<detail::DelayedIteration> iteration;
  std::shared_ptr<detail::DelayedUpdates> gradients;
};
Thread& this_thread() {
  return tandem::detail::of_thread([] { return Thread(); });
}

}  // namespace

Fp8AutocastGuard::Fp8AutocastGuard(DeviceType type, const Fp8Recipe& recipe, bool enabled,
                                   const std::shared_ptr<distributed::ProcessGroup>& group)
    : autocast_(type, kBFloat16) {
  if (!enabled || !is_autocast_enabled(type)) return;
  const OpScope op("Fp8AutocastGuard");
  if (const auto* delayed = std::get_if<DelayedScaling>(&recipe)) {
    TANDEM_CHECK(delayed->amax_history_len() > 0, StateError, "amax_history_len = {}; it must be at least 1",
                 delayed->amax_history_len());
  }
  Thread& thread = this_thread();
  outermost_ = !thread.iteration;
  if (outermost_) {
    if (!thread.gradients) thread.gradients = std::make_shared<detail::DelayedUpdates>();
    thread.gradients->run({Fp8Role::gradient}, group.get());
    thread.iteration = std::make_shared<detail::DelayedIteration>(thread.gradients, group);
  }
  thread_state().weight_products =
      std::make_shared<detail::Fp8Products>(type, recipe, GradMode::is_enabled(), thread.iteration);
}

Fp8AutocastGuard::~Fp8AutocastGuard() {
  if (!outermost_) return;
  const std::shared_ptr<detail::DelayedIteration> iteration = std::move(this_thread().iteration);
  try {
    iteration->end();
  } catch (...) {  // a device that failed: the next call on it says so
  }
}

bool is_fp8_enabled(DeviceType type) {
  const auto* products = dynamic_cast<const detail::Fp8Products*>(thread_state().weight_products.get());
  return products && products->type() == type && is_autocast_enabled(type);
}

void exclude_from_fp8(const nn::Module& module) {
  for (const Tensor& parameter : module.parameters()) weight_float8(parameter)->excluded = true;
}

void exclude_from_fp8(const nn::Module& model, const std::vector<std::string>& names) {
  const OpScope op("exclude_from_fp8");
  const auto parameters = model.named_parameters();
  for (const std::string& name : names) {
    bool found = false;
    for (const auto& [key, parameter] : parameters) {
      if (key != name && key.rfind(name + ".", 0) != 0) continue;
      found = true;
      weight_float8(parameter)->excluded = true;
    }
    TANDEM_CHECK(found, StateError,
                 "the model has no parameter '{}' and none below it; named_parameters() lists the existing ones", name);
  }
}

void include_in_fp8(const nn::Module& module) {
  for (const Tensor& parameter : module.parameters()) {
    if (is_excluded_from_float8(parameter)) weight_float8(parameter)->excluded = false;
  }
}

}  // namespace tandem::amp
