#pragma once
// Formulas of loss scaling: the test for non-finite values, and the update of the dynamic scale.
#include <cstdint>

#include "tandem/base/macros.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// x becomes inf or NaN when rounded to the storage type if the bits of |x| are at or above this limit. The comparison
/// is one of integers, in which NaN is above inf; an optimiser could remove a comparison of floats.
inline constexpr uint32_t kNonFiniteF32 = 0x7f800000u;
/// The same limit for the other dtypes, as bits of |x|.
inline constexpr uint32_t kNonFiniteBF16 = 0x7f7f8000u;  // rounds up to 2^128
inline constexpr uint32_t kNonFiniteF16 = 0x477ff000u;   // 65520 rounds up to 2^16
inline constexpr uint64_t kNonFiniteF64 = 0x7ff0000000000000u;

/// Returns a value whose top bit is set if x becomes inf or NaN in the storage type that `limit` describes. OR the
/// values of a list. A check of g * inverse_scale also finds an inf or NaN in g itself: the product is then inf or NaN
/// for every factor.
TANDEM_MATH uint32_t non_finite_bit(float x, uint32_t limit) {
  return (__builtin_bit_cast(uint32_t, x) & 0x7fffffffu) + (0x80000000u - limit);
}
TANDEM_MATH uint64_t non_finite_bit(double x, uint64_t limit) {
  return (__builtin_bit_cast(uint64_t, x) & 0x7fffffffffffffffu) + (0x8000000000000000u - limit);
}

/// (float)(1 / (double)scale), as in PyTorch.
TANDEM_MATH float invert_scale(float scale) { return static_cast<float>(1.0 / static_cast<double>(scale)); }

/// State of a dynamic loss scale.
struct ScaleState {
  float scale = 65536;
  int32_t growth_tracker = 0;      ///< clean steps since the last growth or overflow
  int32_t hysteresis_tracker = 0;  ///< overflows since the last reset; ScaleRule says what resets it
  int32_t skips = 0;               ///< consecutive overflows
};

/// Rule of the scale's changes. An overflow adds 1 to the hysteresis tracker, and the scale backs off if the tracker is
/// then at least `hysteresis`. The three rules differ in what resets the tracker to 0:
///   Megatron (Apex's kernel): each clean step;
///   Colossal-AI: growth only, which takes `growth_interval` consecutive clean steps;
///   Paddle: each clean step and each backoff.
/// Apex counts down from `hysteresis` instead: a tracker of h there is hysteresis - h here.
struct ScaleRule {
  double growth_factor, backoff_factor;
  double min_scale, max_scale;  ///< 0: no limit
  int64_t growth_interval, hysteresis;
  bool dynamic, reset_on_clean_step, reset_on_backoff;
};

/// Returns the rule of a ScaleUpdateCall (declared in backend.h, which this layer does not include).
template <class Call>
ScaleRule scale_rule(const Call& call) {
  using Rule = decltype(call.rule);
  return {call.growth_factor, call.backoff_factor,         call.min_scale,
          call.max_scale,     call.growth_interval,        call.hysteresis,
          call.dynamic,       call.rule != Rule::colossal, call.rule == Rule::paddle};
}

/// Returns the state after one update. Source: PyTorch's _amp_update_scale_, with these differences:
/// - The scale grows when the growth tracker is at or above the interval. (PyTorch: only if they are equal, so that
///   lowering the interval can stop growth for good.)
/// - The scale never grows to inf and never backs off below the smallest normal f32, so it and its inverse stay finite.
/// - `min_scale` and `max_scale` limit backoff and growth. A scale set outside these limits moves only towards them.
/// - A scale that is 0, negative, subnormal, inf or NaN becomes PyTorch's initial 65536 (within the limits), and the
///   trackers become 0.
/// - If not `dynamic`, only that repair is made and `skips` is counted.
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
#pragma GCC visibility pop
