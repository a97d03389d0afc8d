// What backward passes do to gradients, and how gradients are rounded.
#include <algorithm>
#include <cmath>

#include "soak/scaler_oracle.h"

namespace tandem::testing {
namespace {

using Gradient = ScalerGradient;
using Rule = ScalerRule;

/// Bounds of rounding: relative, generous for f32 because the inverse of a scale is rounded too; and absolute, near 0.
double relative_error(DType dtype) { return dtype == kFloat ? 0x1p-20 : dtype == kHalf ? 0x1p-9 : 0x1p-6; }
double absolute_error(DType dtype) { return dtype == kHalf ? 0x1p-24 : 0x1p-133; }
/// From here on numbers round to infinity.
double overflow_limit(DType dtype) { return dtype == kHalf ? 65520.0 : 0x1p128; }

/// The gradient as a tensor that the program gives to backward(): one that the program has made if its scale is
/// unknown.
Gradient as_given(Gradient g) {
  const bool keeps_scale = g.kind == Gradient::scaled || g.kind == Gradient::unscaled || g.kind == Gradient::mixed;
  if (!keeps_scale || g.changed) {
    g = {.kind = Gradient::replaced,
         .value = g.value * g.unit,
         .torch = g.torch,
         .error = g.error * g.unit,
         .dtype = g.dtype};
  }
  g.unscaled_by = 0;
  return g;
}

}  // namespace

void ScalerOracle::round(Gradient& g, double added) {
  if (!std::isfinite(g.value)) {
    g.error = 0;
    return;
  }
  g.error += relative_error(g.dtype) * (std::abs(g.value) + std::abs(added)) + absolute_error(g.dtype) / g.unit;
  const double stored = std::abs(g.value * g.unit), slack = g.error * g.unit;
  if (std::isfinite(stored) && stored + slack >= overflow_limit(g.dtype)) {
    unsure_ |= stored - slack < overflow_limit(g.dtype);
    g.value = std::copysign(HUGE_VAL, g.value);
    g.torch = std::copysign(HUGE_VAL, g.torch);
  }
}

void ScalerOracle::backward(const std::array<double, 3>& slopes, const Kept* scaled) {
  for (size_t p = 0; p < tensors_.size(); ++p) {
    if (slopes[p] == 0) continue;
    Gradient part{.kind = Gradient::plain, .value = slopes[p], .torch = slopes[p]};
    if (scaled) {
      part.kind = Gradient::scaled;
      part.unit = scaled->unit;
      part.torch *= scaled->unit;
      part.scaler = scaled->scaler;
      part.writes = scaled->writes;
      if (scaled->writes != scalers_[scaled->scaler].writes) part.rules.add(Rule::late_backward);
    }
    add(p, part);
  }
}

void ScalerOracle::half_scaled_backward(const ScalerInstruction& call) {
  Scaler& scaler = scalers_[call.scaler];
  scaler.used = true;
  const size_t second = next_scaler(call.scaler);
  const bool both_scaled = call.number != 0;
  if (both_scaled) scalers_[second].used = true;
  const double second_unit = both_scaled ? scalers_[second].scale : 1;
  for (size_t p = 0; p < tensors_.size(); ++p) {
    const double slope = call.slopes[p];
    if (slope == 0) continue;
    // Gradients of two losses meet at the parameter, in its dtype. The scaler's own arrives last.
    const bool meet_in_16_bits = program_->grad_dtype(p) != kFloat && !call.flag && second != call.scaler;
    Gradient part{.kind = both_scaled && !meet_in_16_bits ? Gradient::scaled : Gradient::mixed,
                  .value = 2 * slope,
                  .unit = scaler.scale,
                  .torch = slope * (scaler.scale + second_unit),
                  .scaler = call.scaler,
                  .writes = scaler.writes};
    if (part.kind == Gradient::scaled && second != call.scaler) part.rules.add(Rule::two_scales);
    const double largest = std::max(part.unit, second_unit);
    unsure_ |= 2 * largest >= overflow_limit(kFloat);  // the gradient of a loss that both share
    unsure_ |= std::isfinite(slope) && std::abs(2 * slope) * largest >= overflow_limit(program_->params[p]);
    add(p, part);
  }
}

ScalerVerdict ScalerOracle::seeded_backward(const ScalerInstruction& call) {
  const double scale = scalers_[call.scaler].scale;
  Gradient seed{.kind = Gradient::replaced, .value = scale, .torch = scale};
  if (call.flag) {
    const Gradient& read = at(call.param);
    bool writes = false, is_used = false;
    for (size_t p = 0; p < tensors_.size(); ++p) {
      writes |= call.slopes[p] != 0;
      is_used |= call.slopes[p] != 0 && &at(p) == &read;  // the pass would write what it reads
    }
    if (read.kind == Gradient::none || !writes || is_used) return {.outcome = ScalerVerdict::not_stated};
    seed = as_given(read);
    seed.rules = {};
    if (seed.kind == Gradient::scaled) seed.rules.add(Rule::of_seed);
  }
  for (size_t p = 0; p < tensors_.size(); ++p) {
    if (call.slopes[p] == 0) continue;
    Gradient part = seed;
    part.value *= call.slopes[p];
    part.torch *= call.slopes[p];
    part.error *= std::abs(call.slopes[p]);
    add(p, part);
  }
  return {};
}

ScalerVerdict ScalerOracle::grad(const ScalerInstruction& call) {
  Scaler& scaler = scalers_[call.scaler];
  const bool is_scaled = call.number != 0;
  bool any = false;
  std::array<double, 3> slopes = call.slopes;
  for (size_t p = 0; p < tensors_.size(); ++p) {
    if (program_->has_master(p)) slopes[p] = 0;
    any |= slopes[p] != 0;
    if (slopes[p] != 0) renew(p);
  }
  if (!any) return {.outcome = ScalerVerdict::not_stated};
  scaler.used |= is_scaled;
  const Kept scaled{slopes, call.scaler, scaler.scale, scaler.writes};
  backward(slopes, is_scaled ? &scaled : nullptr);
  for (size_t p = 0; p < tensors_.size(); ++p) {
    if (slopes[p] == 0) continue;
    Gradient& g = at(p);
    g.changed = call.flag;  // the product is a new tensor
    g = as_given(g);
    if (call.flag) change(p, 1.0 / scaler.scale);
    if (g.kind == Gradient::scaled) g.rules.add(Rule::of_grad);
  }
  return {};
}

Gradient& ScalerOracle::renew(size_t param) {
  tensors_[param] = gradients_.size();
  return gradients_.emplace_back();
}

void ScalerOracle::add(size_t param, Gradient part) {
  Gradient& g = at(param);
  part.dtype = program_->grad_dtype(param);
  // What reaches a parameter of 16 bits has been rounded to them, also if a sum in f32 follows.
  part.error += relative_error(program_->params[param]) * std::abs(part.value);
  unsure_ |= program_->has_master(param) && std::abs(part.value * part.unit) >= overflow_limit(kHalf) &&
             program_->params[param] == kHalf && std::isfinite(part.value);
  round(part);
  if (g.kind == Gradient::none) {
    g = part;
    return;
  }
  if (g.changed && (g.kind == Gradient::unscaled || (g.kind == Gradient::plain && part.kind != Gradient::plain))) {
    g.kind = Gradient::replaced;
  }
  if (g.changed && g.kind == Gradient::scaled && part.kind == Gradient::plain) {  // it may have been unscaled
    g = {.kind = Gradient::plain,
         .value = g.value * g.unit,
         .torch = g.torch,
         .error = g.error * g.unit,
         .dtype = g.dtype,
         .unscaled_by = g.unscaled_by};
  }
  // The part of the program may be scaled already.
  const auto cannot_rescale = [](const Gradient& a, const Gradient& b) {
    return a.kind == Gradient::unscaled && a.on_replaced && b.kind == Gradient::scaled;
  };
  if (cannot_rescale(g, part) || cannot_rescale(part, g)) g.kind = Gradient::mixed;
  if (part.kind == Gradient::replaced && (g.kind == Gradient::scaled || g.kind == Gradient::unscaled)) {
    part.value /= g.unit;
    part.error /= g.unit;
    g.on_replaced = true;
  }
  const Gradient before = g;
  const auto were = [&](Gradient::Kind a, Gradient::Kind b) {
    return (before.kind == a && part.kind == b) || (before.kind == b && part.kind == a);
  };
  const bool same = were(part.kind, part.kind) && g.scaler == part.scaler && g.writes == part.writes;
  const bool is_sum_of_scales =
      !same && (were(Gradient::scaled, Gradient::scaled) || were(Gradient::scaled, Gradient::unscaled));
  if (part.kind == Gradient::scaled) {
    if (before.kind == Gradient::replaced) {
      g.value /= part.unit;
      g.error /= part.unit;
      g.on_replaced = true;
    }
    g.unit = part.unit;
    g.scaler = part.scaler;
    g.writes = part.writes;
    if (is_sum_of_scales) g.dtype = kFloat;
    if (g.kind != Gradient::mixed) round(g);  // brought to the scale of the part
  }
  if (were(Gradient::scaled, Gradient::scaled) && before.unit != part.unit) g.rules.add(Rule::two_scales);
  if (were(Gradient::scaled, Gradient::unscaled)) g.rules.add(Rule::unscaled_and_scaled);
  if (were(Gradient::unscaled, Gradient::replaced)) g.rules.add(Rule::unscaled_and_replaced);
  if (were(Gradient::scaled, Gradient::replaced)) g.rules.add(Rule::replaced_and_scaled);
  if (were(Gradient::plain, Gradient::unscaled)) g.rules.add(Rule::unscaled_and_plain);
  if (were(Gradient::plain, Gradient::replaced)) g.rules.add(Rule::replaced_and_plain);
  g.rules.add(part.rules);
  if (before.kind == Gradient::mixed || part.kind == Gradient::mixed || were(Gradient::scaled, Gradient::plain)) {
    g.kind = Gradient::mixed;
  } else if (before.kind == Gradient::zero || before.kind == Gradient::replaced || part.kind == Gradient::scaled ||
             were(Gradient::plain, Gradient::unscaled)) {
    g.kind = part.kind == Gradient::plain && before.kind == Gradient::unscaled ? before.kind : part.kind;
  }
  g.on_replaced |= part.on_replaced || (before.kind == Gradient::replaced && part.kind == Gradient::unscaled);
  g.is_vague |= part.is_vague;
  if (is_sum_of_scales) g.dtype = kFloat;
  // The parameter gets a wider tensor, which it shares with no other.
  const bool is_shared = std::count(tensors_.begin(), tensors_.end(), tensors_[param]) > 1;
  unsure_ |= is_shared && g.dtype != before.dtype;
  // In which order several parameters add to it is not stated.
  const double largest = (std::abs(before.value) + std::abs(part.value)) * g.unit;
  unsure_ |= is_shared && std::isfinite(largest) && largest >= overflow_limit(g.dtype);
  // A new tensor, or one that may be scaled again.
  if (g.dtype != before.dtype || g.kind != Gradient::unscaled || g.on_replaced) g.unscaled_by = 0;
  g.is_vague |= g.on_replaced && is_sum_of_scales;
  unsure_ |= g.is_vague && std::abs(before.value) >= overflow_limit(kFloat);  // it is unscaled first
  g.changed = false;
  g.value += part.value;
  g.error += part.error;
  g.torch += part.torch;
  if (g.kind != Gradient::mixed) round(g, part.value);
}

}  // namespace tandem::testing
