#pragma once
// Comparison of tensors in tests, with messages that name the first and the worst element.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "support/tolerance.h"
#include "tandem/backend.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

/// Returns the elements in row-major order as doubles, for any dtype and strides.
inline std::vector<double> values_of(const Tensor& x) {
  Tensor dense = empty(x.sizes(), TensorOptions(kDouble).device(kCPU));
  backend(x).copy(dense, x);
  const double* p = dense.const_data_ptr<double>();
  return {p, p + dense.numel()};
}

/// Returns the largest magnitude among the finite values, but at least 1: the `scale` argument of `tolerance`.
inline double scale_of(const std::vector<double>& values) {
  double scale = 1;
  for (double v : values) {
    if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
  }
  return scale;
}

/// Returns the largest finite number of a dtype.
inline double largest(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return 65504;
    case DType::BF16:
      return 0x1.fep127;
    case DType::F32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

/// Compares `actual` with expected values in row-major order. NaN equals NaN; a value outside the range of the dtype
/// equals inf.
inline ::testing::AssertionResult near(const Tensor& actual, const std::vector<double>& expected, Tolerance t) {
  if (!actual.defined()) return ::testing::AssertionFailure() << "the tensor is undefined";
  const std::vector<double> got = values_of(actual);
  if (got.size() != expected.size()) {
    return ::testing::AssertionFailure() << got.size() << " elements " << to_string(actual.sizes()) << ", expected "
                                         << expected.size();
  }
  size_t wrong = 0, worst = 0;
  double worst_excess = -1;
  const double limit = largest(actual.dtype());
  for (size_t i = 0; i < got.size(); ++i) {
    const double allowed = t.atol + t.rtol * std::abs(expected[i]);
    bool good = got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])) ||
                std::abs(got[i] - expected[i]) <= allowed;
    // At the edge of the range, both the neighbouring finite number and inf are right.
    if (!good && std::abs(expected[i]) + allowed > limit && std::signbit(got[i]) == std::signbit(expected[i])) {
      good = std::isinf(got[i]);
    }
    if (good) continue;
    ++wrong;
    const double excess = std::isfinite(got[i] - expected[i]) ? std::abs(got[i] - expected[i]) / (allowed + 1e-300)
                                                              : std::numeric_limits<double>::infinity();
    if (excess > worst_excess) {
      worst_excess = excess;
      worst = i;
    }
  }
  if (wrong == 0) return ::testing::AssertionSuccess();
  std::ostringstream text;
  text.precision(9);
  text << wrong << " of " << got.size() << " elements of " << to_string(actual.sizes()) << " " << name(actual.dtype())
       << " differ; worst at " << worst << ": " << got[worst] << ", expected " << expected[worst] << " (off by "
       << got[worst] - expected[worst] << ", allowed " << t.atol + t.rtol * std::abs(expected[worst]) << ")";
  return ::testing::AssertionFailure() << text.str();
}

inline ::testing::AssertionResult near(const Tensor& actual, const Tensor& expected, Tolerance t) {
  if (!actual.defined() || !expected.defined()) {
    return ::testing::AssertionFailure() << (actual.defined() ? "the expected tensor" : "the tensor")
                                         << " is undefined";
  }
  if (actual.sizes() != expected.sizes()) {
    return ::testing::AssertionFailure() << "sizes are " << to_string(actual.sizes()) << ", expected "
                                         << to_string(expected.sizes());
  }
  return near(actual, values_of(expected), t);
}

/// Checks for the same dtype, sizes and bits; all NaNs are equal.
inline ::testing::AssertionResult same_bits(const Tensor& actual, const Tensor& expected) {
  if (actual.dtype() != expected.dtype()) {
    return ::testing::AssertionFailure() << "dtype is " << name(actual.dtype()) << ", expected "
                                         << name(expected.dtype());
  }
  auto result = near(actual, expected, kExact);
  if (!result) return result;
  const std::vector<double> a = values_of(actual), b = values_of(expected);
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isnan(a[i]) && std::signbit(a[i]) != std::signbit(b[i])) {
      return ::testing::AssertionFailure() << "element " << i << " is " << a[i] << ", expected " << b[i];
    }
  }
  return result;
}

}  // namespace tandem::testing
