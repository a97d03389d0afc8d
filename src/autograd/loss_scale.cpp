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

bool is(const LossScale* scale, Kind kind) { return scale && scale->kind == kind; }

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
  const std::shared_ptr<Storage>& storage = m->grad.impl().storage;
  return {.scale = m->loss_scale,
          // Writes through a pointer are not seen.
          .is_unchanged = m->scaled_grad_version == m->grad._version() && !storage->pointer_escaped(),
          .partly_assigned = m->partly_assigned,
          .version = m->scaled_grad_version,
          .is_shared = storage.use_count() > 1 && m->grad.nbytes() < storage->nbytes()};
}

void note_gradient_scale(const Tensor& leaf, LossScalePtr scale, bool partly_assigned) {
  AutogradMeta& m = meta(leaf);
  m.loss_scale = std::move(scale);
  m.scaled_grad = m.grad.impl_ptr();
  m.scaled_grad_version = m.grad._version();
  m.partly_assigned = partly_assigned;
  GraphCapture* const capture = leaf.is_cuda() ? current_capture() : nullptr;
  if (!capture || !m.loss_scale || m.loss_scale->kind == Kind::plain) return;
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
  if (!can_rescale(known.scale.get(), scale.get())) return;
  Tensor& grad = meta(leaf).grad;
  if (is_reduced_floating_point(grad.dtype())) grad = grad.to(kFloat);
  rescale_(grad, known.scale.get(), scale.get());
  grad.impl().storage->bump_version();
  note_gradient_scale(leaf, scale, known.partly_assigned);
}

void note_written_gradient(const Tensor& leaf, const GradientScale& before) {
  note_gradient_scale(leaf, before.scale, before.partly_assigned);
  --meta(leaf).scaled_grad_version;
}

void replace_gradient(const Tensor& leaf, Tensor gradient) {
  const GradientScale kept = gradient_scale(leaf);
  Tensor& grad = meta(leaf).grad;
  grad = std::move(gradient);
  if (!kept.scale || !grad.defined()) return;
  if (kept.is_unchanged) {
    note_gradient_scale(leaf, kept.scale, kept.partly_assigned);
  } else {
    note_written_gradient(leaf, kept);
  }
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

bool same_scale(const LossScale* a, const LossScale* b) {
  return a == b || (a && b && a->factor.defined() && b->factor.defined() && a->factor.is_same(b->factor));
}

ScaleOfSum scale_of_sum(const LossScale* a, const LossScale* b) {
  if (same_scale(a, b) || is(a, Kind::mixed) || is(b, Kind::zero)) return {a, false};
  if (is(b, Kind::mixed) || is(a, Kind::zero)) return {b, false};
  const bool a_scaled = is(a, Kind::scaled), b_scaled = is(b, Kind::scaled);
  // An assigned gradient has no known scale. The sum gets the other's; `partly_assigned` marks it.
  if (!a) return {b, b_scaled};
  if (!b) return {a, a_scaled};
  if (can_rescale(a, b)) return {b, false};
  if (can_rescale(b, a)) return {a, false};
  // A loss that was not scaled may have been computed from scaled gradients, or multiplied by the scale by hand.
  if (a_scaled || b_scaled) return {LossScale::mixed().get(), false};
  return {LossScale::unscaled().get(), false};
}

bool can_rescale(const LossScale* from, const LossScale* to) {
  return is(to, Kind::scaled) && !same_scale(from, to) && (is(from, Kind::scaled) || is(from, Kind::unscaled));
}

Tensor rescaled(const Tensor& gradient, const LossScale* from, const LossScale* to) {
  return detail::times(is(from, Kind::scaled) ? detail::times(gradient, from->inverse) : gradient, to->factor);
}

void rescale_(const Tensor& gradient, const LossScale* from, const LossScale* to) {
  if (is(from, Kind::scaled)) detail::multiply(gradient, gradient, from->inverse);
  detail::multiply(gradient, gradient, to->factor);
}

const LossScale*& detail::running_loss_scale() {
  static thread_local const LossScale* scale = nullptr;
  return scale;
}

}  // namespace tandem::autograd
