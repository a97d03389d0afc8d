#include "soak/scaler_oracle.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace tandem::testing {
namespace {

using Gradient = ScalerGradient;
using Rule = ScalerRule;

/// Whether PyTorch's gradient is the true one.
bool is_true_gradient(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  return a == b || std::abs(a - b) <= 1e-4 * (std::abs(a) + std::abs(b));
}

ScalerVerdict refusal(Rule rule, ScalerVerdict::Outcome outcome = ScalerVerdict::state_error) {
  ScalerVerdict verdict{.outcome = outcome};
  verdict.rules.add(rule);
  return verdict;
}

}  // namespace

const std::vector<ScalerRuleText>& scaler_rules() {
  static const std::vector<ScalerRuleText> rules = {
      {Rule::scaled, false, true, "a gradient of the current scale is divided by it"},
      {Rule::earlier_scale, false, true, "a gradient of an earlier scale is divided by that"},
      {Rule::other_scaler, false, true, "a gradient of another scaler is divided by that one's scale"},
      {Rule::two_scales, false, true, "gradients of two scales add up"},
      {Rule::late_backward, false, true, "a backward pass after an update uses the scale of its scale()"},
      {Rule::of_grad, false, true, "a gradient of autograd::grad is divided by the scale of its loss"},
      {Rule::of_seed, false, true, "a gradient that was given to backward() passes its scale on"},
      {Rule::shared, false, true, "a gradient of two parameters is divided once"},
      {Rule::clipped_scaled, false, true, "a scaled gradient that was clipped is divided"},
      {Rule::changed_scaled, false, true, "a scaled gradient that the program changed is divided"},
      {Rule::forgotten_scale, true, false, "a gradient whose scale() was forgotten"},
      {Rule::mixed, true, false, "a sum of such a gradient and a scaled one"},
      {Rule::unscaled, false, true, "a gradient of an earlier step is not divided again"},
      {Rule::unscaled_and_scaled, false, true, "an unscaled gradient and a scaled one add up"},
      {Rule::unscaled_and_plain, false, true, "an unscaled gradient and one without scale() add up"},
      {Rule::unscaled_and_replaced, true, true, "an unscaled gradient and one of the program add up"},
      {Rule::zeroed, false, true, "a gradient of zeros"},
      {Rule::replaced, false, true, "a gradient of the program is divided by the current scale"},
      {Rule::replaced_and_scaled, true, true, "a sum of such a gradient and a scaled one"},
      {Rule::replaced_and_plain, true, true, "a sum of such a gradient and one without scale()"},
      {Rule::after_unscale, false, true, "after unscale_, step does not divide"},
      {Rule::after_unscale_plain, false, true, "after unscale_, a gradient without scale() is not divided"},
      {Rule::after_unscale_replaced, false, true, "after unscale_, a gradient of the program is not divided"},
      {Rule::after_unscale_scaled, false, true, "after unscale_, a scaled gradient is divided"},
      {Rule::overflow, false, true, "inf or NaN skips the step"},
      {Rule::plain_step, false, true, "optimizer.step() of gradients that are not scaled"},
      {Rule::plain_step_of_changed, false, true, "optimizer.step() of a scaled gradient that the program changed"},
      {Rule::plain_step_of_scaled, true, false, "optimizer.step() of a scaled gradient"},
      {Rule::plain_step_of_mixed, true, false, "optimizer.step() of such a sum"},
      {Rule::before_scale, true, false, "a call before the first scale()"},
      {Rule::step_twice, true, false, "step twice"},
      {Rule::unscale_twice, true, false, "unscale_ twice"},
      {Rule::unscale_after_step, true, false, "unscale_ after step"},
      {Rule::update_without_flags, true, false, "update without a step or unscale_"},
      {Rule::load_in_iteration, true, false, "load_state_dict in the middle of an iteration"},
      {Rule::unscale_f16, true, false, "unscale_ of f16 gradients (DTypeError)"},
  };
  return rules;
}

bool ScalerOracle::Scaler::in_iteration() const {
  return tensors.checked || std::any_of(records.begin(), records.end(), [](const Record& r) { return r.checked; });
}

