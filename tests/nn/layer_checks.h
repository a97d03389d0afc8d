#pragma once
// What the tests of modules compare: results, printed text and initial values.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tandem/base/shape.h"
#include "tandem/tensor/tensor.h"

namespace tandem::testing {

/// What `<<` prints.
template <class T>
std::string text(const T& x) {
  std::ostringstream s;
  s << x;
  return s.str();
}

/// Success if sizes, dtype and values are equal.
inline ::testing::AssertionResult same(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) {
    return ::testing::AssertionFailure() << to_string(a.sizes()) << " and " << to_string(b.sizes());
  }
  const float difference = a.numel() == 0 ? 0 : (a - b).abs().max().item<float>();
  if (difference == 0 && a.dtype() == b.dtype()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "differ by " << difference;
}

/// Checks that all values are within +-bound and nearly reach it.
inline void expect_uniform(const Tensor& x, double bound) {
  EXPECT_LE(x.abs().max().item<float>(), static_cast<float>(bound));
  EXPECT_GT(x.abs().max().item<float>(), 0.8 * bound);
}

}  // namespace tandem::testing
