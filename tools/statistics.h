#pragma once
// The values of a tensor, and what becomes of them in f16.
#include <tandem/tensor/tensor.h>

#include <cstdint>
#include <string>

namespace tools {

struct Statistics {
  bool floating = false;
  bool number = false;  ///< see is_number()
  tandem::DType dtype = tandem::kFloat;
  int64_t count = 0, zeros = 0, nan = 0, inf = 0;
  double min, max, mean;    ///< of the finite values; NaN if there are none
  double largest;           ///< max |x| of the finite values; NaN if there are none
  double smallest_nonzero;  ///< min |x| of the finite nonzero values; NaN if there are none

  // Of a floating tensor: finite values that a cast to f16 changes beyond rounding (amp::Numerics).
  int64_t f16_overflows = 0;   ///< become inf
  int64_t f16_underflows = 0;  ///< become 0
  int64_t f16_subnormals = 0;  ///< lose bits

  int64_t nonzero() const { return count - zeros - nan - inf; }  ///< finite
  /// Whether f16 holds the tensor: no value becomes inf, and at most 1 % of the nonzero values become 0.
  bool fits_f16() const;
  /// Returns the reason in plain words: "fits", "3 values become inf", "12 % of the values become 0".
  std::string verdict() const;
};

/// Whether a tensor of a state is a number, such as a learning rate: f64 of rank 0.
bool is_number(const tandem::Tensor& x);

/// Examines every element of a tensor on the CPU.
Statistics statistics(const tandem::Tensor& x);

}  // namespace tools