ScalerOracle::ScalerOracle(const ScalerProgram& program) : program_(&program), gradients_(program.params.size()) {
  for (size_t p = 0; p < gradients_.size(); ++p) tensors_.push_back(p);
  for (const ScalerProgram::Scaler& s : program.scalers) {
    scalers_.push_back({.scale = static_cast<float>(s.scale),
                        .growth = s.growth,
                        .backoff = s.backoff,
                        .interval = s.interval,
                        .records = std::vector<Record>(program.optimizers.size())});
  }
}

ScalerVerdict ScalerOracle::make(const ScalerInstruction& call) {
  ScalerOracle after = *this;
  const ScalerVerdict verdict = after.run(call);
  if (verdict.outcome == ScalerVerdict::done) {
    *this = std::move(after);
  } else if (verdict.outcome != ScalerVerdict::not_stated) {
    refused_legal_ |= legal_ && verdict.right_in_torch;
    legal_ = false;
  }
  return verdict;
}

ScalerVerdict ScalerOracle::run(const ScalerInstruction& call) {
  Scaler& scaler = scalers_[call.scaler];
  Gradient& gradient = at(call.param);
  ScalerVerdict verdict;
  switch (call.call) {
    case ScalerCall::scaled_backward:
    case ScalerCall::scale: {
      scaler.used = true;
      const Kept scaled{call.slopes, call.scaler, scaler.scale, scaler.writes};
      if (call.call == ScalerCall::scale) {
        kept_.push_back(scaled);
      } else {
        backward(call.slopes, &scaled);
      }
      break;
    }
    case ScalerCall::backward: {
      if (kept_.empty() || kept_[kept_index(call.kept)].freed) return {.outcome = ScalerVerdict::not_stated};
      Kept& scaled = kept_[kept_index(call.kept)];
      scaled.freed = !call.flag;
      legal_ &= scaled.writes == scalers_[scaled.scaler].writes;  // PyTorch: the saved scale was changed in place
      backward(scaled.slopes, &scaled);
      break;
    }
    case ScalerCall::plain_backward:
      backward(call.slopes, nullptr);
      break;
    case ScalerCall::half_scaled_backward:
      half_scaled_backward(call);
      break;
    case ScalerCall::seeded_backward:
      return seeded_backward(call);
    case ScalerCall::grad:
      return grad(call);
    case ScalerCall::unscale:
      return unscale_or_step(call, false);
    case ScalerCall::unscale_tensor:
      return unscale_tensor(call.param, call.scaler);
    case ScalerCall::step:
      return unscale_or_step(call, true);
    case ScalerCall::plain_step:
      return plain_step(call.optimizer);
    case ScalerCall::clip_norm:
    case ScalerCall::clip_value:
      clip(call, verdict);
      break;
    case ScalerCall::change:
    case ScalerCall::undo_scale:
      if (gradient.kind == Gradient::none || gradient.kind == Gradient::zero || gradient.kind == Gradient::mixed) {
        return {.outcome = verdict.not_stated};
      }
      change(call.param, call.call == ScalerCall::change ? call.number : 1.0 / scaler.scale);
      gradient.changed = true;
      if (call.flag) gradient.unscaled_by = 0;  // other memory
      if (gradient.kind == Gradient::scaled) gradient.rules.add(Rule::changed_scaled);
      break;
    case ScalerCall::move:
      if (call.other == call.param || at(call.other).kind == Gradient::none ||
          program_->params[call.other] != program_->params[call.param] ||
          program_->has_master(call.other) != program_->has_master(call.param)) {
        return {.outcome = verdict.not_stated};
      }
      tensors_[call.param] = tensors_[call.other];
      if (call.flag) {
        at(call.other).rules.add(Rule::shared);
      } else {
        renew(call.other);
      }
      break;
    case ScalerCall::replace:
      renew(call.param) = {.kind = Gradient::replaced,
                           .value = call.number,
                           .torch = call.number,
                           .dtype = program_->grad_dtype(call.param)};
      break;
    case ScalerCall::drop:
      renew(call.param);
      break;
    case ScalerCall::zero_grad:
      for (const size_t p : program_->optimizers[call.optimizer].params) {
        Gradient& g = at(p);
        const bool stays = call.flag && g.kind != Gradient::none && g.dtype == program_->grad_dtype(p);
        if (stays) {
          g = {.kind = Gradient::zero, .dtype = g.dtype};
        } else {
          renew(p);
        }
      }
      break;
    case ScalerCall::update:
      if (!scaler.used) return refusal(Rule::before_scale);
      if (!scaler.in_iteration()) return refusal(Rule::update_without_flags);
      update(scaler);
      break;
    case ScalerCall::set_scale:
      if (!scaler.used) return refusal(Rule::before_scale);
      set_scale(scaler, call.number);
      break;
    case ScalerCall::load_state:
      if (scaler.in_iteration()) return refusal(Rule::load_in_iteration);
      set_scale(scaler, call.flag ? scaler.scale : call.number);
      break;
    case ScalerCall::set_interval:
      scaler.interval = static_cast<int64_t>(call.number);
      break;
    case ScalerCall::set_factors:
      scaler.growth = call.flag ? 4 : 2;
      scaler.backoff = call.flag ? 0.25 : 0.5;
      break;
  }
  return verdict;
}

