#include "tandem/amp/fp8/fp8_autocast.h"

#include <exception>
#include <string>
#include <utility>

#include "src/amp/fp8/check_recipe.h"
#include "src/amp/fp8/products.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/base/of_thread.h"
#include "tandem/tensor/weight_float8.h"

namespace tandem::amp {
namespace {

/// What a thread keeps between its outermost regions.
struct Thread {
  std::shared_ptr<detail::DelayedUpdates> gradients;  ///< whose scales the next region computes
  std::string failure;  ///< of the end of a region, where nothing can be thrown; empty: none
};
Thread& this_thread() {
  return tandem::detail::of_thread([] { return Thread(); });
}

std::shared_ptr<detail::DelayedIteration> new_iteration(const std::shared_ptr<distributed::ProcessGroup>& group,
                                                        bool calibrating) {
  Thread& thread = this_thread();
  const std::string failure = std::exchange(thread.failure, "");
  TANDEM_CHECK(failure.empty(), StateError, "the end of an earlier region of float8 failed: {}", failure);
  // A region in a backward pass recomputes: its numbers were noted before.
  const bool records = GradMode::is_enabled() && !thread_state().inference_mode;
  const bool notes = (records || calibrating) && !autograd::is_running_backward();
  if (!thread.gradients) thread.gradients = std::make_shared<detail::DelayedUpdates>();
  if (notes) thread.gradients->run({Fp8Role::gradient}, group);
  return std::make_shared<detail::DelayedIteration>(thread.gradients, group, notes);
}

}  // namespace

Fp8AutocastGuard::Fp8AutocastGuard(DeviceType type, const Fp8Recipe& recipe, bool enabled,
                                   const std::shared_ptr<distributed::ProcessGroup>& group, bool calibrating)
    : autocast_(type, kBFloat16), exceptions_(std::uncaught_exceptions()) {
  if (!(enabled || calibrating) || !is_autocast_enabled(type)) return;
  const OpScope op("Fp8AutocastGuard");
  detail::check_recipe(recipe);
  ThreadState& state = thread_state();
  auto iteration = std::dynamic_pointer_cast<detail::DelayedIteration>(state.products_scope);
  // A thread may still have the context of a region that has ended. In a backward pass it recomputes that region.
  const bool outermost = !iteration || (!iteration->is_open() && !autograd::is_running_backward());
  if (outermost) iteration = new_iteration(group, calibrating);
  if (const auto* r = std::get_if<DelayedScaling>(&recipe)) iteration->check(*r);
  state.weight_products[static_cast<int>(type)] =
      std::make_shared<detail::Fp8Products>(type, recipe, iteration, !enabled);
  if (!outermost) return;
  around_ = std::exchange(state.products_scope, iteration);
  outermost_ = std::move(iteration);
}

Fp8AutocastGuard::~Fp8AutocastGuard() {
  if (!outermost_) return;
  thread_state().products_scope = std::move(around_);
  auto& iteration = static_cast<detail::DelayedIteration&>(*outermost_);
  // While an exception unwinds the stack, other ranks may not come here.
  try {
    std::uncaught_exceptions() > exceptions_ ? iteration.abandon() : iteration.end();
  } catch (const std::exception& error) {
    this_thread().failure = error.what();
  }
}

bool is_fp8_enabled(DeviceType type) {
  const auto* const products =
      dynamic_cast<const detail::Fp8Products*>(thread_state().weight_products[static_cast<int>(type)].get());
  return products && !products->calibrates() && is_autocast_enabled(type);
}

void exclude_from_fp8(const nn::Module& module) {
  for (const Tensor& parameter : module.parameters()) weight_float8(parameter)->excluded = true;
}

void exclude_from_fp8(const nn::Module& model, const std::vector<std::string>& names) {
  const OpScope op("exclude_from_fp8");
  const auto parameters = model.named_parameters();
  const auto modules = model.named_modules({}, /*include_self=*/false);
  std::vector<Tensor> all;
  for (const std::string& name : names) {
    if (const std::shared_ptr<nn::Module>* module = modules.find(name)) {  // has tied parameters, too
      for (const Tensor& parameter : (*module)->parameters()) all.push_back(parameter);
      continue;
    }
    const Tensor* parameter = parameters.find(name);
    TANDEM_CHECK(parameter, StateError,
                 "the model has no parameter and no submodule '{}'; named_parameters() and named_modules() list the "
                 "existing ones",
                 name);
    all.push_back(*parameter);
  }
  for (const Tensor& parameter : all) weight_float8(parameter)->excluded = true;
}

void include_in_fp8(const nn::Module& module) {
  for (const Tensor& parameter : module.parameters()) {
    if (const auto kept = find_weight_float8(parameter)) kept->excluded = false;
  }
}

}  // namespace tandem::amp
