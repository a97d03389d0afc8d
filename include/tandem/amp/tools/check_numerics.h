#pragma once
// check_numerics: counts the kinds of values in a tensor, and those that f16 cannot represent.
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Counts and statistics of the values of a floating tensor.
struct Numerics {
  Dims sizes;
  DType dtype = kFloat;
  int64_t count = 0;  ///< number of elements
  int64_t nan = 0;
  int64_t positive_inf = 0;
  int64_t negative_inf = 0;
  int64_t zeros = 0;       ///< of either sign
  int64_t subnormals = 0;  ///< in the tensor's own dtype

  // Effects of a cast to f16, rounding to nearest even, on the finite elements.
  int64_t f16_overflows = 0;   ///< |x| >= 65520 becomes inf
  int64_t f16_underflows = 0;  ///< 0 < |x| <= 2^-25 becomes 0
  int64_t f16_subnormals = 0;  ///< 2^-25 < |x| < 2^-14 - 2^-25 loses bits; includes subnormals of an f16 tensor

  // Effects of a cast to float8 with one scale for the tensor, which maps amax to the largest value.
  int64_t e4m3_underflows = 0;  ///< 0 < |x| <= amax 2^-10 / 448 becomes 0
  int64_t e5m2_underflows = 0;  ///< 0 < |x| <= amax 2^-17 / 57344 becomes 0

  // Of the finite elements; NaN if there are none. The sum is accumulated in f64.
  double min, max, mean;
  double amax;  ///< max |x|

  /// Histogram: maps floor(log2 |x|) to the number of finite nonzero elements that have it.
  std::map<int, int64_t> exponents;

  int64_t nonfinite() const { return nan + positive_inf + negative_inf; }
  /// Returns one line: sizes, dtype, counts, range.
  std::string summary() const;
  /// Returns several lines: the numbers, and the histogram with one bar per exponent, or per group of exponents if
  /// there are many.
  std::string table() const;
};

/// Examines every element of `x` (f16, bf16, f32, f64 or float8; any strides). Copies values on a CUDA device to the
/// host, so it waits for the device. Throws StateError for an undefined tensor, DTypeError for one that is not
/// floating. Source of the idea: Paddle's amp.debugging.check_numerics.
Numerics check_numerics(const Tensor& x);

/// Writes table().
std::ostream& operator<<(std::ostream& stream, const Numerics& numerics);

}  // namespace tandem::amp
#pragma GCC visibility pop
