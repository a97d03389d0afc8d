#include "tandem/autograd/loss_scale.h"

#include <utility>

#include "tandem/autograd/backward_scaler.h"
#include "tandem/autograd/meta.h"
#include "tandem/backend.h"
#include "tandem/tensor/capture.h"

namespace tandem::autograd {
namespace {

using Kind = LossScale::Kind;

LossScalePtr only(Kind kind) { return std::make_shared<const LossScale>(kind); }

}  // namespace

const LossScalePtr& LossScale::plain() {
  static const auto* scale = new LossScalePtr(only(Kind::plain));
  return *scale;
}
const LossScalePtr& LossScale::unscaled() {
  static const auto* scale = new LossScalePtr(only(Kind::unscaled));
  return *scale;
}
const LossScalePtr& LossScale::zero() {
  static const auto* scale = new LossScalePtr(only(Kind::zero));
  return *scale;
}
const LossScalePtr& LossScale::mixed() {
  static const auto* scale = new LossScalePtr(only(Kind::mixed));
  return *scale;
}

GradientScale gradient_scale(const Tensor& leaf) {
  const AutogradMeta* m = meta_or_null(leaf);
  if (!m || !m->grad.defined() || m->scaled_grad.lock() != m->grad.impl_ptr()) return {};
  return {.scale = m->loss_scale,
          .is_unchanged = m->scaled_grad_version == m->grad._version(),
          .partly_assigned = m->partly_assigned,
          .version = m->scaled_grad_version,
          .is_shared = m->grad.impl().storage.use_count() > 1};
}

void note_gradient_scale(const Tensor& leaf, LossScalePtr scale, bool partly_assigned) {
  AutogradMeta& m = meta(leaf);
  m.loss_scale = std::move(scale);
  m.scaled_grad = m.grad.impl_ptr();
  m.scaled_grad_version = m.grad._version();
  m.partly_assigned = partly_assigned;
  GraphCapture* const capture = leaf.is_cuda() ? current_capture() : nullptr;
  if (!capture) return;
  // A replay writes the gradient again.
  capture->after_replay(
      [weak = std::weak_ptr(leaf.impl_ptr()), noted = m.scaled_grad, scale = m.loss_scale, partly_assigned] {
        const Tensor x(weak.lock());
        if (x.defined() && x.grad().defined() && x.grad().impl_ptr() == noted.lock()) {
          note_gradient_scale(x, scale, partly_assigned);
        }
      });
}

void rescale_gradient(const Tensor& leaf, const LossScalePtr& scale) {
  const GradientScale known = gradient_scale(leaf);
  const Tensor factor = scale_of_sum(known.scale.get(), scale.get()).a_factor;
  if (!factor.defined()) return;
  Tensor& grad = meta(leaf).grad;
  if (is_reduced_floating_point(grad.dtype())) grad = grad.to(kFloat);
  backend(grad).copy(grad, detail::times(grad, factor));
  grad.impl().storage->bump_version();
  note_gradient_scale(leaf, scale, known.partly_assigned);
}

void replace_gradient(const Tensor& leaf, Tensor gradient) {
  const GradientScale kept = gradient_scale(leaf);
  Tensor& grad = meta(leaf).grad;
  grad = std::move(gradient);
  if (kept.scale && kept.is_unchanged && grad.defined()) note_gradient_scale(leaf, kept.scale, kept.partly_assigned);
}

KeepGradientScales::KeepGradientScales(const std::vector<Tensor>& leaves) {
  for (const Tensor& leaf : leaves) {
    GradientScale now = gradient_scale(leaf);
    if (now.scale && now.is_unchanged) kept_.emplace_back(leaf, std::move(now));
  }
}

KeepGradientScales::~KeepGradientScales() {
  for (auto& [leaf, kept] : kept_) {
    if (leaf.grad().defined()) note_gradient_scale(leaf, std::move(kept.scale), kept.partly_assigned);
  }
}

ScaleOfSum scale_of_sum(const LossScale* a, const LossScale* b) {
  const auto is = [](const LossScale* s, Kind kind) { return s && s->kind == kind; };
  if (a == b || is(a, Kind::mixed) || is(b, Kind::zero)) return {a, {}, {}, false};
  if (is(b, Kind::mixed) || is(a, Kind::zero)) return {b, {}, {}, false};
  const bool a_scaled = is(a, Kind::scaled), b_scaled = is(b, Kind::scaled);
  // The scale of an assigned gradient is unknown: that of the other one, if that is legal at all.
  if (!a) return {b, {}, {}, b_scaled};
  if (!b) return {a, {}, {}, a_scaled};
  if (a_scaled && b_scaled) return {b, detail::times(b->factor, a->inverse), {}, false};
  if (a_scaled) return {a, {}, a->factor, false};
  if (b_scaled) return {b, b->factor, {}, false};
  return {LossScale::unscaled().get(), {}, {}, false};
}

const LossScale*& detail::running_loss_scale() {
  static thread_local const LossScale* scale = nullptr;
  return scale;
}

}  // namespace tandem::autograd
