#pragma once
// Divisor: division by a number that is fixed when a kernel is launched, without a division in the kernel.
#include <cstdint>

#include "tandem/base/macros.h"

namespace tandem::cuda {

/// The largest dividend and divisor of a Divisor.
inline constexpr int64_t kDivisorLimit = 0x7fffffff;

/// Divides by a fixed d:
///   floor(n / d) = (floor(n m / 2^32) + n) / 2^s  with  s = ceil(log2 d),  m = floor(2^32 (2^s - d) / d) + 1
/// for 0 <= n < 2^31 and 1 <= d < 2^31: a high product, an addition and a shift in place of some 20 instructions.
/// Source: Granlund and Montgomery, "Division by invariant integers using multiplication" (1994), figure 4.1.
struct Divisor {
  uint32_t multiplier = 1, shift = 0;  ///< divides by 1

  Divisor() = default;
  /// Divides by 1 if d is out of range.
  TANDEM_HOST_DEVICE explicit Divisor(int64_t d) {
    if (d < 1 || d > kDivisorLimit) return;
    while ((int64_t{1} << shift) < d) ++shift;
    const uint64_t divisor = static_cast<uint64_t>(d), power = uint64_t{1} << shift;
    multiplier = static_cast<uint32_t>(((power - divisor) << 32) / divisor + 1);
  }
  TANDEM_HOST_DEVICE uint32_t quotient(uint32_t n) const {
    return (static_cast<uint32_t>(uint64_t{n} * multiplier >> 32) + n) >> shift;
  }
};

}  // namespace tandem::cuda