void ScalerOracle::unscale(size_t param, size_t scaler, bool is_ready, ScalerVerdict& verdict) {
  Gradient& g = at(param);
  const Scaler& s = scalers_[scaler];
  const auto refuse = [&](Rule rule) {
    const bool others_right = verdict.outcome == ScalerVerdict::done || verdict.right_in_torch;
    if (verdict.outcome == ScalerVerdict::done) verdict = {.outcome = ScalerVerdict::state_error};
    verdict.rules.add(rule);
    const double in_torch = is_ready ? g.torch / s.scale : g.torch;
    const bool is_chance = g.kind == Gradient::mixed || g.value == 0 || !std::isfinite(g.value);
    verdict.right_in_torch = others_right && !is_chance && is_true_gradient(g.value, in_torch);
  };
  const auto follow = [&](Rule rule) {
    if (verdict.outcome != ScalerVerdict::done) return;
    verdict.rules.add(rule);
    verdict.rules.add(g.rules);
  };
  const bool is_divided = !is_ready || (g.unscaled_by >> scaler & 1) != 0;
  switch (g.kind) {
    case Gradient::none:
      return;
    case Gradient::mixed:
      return refuse(Rule::mixed);
    case Gradient::scaled:
      if (g.is_vague) {
        verdict.outcome = ScalerVerdict::not_stated;
        return;
      }
      if (g.on_replaced && (!is_ready || g.unit != static_cast<double>(s.scale))) {
        return refuse(Rule::replaced_and_scaled);
      }
      if (is_divided) {
        follow(Rule::after_unscale_scaled);
      } else if (g.scaler != scaler) {
        follow(Rule::other_scaler);
      } else {
        follow(g.unit == static_cast<double>(s.scale) ? Rule::scaled : Rule::earlier_scale);
      }
      break;
    case Gradient::zero:
      follow(Rule::zeroed);
      break;
    case Gradient::plain:
    case Gradient::unscaled:
    case Gradient::replaced: {
      const bool is_own = g.kind == Gradient::replaced || g.changed;
      if (is_divided) {
        follow(g.kind == Gradient::plain      ? Rule::after_unscale_plain
               : g.kind == Gradient::unscaled ? Rule::after_unscale
                                              : Rule::after_unscale_replaced);
      } else if (is_own) {
        g.value /= s.scale;
        g.error /= s.scale;
        follow(Rule::replaced);
      } else if (g.kind == Gradient::unscaled && g.on_replaced) {
        return refuse(Rule::unscaled_and_replaced);
      } else if (g.kind == Gradient::unscaled) {
        follow(Rule::unscaled);
      } else {
        return refuse(g.rules.has(Rule::replaced_and_plain) ? Rule::replaced_and_plain : Rule::forgotten_scale);
      }
    }
  }
  if (is_ready) g.torch /= s.scale;
  verdict.right_in_torch &= is_true_gradient(g.value, g.torch);
  g = {.kind = Gradient::unscaled,
       .value = g.value,
       .torch = g.torch,
       .error = g.error,
       .dtype = g.dtype,
       .unscaled_by = g.unscaled_by | uint64_t{1} << scaler};
  round(g);
}

