#pragma once
// The upper limit of uniform random numbers, which must be below an open bound in every dtype.
#include <cmath>
#include <limits>

#include "tandem/base/dtype.h"

namespace tandem::kernels {

/// The largest number of the dtype below `limit`.
inline double largest_below(DType dtype, double limit) {
  if (dtype == DType::F64) return std::nextafter(limit, -std::numeric_limits<double>::infinity());
  if (dtype == DType::F32) {
    const float v = static_cast<float>(limit);
    return v < limit ? v : std::nextafter(v, -std::numeric_limits<float>::infinity());
  }
  const auto below = [&](auto v) {
    if (static_cast<float>(v) < limit) return static_cast<double>(static_cast<float>(v));
    // The next bit pattern towards -inf; below either zero it is the smallest negative number.
    v.bits = (v.bits & 0x7fff) == 0 ? 0x8001 : static_cast<uint16_t>((v.bits & 0x8000) != 0 ? v.bits + 1 : v.bits - 1);
    return static_cast<double>(static_cast<float>(v));
  };
  return dtype == DType::F16 ? below(Half(static_cast<float>(limit))) : below(BFloat16(static_cast<float>(limit)));
}

}  // namespace tandem::kernels
