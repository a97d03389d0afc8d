#pragma once
// The tolerances of all numeric tests, by dtype and length of the sum. If you loosen one, give the reason here.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tandem/base/dtype.h"

namespace tandem::testing {

/// |actual - expected| <= atol + rtol |expected|.
struct Tolerance {
  double rtol = 0, atol = 0;
};

/// For exact results: moved values, comparisons, integers.
inline constexpr Tolerance kExact{};

/// Half the distance from 1 to the next larger number; 0 for dtypes that do not round.
constexpr double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return 0x1p-11;
    case DType::BF16:
      return 0x1p-8;
    case DType::F32:
      return 0x1p-24;
    case DType::F64:
      return 0x1p-53;
    default:
      return 0;
  }
}

/// The tolerance of a result in `dtype` against its f64 value, for operands of size 1, or of size `scale` if the
/// largest result is larger.
///
/// sum_length: number of products or terms in a sum, which is held in f32 (f64 for f64) and rounds once per term.
/// roundings: how often a value is rounded to a low `dtype`. One rounding is that of the result, relative to itself;
/// the others are of intermediates, relative to the largest value.
/// Formulas of a few f32 steps and transcendental functions (2 ulp) fit in 8 roundings of f32.
inline Tolerance tolerance(DType dtype, int64_t sum_length = 1, int roundings = 1, double scale = 1) {
  if (!is_floating_point(dtype)) return kExact;
  const double compute = unit_roundoff(dtype == DType::F64 ? DType::F64 : DType::F32);
  Tolerance t;
  t.rtol = 8 * compute;
  t.atol = compute * (8 + static_cast<double>(sum_length)) * scale;
  if (is_reduced_floating_point(dtype)) {
    // 1.01: the result was rounded from an f32 value close to the f64 value.
    t.rtol += 1.01 * unit_roundoff(dtype);
    t.atol += (roundings - 1) * unit_roundoff(dtype) * scale;
    if (dtype == DType::F16) t.atol += 0x1p-25;  // half of f16's smallest number
  }
  return t;
}

}  // namespace tandem::testing
