#include "tandem/autograd/accumulate_grad.h"

#include <atomic>

#include "tandem/autograd/backward_scaler.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/math/binary.h"
#include "tandem/tensor/factories.h"

namespace tandem::autograd {

AccumulateGrad::AccumulateGrad(const Tensor& variable) : Node("AccumulateGrad", {}), variable_(variable) {
  // Leaves run first among the ready nodes, so that the memory of accumulated gradients is freed early.
  sequence = UINT64_MAX;
  outputs.emplace_back(variable);
}

void AccumulateGrad::run_hooks(Grads& grads) {
  if (grads[0].defined()) detail::unscale(grads[0]);
  if (const auto& hooks = meta(variable_).hooks) hooks->of_leaf.run(outputs, grads);
}

Grads AccumulateGrad::apply(Grads grads) {
  if (!variable_.requires_grad()) return {};  // frozen since the forward pass
  if (grads[0].defined()) accumulate(grads[0]);
  run_post_accumulate_hooks();
  return {};
}

void AccumulateGrad::run_post_accumulate_hooks() const {
  const auto& hooks = meta(variable_).hooks;
  if (!hooks || hooks->after_accumulation.empty()) return;
  const auto after = hooks->after_accumulation;  // a copy: a hook may remove itself
  for (const auto& [handle, hook] : after) (*hook)(variable_);
}

void AccumulateGrad::accumulate(Tensor& g) {
  const OpScope op("backward");
  std::lock_guard lock(mutex_);
  TANDEM_CHECK(
      outputs[0].fits(variable_), AutogradError,
      "a leaf that was used as {} has since become {} (set_data, or .to of its module); run backward before the change",
      outputs[0].str(), OutputMeta(variable_).str());
  Tensor& grad = meta(variable_).grad;
  if (!grad.defined()) {
    grad = own_gradient(std::move(g), variable_);
    return;
  }
  TANDEM_CHECK(
      outputs[0].fits(grad), AutogradError,
      ".grad of a leaf {} was set to {}; set a tensor with the leaf's sizes, dtype and device, or an undefined tensor",
      outputs[0].str(), OutputMeta(grad).str());
  if (GradMode::is_enabled() || is_expanded(grad.sizes(), grad.strides())) {
    grad = grad.add(g);
  } else {
    backend(grad).binary(grad, kernels::Binary::add, grad, g, 1.0);
    grad.impl().storage->bump_version();
  }
}

void AccumulateGrad::mark_scaled() {
  std::lock_guard lock(mutex_);
  if (meta(variable_).grad.defined()) mark_scaled_grad(variable_);
}

void mark_scaled_grad(const Tensor& leaf) {
  AutogradMeta& m = meta(leaf);
  m.scaled_grad = m.grad.impl_ptr();
  m.scaled_grad_version = m.grad._version();
}

unsigned register_post_accumulate_grad_hook(const Tensor& leaf, PostAccumulateGradHook hook) {
  const OpScope op("register_post_accumulate_grad_hook");
  TANDEM_CHECK(leaf.defined() && leaf.is_leaf() && leaf.requires_grad(), AutogradError,
               "only leaves that require grad accumulate gradients; use register_hook for other tensors");
  TANDEM_CHECK(hook, AutogradError, "the function is empty; pass one that takes the leaf");
  static std::atomic<unsigned> next_handle{0};
  const unsigned handle = next_handle.fetch_add(1, std::memory_order_relaxed);
  AutogradMeta& m = meta(leaf);
  if (!m.hooks) m.hooks = std::make_unique<TensorHooks>();
  m.hooks->after_accumulation.emplace_back(handle, std::make_shared<PostAccumulateGradHook>(std::move(hook)));
  return handle;
}

void remove_post_accumulate_grad_hook(const Tensor& leaf, unsigned handle) {
  const AutogradMeta* m = leaf.defined() ? meta_or_null(leaf) : nullptr;
  if (!m || !m->hooks) return;
  std::erase_if(m->hooks->after_accumulation, [handle](const auto& entry) { return entry.first == handle; });
}

}  // namespace tandem::autograd
