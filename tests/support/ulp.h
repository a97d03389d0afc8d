#pragma once
// Errors of f32 functions against f64 values, in units in the last place.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace tandem::testing {

/// |got - want| in units of the distance between neighbouring floats at `want`; 0 for equal infinities and two NaNs.
inline double ulp_error(float got, double want) {
  constexpr double wrong = 1e30;
  if (std::isnan(want)) return std::isnan(got) ? 0 : wrong;
  const float rounded = static_cast<float>(want);
  if (got == rounded)
    return std::isinf(want) || std::isinf(got) || want == 0
               ? 0
               : std::abs(got - want) / std::ldexp(1.0, std::max(std::ilogb(want) - 23, -149));
  if (std::isnan(got) || std::isinf(want)) return wrong;
  // Next to the largest float, inf counts as one step away.
  const double g = std::isinf(got) ? std::copysign(0x1p128, static_cast<double>(got)) : static_cast<double>(got);
  const int exponent = want == 0 ? -149 : std::clamp(std::ilogb(want) - 23, -149, 104);
  return std::abs(g - want) / std::ldexp(1.0, exponent);
}

/// Returns every `step`-th float by bit pattern, and the floats at which formulas change or fail.
inline std::vector<float> sample_floats(uint32_t step) {
  std::vector<float> values;
  const auto add = [&](uint32_t bits) {
    float v;
    std::memcpy(&v, &bits, sizeof v);
    values.push_back(v);
  };
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += step) add(static_cast<uint32_t>(bits));
  const float inf = std::numeric_limits<float>::infinity();
  for (float v : {0.0f, 1.0f, 2.0f, 0.5f, 0.625f, 0.92578125f, 4.0f, 88.72284f, 88.722839f, 89.0f, 103.97f, 104.0f,
                  0x1p-126f, 0x1p-149f, 0x1p-25f, 0x1.fffffep127f, inf}) {
    for (float s : {v, -v}) {
      values.push_back(s);
      values.push_back(std::nextafter(s, inf));
      values.push_back(std::nextafter(s, -inf));
    }
  }
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  return values;
}

}  // namespace tandem::testing
