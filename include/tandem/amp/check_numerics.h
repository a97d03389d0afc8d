#pragma once
// check_numerics: what values a tensor holds, and which of them f16 could not.
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>

#include "tandem/tensor/tensor.h"

namespace tandem::amp {

/// The values of a floating tensor, counted.
struct Numerics {
  Dims sizes;
  DType dtype = kFloat;
  int64_t count = 0;  ///< elements
  int64_t nan = 0;
  int64_t positive_inf = 0;
  int64_t negative_inf = 0;
  int64_t zeros = 0;       ///< of either sign
  int64_t subnormals = 0;  ///< in the tensor's own dtype

  // What a cast to f16, rounding to nearest even, would do to the finite elements.
  int64_t f16_overflows = 0;   ///< |x| >= 65520 becomes inf
  int64_t f16_underflows = 0;  ///< 0 < |x| <= 2^-25 becomes 0
  int64_t f16_subnormals = 0;  ///< 2^-25 < |x| < 2^-14 - 2^-25 keeps fewer bits; subnormals of an f16 tensor included

  // Of the finite elements; NaN where there is none. The sum is held in f64.
  double min, max, mean;
  double amax;  ///< max |x|

  /// How many finite elements other than 0 have floor(log2 |x|) = the key.
  std::map<int, int64_t> exponents;

  int64_t nonfinite() const { return nan + positive_inf + negative_inf; }
  /// One line: sizes, dtype, counts, range.
  std::string summary() const;
  /// Lines: the numbers, and the histogram with a bar for each exponent (several in one bar where they are many).
  std::string table() const;
};

/// Looks at every element of `x` (f16, bf16, f32 or f64; any strides). Values on a CUDA device are copied to the host,
/// so it waits for the device. Throws StateError for an undefined tensor, DTypeError for one that is not floating.
/// Source of the idea: Paddle's amp.debugging.check_numerics.
Numerics check_numerics(const Tensor& x);

/// Writes table().
std::ostream& operator<<(std::ostream& stream, const Numerics& numerics);

}  // namespace tandem::amp
