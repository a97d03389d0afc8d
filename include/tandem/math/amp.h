#pragma once
// Formulas of loss scaling: the non-finite test, and the dynamic scale's update.
#include <cstdint>

#include "tandem/base/macros.h"

namespace tandem::math {

/// |x|'s bits from here on are inf or NaN once x is rounded to the storage type. Values are compared as integers:
/// NaN lies above inf, and no comparison of floats is needed, which an optimiser could assume away.
inline constexpr uint32_t kNonFiniteF32 = 0x7f800000u;
inline constexpr uint32_t kNonFiniteBF16 = 0x7f7f8000u;  // rounds up to 2^128
inline constexpr uint32_t kNonFiniteF16 = 0x477ff000u;   // 65520 rounds up to 2^16
inline constexpr uint64_t kNonFiniteF64 = 0x7ff0000000000000u;

/// Has its top bit set when x becomes inf or NaN in the storage type that `limit` describes; OR these over a list.
/// A check of g * inverse_scale also finds an inf or NaN in g itself: the product is then inf or NaN for every factor.
TANDEM_MATH uint32_t non_finite_bit(float x, uint32_t limit) {
  return (__builtin_bit_cast(uint32_t, x) & 0x7fffffffu) + (0x80000000u - limit);
}
TANDEM_MATH uint64_t non_finite_bit(double x, uint64_t limit) {
  return (__builtin_bit_cast(uint64_t, x) & 0x7fffffffffffffffu) + (0x8000000000000000u - limit);
}

/// (float)(1 / (double)scale), as in PyTorch.
TANDEM_MATH float invert_scale(float scale) { return static_cast<float>(1.0 / static_cast<double>(scale)); }

/// What a dynamic loss scale carries from step to step.
struct ScaleState {
  float scale = 65536;
  int32_t growth_tracker = 0;      ///< clean steps since the last growth or overflow
  int32_t hysteresis_tracker = 0;  ///< overflows counted so far, from 0; since when depends on the rule, see ScaleRule
  int32_t skips = 0;               ///< overflows in a row
};

/// How the scale changes. An overflow adds 1 to the hysteresis tracker and backs off once that is `hysteresis` or more.
/// The three rules differ in what sets the tracker back to 0:
///   Megatron (Apex's kernel): every clean step;
///   Colossal-AI: growth only, that is `growth_interval` clean steps in a row;
///   Paddle: every clean step, and every backoff.
/// Apex counts down from `hysteresis` instead; a tracker of h there is hysteresis - h here.
struct ScaleRule {
  double growth_factor, backoff_factor;
  double min_scale, max_scale;  ///< 0: no limit
  int64_t growth_interval, hysteresis;
  bool dynamic, reset_on_clean_step, reset_on_backoff;
};

/// The rule of a ScaleUpdateCall (backend.h, which this row does not see).
template <class Call>
ScaleRule scale_rule(const Call& call) {
  using Rule = decltype(call.rule);
  return {call.growth_factor, call.backoff_factor,         call.min_scale,
          call.max_scale,     call.growth_interval,        call.hysteresis,
          call.dynamic,       call.rule != Rule::colossal, call.rule == Rule::paddle};
}

/// The state after one update. Source: PyTorch's _amp_update_scale_, with these differences:
/// - growth when the tracker has reached the interval or passed it (there: only when equal, so a lowered interval stops
///   growth for good);
/// - growth to inf and backoff below the smallest normal f32 are refused: the scale and its inverse stay finite;
/// - `min_scale` and `max_scale` stop backoff and growth; a scale set outside them moves only towards them;
/// - a scale that is 0, negative, subnormal, inf or NaN becomes PyTorch's initial 65536 (within the limits), trackers
/// 0;
/// - not `dynamic`: beyond that repair only `skips` is counted.
TANDEM_MATH ScaleState update_scale(ScaleState s, const ScaleRule& rule, bool overflow) {
  constexpr double smallest = 0x1p-126, largest = 0x1.fffffep127;
  constexpr int32_t most = 0x7fffffff;
  s.skips = overflow ? s.skips + (s.skips < most ? 1 : 0) : 0;
  const double low = rule.min_scale > 0 ? rule.min_scale : 0;
  const double high = rule.max_scale > 0 ? rule.max_scale : __builtin_huge_val();
  if (!(s.scale >= smallest && s.scale <= largest)) {
    const double initial = 65536.0 < low ? low : 65536.0;
    s.scale = static_cast<float>(initial > high ? high : initial);
    s.growth_tracker = 0;
    s.hysteresis_tracker = 0;
    return s;
  }
  if (!rule.dynamic) return s;

  const double scale = s.scale;
  if (overflow) {
    s.growth_tracker = 0;
    s.hysteresis_tracker += s.hysteresis_tracker < most ? 1 : 0;
    if (s.hysteresis_tracker < rule.hysteresis) return s;
    const double floor = scale < low ? scale : low;  // a backoff never raises the scale
    const double wanted = scale * rule.backoff_factor;
    const float next = static_cast<float>(wanted < floor ? floor : wanted);
    s.scale = next >= smallest ? next : s.scale;
    s.hysteresis_tracker = rule.reset_on_backoff ? 0 : s.hysteresis_tracker;
    return s;
  }
  s.hysteresis_tracker = rule.reset_on_clean_step ? 0 : s.hysteresis_tracker;
  s.growth_tracker += s.growth_tracker < most ? 1 : 0;
  if (s.growth_tracker < rule.growth_interval) return s;
  const double ceiling = scale > high ? scale : high;  // growth never lowers the scale
  const double wanted = scale * rule.growth_factor;
  const float next = static_cast<float>(wanted > ceiling ? ceiling : wanted);
  s.scale = next <= largest ? next : s.scale;
  s.growth_tracker = 0;
  s.hysteresis_tracker = 0;
  return s;
}

}  // namespace tandem::math
