#include "tandem/autograd/loss_scale.h"

#include <utility>

#include "tandem/autograd/backward_scaler.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/meta.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/tensor/capture.h"

namespace tandem::autograd {
namespace {

using Kind = LossScale::Kind;

LossScalePtr only(Kind kind) { return std::make_shared<const LossScale>(kind); }

bool is(const LossScale* scale, Kind kind) { return scale && scale->kind == kind; }

/// Marks that the graph of a capture writes the gradient. Returns false if it was marked before.
bool mark_written(GraphCapture& capture, const AutogradMeta& m) {
  std::shared_ptr<void>& mark = capture.note(&m);
  if (mark) return false;
  mark = std::make_shared<char>();
  return true;
}

bool is_whole(const TensorImpl& x) {
  return static_cast<size_t>(x.numel) * element_size(x.dtype) >= x.storage->nbytes();
}

void note_now(const Tensor& gradient, LossScalePtr scale, bool partly_assigned) noexcept {
  TensorImpl& x = gradient.impl();
  x.loss_scale = {std::move(scale), x.data_version(), x.storage->other_writes(), partly_assigned, false};
}

/// In a capture: each replay writes the gradient again.
void note_after_replays(const Tensor& gradient, const LossScalePtr& scale, bool partly_assigned) {
  GraphCapture* const capture = gradient.is_cuda() ? current_capture() : nullptr;
  if (!capture || !scale || scale->kind == Kind::plain) return;
  capture->after_replay([weak = std::weak_ptr(gradient.impl_ptr()), scale, partly_assigned] {
    if (const Tensor x(weak.lock()); x.defined()) note_now(x, scale, partly_assigned);
  });
}

/// Notes what was known of the defined `.grad` of a leaf.
void note_again(const Tensor& leaf, const GradientScale& known) {
  if (known.is_unchanged) {
    note_gradient_scale(leaf, known.scale, known.partly_assigned);
  } else {
    note_written_gradient(leaf, known);
  }
}

/// A gradient to which a graph adds one of scale `added`.
struct ReplayedSum {
  std::weak_ptr<TensorImpl> leaf, gradient;
  LossScalePtr added;
  uint64_t version = 0;  ///< of the scaler's scale at the last replay; 0: none

