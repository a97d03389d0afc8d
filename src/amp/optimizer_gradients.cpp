#include "src/amp/optimizer_gradients.h"

#include <algorithm>

#include "src/amp/modes/for_each_parameter.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"

namespace tandem::amp {

GradientPlace place_of(const Tensor& g) {
  int64_t numel = 1;  // of an expanded tensor, only the elements that it has
  for (int64_t d = 0; d < g.dim(); ++d) numel *= g.stride(d) == 0 ? 1 : g.size(d);
  return {reinterpret_cast<uintptr_t>(g.impl().storage.get()), g.storage_offset(), numel, g.dtype()};
}

bool FirstOfItsPlace::operator()(const Tensor& g) {
  const bool may_be_shared = g.impl_ptr().use_count() > 1 || g.impl().storage.use_count() > 1;
  return !may_be_shared || seen_.insert(place_of(g)).second;
}

namespace {

using autograd::GradientScale;
using autograd::LossScale;
using autograd::LossScalePtr;
using Kind = LossScale::Kind;

void check_gradient(size_t number, const Tensor& p, const Tensor& g, const GradientContext& context) {
  TANDEM_CHECK(
      is_differentiable(g.dtype()), DTypeError,
      "the gradient of parameter {} {} is {}; gradients must be floating and not float8: drop it with zero_grad()",
      number, to_string(p.sizes()), name(g.dtype()));
  TANDEM_CHECK(g.device().type() == context.device.type(), DeviceError,
               "the gradient of parameter {} {} is on {}, but the scaler's state is on {}, the device of its first "
               "loss; use one scaler per device type",
               number, to_string(p.sizes()), g.device().str(), context.device.str());
  checks::not_expanded("the gradient of parameter", g, number);
}

/// Whether two scales are the same number. Those of different iterations are read from the device.
bool are_equal(const LossScale& a, const LossScale& b) {
  return autograd::same_scale(&a, &b) || a.factor.item<float>() == b.factor.item<float>();
}

/// The scale to divide a gradient by; null: none.
LossScalePtr divisor_of(const char* what, size_t number, const Tensor& g, const GradientContext& context) {
  const GradientScale known = autograd::scale_of(g);
  const bool scaled = known.is(Kind::scaled), unscaled = known.is(Kind::unscaled);
  TANDEM_CHECK(!known.is(Kind::mixed) || !known.is_unchanged, StateError,
               "{} {} {} is a sum of gradients with different scales: of a loss that was scaled and one that was not, "
               "or added in 16 bits; call zero_grad(), and scale all losses of an iteration by one scaler",
               what, number, to_string(g.sizes()));
  const auto place = context.places.find(place_of(g));
  // A later backward pass may have given it a scale again.
  const bool stays_unscaled = unscaled && !known.partly_assigned;
  const bool divided = place != context.places.end() && (stays_unscaled || known.version <= place->second);
  if (divided || (context.is_unscaled && !scaled)) return nullptr;
  // A gradient that the program has assigned or written has the current scale, as in PyTorch.
  const bool written = !known.is_unchanged && !scaled;
  const bool one = context.is_one && known.is(Kind::plain);
  if (!known.scale || written || known.is(Kind::zero) || one) return context.current;
  TANDEM_CHECK(scaled || unscaled, StateError,
               "{} {} {} is of a loss that was not scaled; call scale(loss).backward(), pass scaled gradients as "
               "y.backward(gradient), or step the optimizer without the scaler",
               what, number, to_string(g.sizes()));
  TANDEM_CHECK(
      !known.partly_assigned || (scaled && !context.is_unscaled && are_equal(*known.scale, *context.current)),
      StateError,
      "{} {} {} is a sum of one that was assigned, or given to backward(), and one of a scaled loss, with an update(), "
      "unscale_() or step() in between, so its scale is unknown; call zero_grad() after them, or assign after them",
      what, number, to_string(g.sizes()));
  return scaled ? known.scale : nullptr;
}

void add(SortedGradients& sorted, const LossScalePtr& scale, const Tensor& g) {
  if (!scale) {
    sorted.unscaled.push_back(g);
    return;
  }
  auto group = std::find_if(sorted.scaled.begin(), sorted.scaled.end(),
                            [&scale](const SortedGradients::Group& known) { return known.scale == scale; });
  if (group == sorted.scaled.end()) group = sorted.scaled.insert(group, {scale, {}});
  group->grads.push_back(g);
}

}  // namespace

SortedGradients sort_gradients(const std::vector<Tensor>& grads, const GradientContext& context) {
  SortedGradients sorted;
  FirstOfItsPlace is_first;
  for (size_t i = 0; i < grads.size(); ++i) {
    if (is_first(grads[i])) add(sorted, divisor_of("tensor", i, grads[i], context), grads[i]);
  }
  return sorted;
}

SortedGradients sort_gradients(const optim::Optimizer& optimizer, const GradientContext& context, bool writes) {
  SortedGradients sorted;
  FirstOfItsPlace is_first;
  size_t number = 0;
  for_each_parameter(optimizer, [&](const Tensor& p) {
    const Tensor& g = p.grad();
    ++number;
    if (!g.defined()) return;
    check_gradient(number - 1, p, g, context);
    const LossScalePtr scale = divisor_of("the gradient of parameter", number - 1, g, context);
    TANDEM_CHECK(!writes || !scale || g.dtype() != kHalf, DTypeError,
                 "the gradient of parameter {} {} is f16, where unscaling would underflow; keep parameters in f32 "
                 "and let autocast cast them",
                 number - 1, to_string(p.sizes()));
    if (is_first(g)) add(sorted, scale, g);
  });
  return sorted;
}

bool has_scaled(const optim::Optimizer& optimizer) {
  bool has = false;
  for_each_parameter(optimizer, [&](const Tensor& p) {
    const GradientScale known = autograd::gradient_scale(p);
    has |= known.is(Kind::scaled) || known.is(Kind::mixed);
  });
  return has;
}

std::vector<Tensor> gradients_of(const optim::Optimizer& optimizer) {
  std::vector<Tensor> grads;
  for_each_parameter(optimizer, [&grads](const Tensor& p) {
    if (p.grad().defined()) grads.push_back(p.grad());
  });
  return grads;
}

void note_unscaled(const optim::Optimizer& optimizer) {
  for_each_parameter(optimizer, [](const Tensor& p) {
    if (p.grad().defined()) autograd::note_gradient_scale(p, autograd::LossScale::unscaled());
  });
}

bool unscaling_rounds(const optim::Optimizer& optimizer) {
  const bool has_masters = optimizer.master_weights() != optim::MasterWeights::none;
  bool rounds = false, has_f16 = false;
  for_each_parameter(optimizer, [&](const Tensor& p) {
    const Tensor& g = p.grad();
    if (!g.defined() || (has_masters && is_reduced_floating_point(p.dtype()) && is_reduced_floating_point(g.dtype()))) {
      return;
    }
    has_f16 |= g.dtype() == kHalf;
    rounds |= g.dtype() != (p.dtype() == kDouble ? kDouble : kFloat);
  });
  return rounds && !has_f16;
}

void widen_gradients(const optim::Optimizer& optimizer) {
  if (optimizer.master_weights() == optim::MasterWeights::none) return;
  for_each_parameter(optimizer, [](const Tensor& p) {
    const Tensor& g = p.grad();
    if (g.defined() && is_reduced_floating_point(p.dtype()) && is_reduced_floating_point(g.dtype())) {
      autograd::replace_gradient(p, to(g.detach(), kFloat));
    }
  });
}

}  // namespace tandem::amp
