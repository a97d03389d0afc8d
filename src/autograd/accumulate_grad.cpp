#include "tandem/autograd/accumulate_grad.h"

#include <atomic>

#include "tandem/autograd/backward_scaler.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/math/binary.h"
#include "tandem/tensor/current_capture.h"
#include "tandem/tensor/factories.h"

namespace tandem::autograd {
namespace {

LossScalePtr shared(const LossScale* scale) { return scale ? scale->shared_from_this() : nullptr; }

/// Whether a gradient is f32, and fits a 16-bit leaf otherwise.
bool is_f32_of(OutputMeta gradient, const Tensor& leaf) {
  if (gradient.dtype != kFloat || !is_reduced_floating_point(leaf.dtype())) return false;
  gradient.dtype = leaf.dtype();
  return gradient.fits(leaf);
}

}  // namespace

AccumulateGrad::AccumulateGrad(const Tensor& variable) : Node("AccumulateGrad", {}), variable_(variable) {
  // Leaves run first among the ready nodes, so that the memory of accumulated gradients is freed early.
  sequence = UINT64_MAX;
  outputs.emplace_back(variable);
  outputs[0].dtype = grad_dtype(variable);
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
  const GradientScale written = gradient_scale(variable_);
  const auto after = hooks->after_accumulation;  // a copy: a hook may remove itself
  for (const auto& [handle, hook] : after) (*hook)(variable_);
  if (!written.scale || !variable_.grad().defined()) return;
  // A gradient that a hook has written or replaced has the scale of the one that it was given.
  const GradientScale now = gradient_scale(variable_);
  if (!now.scale || (now.scale == written.scale && !now.is_unchanged)) note_written_gradient(variable_, written);
}

void AccumulateGrad::accumulate(Tensor& g) {
  const OpScope op("backward");
  std::lock_guard lock(mutex_);
  TANDEM_CHECK(
      outputs[0].fits(variable_) || is_f32_of(outputs[0], variable_), AutogradError,
      "a leaf that was used as {} has since become {} (set_data, or .to of its module); run backward before the change",
      outputs[0].str(), OutputMeta(variable_).str());
  const ScaleOfSum added = detail::running_loss_scale();
  const LossScale* const scale = added.scale;
  Tensor& grad = meta(variable_).grad;
  if (!grad.defined()) {
    grad = own_gradient(std::move(g), variable_);
    note_gradient_scale(variable_, shared(scale), added.partly_assigned);
    return;
  }
  TANDEM_CHECK(
      OutputMeta(grad).fits(variable_) || is_f32_of(OutputMeta(grad), variable_), AutogradError,
      ".grad of a leaf {} was set to {}; set a tensor with the leaf's sizes, dtype and device, or an undefined tensor",
      OutputMeta(variable_).str(), OutputMeta(grad).str());
  GradientScale before = gradient_scale_before_sum(variable_, scale);
  if (GraphCapture* capture = variable_.is_cuda() ? current_capture() : nullptr) {
    before.scale = scale_at_replays(*capture, variable_, before, shared(scale));
  }
  const ScaleOfSum sum = scale_of_sum(before.of_sum(), added);
  // The sum is as wide as the wider of both, and f32 if one of them has to be brought to the scale of the other.
  const bool rescales_sum = can_rescale(before.of_sum(), sum.scale), rescales_g = can_rescale(added, sum.scale);
  const DType wide =
      promote_types(promote_types(grad.dtype(), g.dtype()), rescales_sum || rescales_g ? kFloat : g.dtype());
  Tensor total = grad.dtype() == wide ? grad : grad.to(wide);
  if (g.dtype() != wide) g = g.to(wide);
  if (rescales_g) g = rescaled(g, scale, sum.scale);
  if (GradMode::is_enabled() || is_expanded(total.sizes(), total.strides())) {
    if (rescales_sum) total = rescaled(total, before.scale.get(), sum.scale);
    total = total.add(g);
  } else {
    if (rescales_sum) rescale_(total, before.scale.get(), sum.scale);
    backend(total).binary(total, kernels::Binary::add, total, g, 1.0);
    bump_version_of_gradient(total);
  }
  grad = std::move(total);
  note_gradient_scale(variable_, shared(sum.scale), sum.partly_assigned);
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