  bool is_of(const Tensor& x) const {
    return x.defined() && x.grad().defined() && x.grad().impl_ptr() == gradient.lock();
  }
  /// Runs before a replay, which computes added->factor from the scaler's scale again.
  void prepare() {
    const uint64_t last = std::exchange(version, added->source.impl().storage->version() + 1);
    const Tensor x(leaf.lock());
    if (!is_of(x)) return;
    const GradientScale now = gradient_scale_before_sum(x, added.get());
    LossScale next(Kind::scaled);
    next.factor = added->source;
    if ((now.scale == added && version == last) || !can_rescale(now.of_sum(), &next)) return;
    const Tensor grad = x.grad();
    TANDEM_CHECK(!is_reduced_floating_point(grad.dtype()), StateError,
                 "the graph adds to a {} gradient that has another scale; call zero_grad before the replay, or keep "
                 "master weights, with which gradients are f32",
                 name(grad.dtype()));
    rescale_(grad, now.scale.get(), &next);
    bump_version_of_gradient(grad);
    note_gradient_scale(x, added, now.partly_assigned);
  }
};

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

GradientScale scale_of(const Tensor& gradient) {
  if (!gradient.defined()) return {};
  const TensorImpl& x = gradient.impl();
  const LossScaleNote& note = x.loss_scale;
  const bool is_written =
      is_whole(x) ? note.version.version != x.storage->version() : note.other_writes != x.storage->other_writes();
  return {.scale = note.scale,
          // Writes through a pointer are not seen.
          .is_unchanged = !is_written && !note.is_written && note.version.generation == x.generation &&
                          !x.storage->pointer_escaped(),
          .partly_assigned = note.partly_assigned,
          .version = note.version.version};
}

void note_scale(const Tensor& gradient, LossScalePtr scale, bool partly_assigned) {
  note_after_replays(gradient, scale, partly_assigned);
  note_now(gradient, std::move(scale), partly_assigned);
}

void bump_version_of_gradient(const Tensor& gradient) {
  const TensorImpl& x = gradient.impl();
  is_whole(x) ? x.storage->bump_version() : x.storage->bump_version_of_part();
}

void count_as_gradient_write(const Tensor& gradient) {
  if (!is_whole(gradient.impl())) gradient.impl().storage->count_as_part();
}

GradientScale gradient_scale(const Tensor& leaf) { return scale_of(leaf.grad()); }

void note_gradient_scale(const Tensor& leaf, LossScalePtr scale, bool partly_assigned) {
  if (GraphCapture* capture = leaf.is_cuda() ? current_capture() : nullptr) mark_written(*capture, meta(leaf));
  note_scale(leaf.grad(), std::move(scale), partly_assigned);
}

GradientScale gradient_scale_before_sum(const Tensor& leaf, const LossScale* added) {
  GradientScale known = gradient_scale(leaf);
  if (!known.is_unchanged) {
    if (!known.is(Kind::scaled)) {
      known.scale.reset();  // it may have been set to zero, or assigned
    } else if (is(added, Kind::plain)) {
      known.scale = LossScale::plain();  // it may have been unscaled by hand. Only a plain step is right then
    }
  }
  return known;
}

LossScalePtr scale_at_replays(GraphCapture& capture, const Tensor& leaf, const GradientScale& now,
                              const LossScalePtr& added) {
  if (!is(added.get(), Kind::scaled) || !mark_written(capture, meta(leaf))) return now.scale;
  ReplayedSum sum{leaf.impl_ptr(), leaf.grad().impl_ptr(), added};
  capture.before_replay([sum]() mutable { sum.prepare(); });
  // The capture itself adds nothing.
  capture.at_end([sum, now] {
    if (const Tensor x(sum.leaf.lock()); sum.is_of(x)) note_again(x, now);
  });
  return can_rescale(now.of_sum(), added.get()) ? added : now.scale;
}

void rescale_gradient(const Tensor& leaf, const LossScalePtr& scale) {
  const GradientScale known = gradient_scale_before_sum(leaf, scale.get());
  if (!can_rescale(known.of_sum(), scale.get())) return;
  Tensor& grad = meta(leaf).grad;
  if (is_reduced_floating_point(grad.dtype())) grad = grad.to(kFloat);
  rescale_(grad, known.scale.get(), scale.get());
  bump_version_of_gradient(grad);
  note_gradient_scale(leaf, scale, known.partly_assigned);
}

void note_written_gradient(const Tensor& leaf, const GradientScale& before) {
  note_gradient_scale(leaf, before.scale, before.partly_assigned);
  leaf.grad().impl().loss_scale.is_written = true;
}

void replace_gradient(const Tensor& leaf, Tensor gradient) {
  const GradientScale kept = gradient_scale(leaf);
  Tensor& grad = meta(leaf).grad;
  grad = std::move(gradient);
  if (grad.defined()) note_again(leaf, kept);
}

KeepGradientScales::KeepGradientScales(const std::vector<Tensor>& leaves) {
  for (const Tensor& leaf : leaves) {
    GradientScale now = gradient_scale(leaf);
    if (!now.scale || !now.is_unchanged) continue;
    note_after_replays(leaf.grad(), now.scale, now.partly_assigned);
    kept_.emplace_back(leaf, std::move(now));
  }
}

KeepGradientScales::~KeepGradientScales() {
  for (const auto& [leaf, kept] : kept_) {
    if (leaf.grad().defined()) count_as_gradient_write(leaf.grad());
  }
  for (auto& [leaf, kept] : kept_) {
    if (leaf.grad().defined()) note_now(leaf.grad(), std::move(kept.scale), kept.partly_assigned);
  }
}

bool same_scale(const LossScale* a, const LossScale* b) {
  return a == b || (a && b && a->factor.defined() && b->factor.defined() && a->factor.is_same(b->factor));
}

ScaleOfSum scale_of_sum(const ScaleOfSum& a, const ScaleOfSum& b) {
  const LossScale *const x = a.scale, *const y = b.scale;
  const bool partly_assigned = a.partly_assigned || b.partly_assigned;
  if (same_scale(x, y) || is(x, Kind::mixed) || is(y, Kind::zero)) return {x, partly_assigned};
  if (is(y, Kind::mixed) || is(x, Kind::zero)) return {y, partly_assigned};
  // An assigned gradient has no known scale. The sum gets the other's; `partly_assigned` marks it.
  if (!x) return {y, partly_assigned || !is(y, Kind::plain)};
  if (!y) return {x, partly_assigned || !is(x, Kind::plain)};
  if (can_rescale(a, y)) return {y, partly_assigned};
  if (can_rescale(b, x)) return {x, partly_assigned};
  // A loss that was not scaled may have been computed from scaled gradients, or multiplied by the scale by hand.
  if (is(x, Kind::scaled) || is(y, Kind::scaled)) return {LossScale::mixed().get(), partly_assigned};
  return {LossScale::unscaled().get(), partly_assigned};
}

bool can_rescale(const ScaleOfSum& from, const LossScale* to) {
  // The assigned part of an unscaled sum may be scaled already.
  const bool is_unscaled = is(from.scale, Kind::unscaled) && !from.partly_assigned;
  return is(to, Kind::scaled) && !same_scale(from.scale, to) && (is(from.scale, Kind::scaled) || is_unscaled);
}

Tensor rescaled(const Tensor& gradient, const LossScale* from, const LossScale* to) {
  // Neither the quotient of the scales nor the product with one of them need be in f32's range.
  const Tensor wide = gradient.to(kDouble);
  const Tensor unscaled = is(from, Kind::scaled) ? detail::times(wide, from->inverse) : wide;
  return detail::times(unscaled, to->factor).to(gradient.dtype());
}

void rescale_(const Tensor& gradient, const LossScale* from, const LossScale* to) {
  const NoGradGuard no_grad;
  backend(gradient).copy(gradient, rescaled(gradient, from, to));
}

ScaleOfSum& detail::running_loss_scale() {
  static thread_local ScaleOfSum scale;
  return scale;
}

}  // namespace tandem::autograd