ScalerVerdict ScalerOracle::unscale_or_step(const ScalerInstruction& call, bool steps) {
  Scaler& scaler = scalers_[call.scaler];
  Record& record = scaler.records[call.optimizer];
  const ScalerProgram::Optimizer& optimizer = program_->optimizers[call.optimizer];
  if (!scaler.used) return refusal(Rule::before_scale);
  if (record.stage == Stage::stepped) return refusal(steps ? Rule::step_twice : Rule::unscale_after_step);
  if (!steps && record.stage == Stage::unscaled) return refusal(Rule::unscale_twice);
  const bool is_ready = record.stage == Stage::ready;
  ScalerVerdict verdict;
  bool overflow = false, late_overflow = false, any = false, has_f16 = false;
  std::set<std::pair<size_t, uint64_t>> scales;
  std::set<const Gradient*> seen;
  for (const size_t p : optimizer.params) {
    Gradient& g = at(p);
    if (!seen.insert(&g).second) {
      if (is_ready) g.torch /= scaler.scale;  // PyTorch divides it again
      verdict.right_in_torch &= !is_ready;
      continue;
    }
    const bool is_scaled = g.kind == Gradient::scaled;
    if (is_scaled) scales.emplace(g.scaler, g.writes);
    if (g.kind == Gradient::zero || g.kind == Gradient::replaced) scales.emplace(call.scaler, scaler.writes);
    if (g.kind == Gradient::unscaled) scales.insert({{0, ~0U}, {1, ~0U}});
    const bool is_divided = (g.unscaled_by >> call.scaler & 1) != 0 && !is_scaled;
    const bool stays = g.kind == Gradient::none || is_divided || (g.kind == Gradient::unscaled && !g.changed);
    has_f16 |= !stays && g.dtype == kHalf;
    unscale(p, call.scaler, is_ready, verdict);
    if (g.kind == Gradient::none) continue;
    any = true;
    overflow |= !std::isfinite(g.value);
    late_overflow |= is_scaled && !std::isfinite(g.value);
  }
  if (verdict.outcome == ScalerVerdict::not_stated) return verdict;
  if (has_f16) {
    const bool is_refused = !steps || optimizer.kind != ScalerProgram::Kind::fused;
    // Which of two errors is thrown is not stated, nor whether a fused step divides by two scales.
    if (!is_ready || (is_refused ? verdict.outcome != ScalerVerdict::done : scales.size() > 1)) {
      return {.outcome = ScalerVerdict::not_stated};
    }
    if (is_refused) return refusal(Rule::unscale_f16, ScalerVerdict::dtype_error);
  }
  if (verdict.outcome != ScalerVerdict::done) return verdict;
  legal_ &= any;  // PyTorch: no inf checks were recorded
  record.checked = true;
  record.overflow |= is_ready ? overflow : late_overflow;
  if (overflow && !record.overflow) return {.outcome = ScalerVerdict::not_stated};  // replaced after the check
  record.stage = steps ? Stage::stepped : Stage::unscaled;
  verdict.skipped = steps && record.overflow;
  if (verdict.skipped) verdict.rules.add(Rule::overflow);
  for (const size_t p : optimizer.params) {
    const Gradient& g = at(p);
    if (g.kind == Gradient::none) continue;
    legal_ &= is_true_gradient(g.value, g.torch);
    if (steps && !verdict.skipped) verdict.steps[p] = {-optimizer.lr * g.value, optimizer.lr * g.error};
  }
  return verdict;
}

ScalerVerdict ScalerOracle::unscale_tensor(size_t param, size_t scaler) {
  Scaler& s = scalers_[scaler];
  Gradient& g = at(param);
  if (g.kind == Gradient::none) return {.outcome = ScalerVerdict::not_stated};
  if (!s.used) return refusal(Rule::before_scale);
  const uint64_t unscaled_by = std::exchange(g.unscaled_by, 0);
  ScalerVerdict verdict;
  unscale(param, scaler, /*is_ready=*/true, verdict);
  g.unscaled_by |= unscaled_by;
  s.tensors.checked = true;
  s.tensors.overflow |= !std::isfinite(g.value);
  legal_ = false;  // PyTorch has no such call
  return verdict;
}

ScalerVerdict ScalerOracle::plain_step(size_t o) {
  const ScalerProgram::Optimizer& optimizer = program_->optimizers[o];
  ScalerVerdict verdict;
  for (const size_t p : optimizer.params) {
    Gradient& g = at(p);
    if (g.kind == Gradient::none) continue;
    const bool is_refused = g.kind == Gradient::mixed || (g.kind == Gradient::scaled && !g.changed);
    if (is_refused && optimizer.kind == ScalerProgram::Kind::own) return {.outcome = ScalerVerdict::not_stated};
    if (is_refused) {
      if (verdict.outcome == ScalerVerdict::done) verdict = {.outcome = ScalerVerdict::state_error};
      verdict.rules.add(g.kind == Gradient::mixed ? Rule::plain_step_of_mixed : Rule::plain_step_of_scaled);
    }
    if (is_refused || verdict.outcome != ScalerVerdict::done) continue;
    const double stored = g.value * g.unit;
    if (!std::isfinite(stored)) return {.outcome = ScalerVerdict::not_stated};  // would end the comparison
    verdict.rules.add(g.kind == Gradient::scaled ? Rule::plain_step_of_changed : Rule::plain_step);
    verdict.steps[p] = {-optimizer.lr * stored, optimizer.lr * g.error * g.unit};
    legal_ &= is_true_gradient(stored, g.torch);
  }
  return verdict;
}

void ScalerOracle::clip(const ScalerInstruction& call, ScalerVerdict& verdict) {
  double squares = 0, torch_squares = 0, errors = 0;
  for (const size_t p : program_->optimizers[call.optimizer].params) {
    const Gradient& g = gradient(p);
    if (g.kind == Gradient::none) continue;
    if (g.kind == Gradient::mixed) verdict.outcome = ScalerVerdict::not_stated;  // its values are not known
    squares += std::pow(g.value * g.unit, 2);
    errors += std::abs(g.value * g.unit) * g.error * g.unit;
    torch_squares += std::pow(g.torch, 2);
  }
  const auto factor = [&](double squares_of_all) {
    return std::min(1.0, call.number / (std::sqrt(squares_of_all) + 1e-6));
  };
  for (const size_t p : program_->optimizers[call.optimizer].params) {
    Gradient& g = at(p);
    if (g.kind == Gradient::none) continue;
    if (g.kind == Gradient::scaled) g.rules.add(Rule::clipped_scaled);
    if (call.call == ScalerCall::clip_norm) {
      if (std::isnan(squares)) g.value = std::nan("");
      g.torch *= factor(torch_squares);
      g.value *= factor(squares);
      if (squares > 0) g.error += std::abs(g.value) * errors / squares;
      if (!std::isfinite(squares)) g.error = 0;  // all gradients are now 0 or NaN
    } else {
      const double bound = call.number / g.unit;
      g.value = std::clamp(g.value, -bound, bound);
      g.torch = std::clamp(g.torch, -call.number, call.number);
    }
    round(g);
  }
}

void ScalerOracle::change(size_t param, double factor) {
  Gradient& g = at(param);
  g.value *= factor;
  g.error *= std::abs(factor);
  g.torch *= factor;
  if (g.kind != Gradient::mixed) round(g);
}

void ScalerOracle::set_scale(Scaler& scaler, double value) {
  scaler.scale = static_cast<float>(value);
  ++scaler.writes;
  unsure_ |= scaler.scale == 1;  // a scaled gradient cannot be told from others
  scaler.records.assign(scaler.records.size(), {});
  scaler.tensors = {};
  for (Gradient& g : gradients_) g.unscaled_by &= ~(uint64_t{1} << (&scaler - scalers_.data()));
}

void ScalerOracle::update(Scaler& scaler) {
  const bool overflow = scaler.tensors.overflow || std::any_of(scaler.records.begin(), scaler.records.end(),
                                                               [](const Record& r) { return r.overflow; });
  float scale = scaler.scale;
  if (overflow) {
    const auto lower = static_cast<float>(scale * scaler.backoff);
    if (std::isnormal(lower)) scale = lower;
    scaler.tracker = 0;
  } else if (++scaler.tracker >= scaler.interval) {
    const auto higher = static_cast<float>(scale * scaler.growth);
    if (std::isfinite(higher)) scale = higher;
    scaler.tracker = 0;
  }
  set_scale(scaler, scale);
}

}  // namespace tandem::testing
