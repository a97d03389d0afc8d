#pragma once
// Sum: adds many f32 terms in twice the precision of f32 without arithmetic in f64, which many GPUs execute at 1/32 or
// 1/64 of the rate of f32.
#include <cmath>

#include "tandem/math/arithmetic.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// A running sum of terms of type C. Sum<C>{} is 0, and a sum can be shuffled or stored like any plain struct.
template <class C>
struct Sum;

/// hi + lo: lo collects the rounding error of each addition to hi, which is exact.
///
/// The result differs from the exact sum S of n terms x by at most u |S| + (n u)^2 sum |x|, with u = 2^-24; for partial
/// sums that are merged, n is the longest chain of additions. The bound does not depend on the order. Infinities and
/// NaN give what an f32 sum gives, and sums beyond the range of f32 overflow. Source: Ogita, Rump and Oishi, "Accurate
/// sum and dot product" (2005), algorithms 3.1 (from Knuth) and 4.4.
template <>
struct alignas(8) Sum<float> {
  float hi, lo;

  /// The nearest sum to x, for a finite x.
  TANDEM_MATH static Sum of(double x) {
    const float hi = static_cast<float>(x);
    return {hi, static_cast<float>(x - static_cast<double>(hi))};
  }

  TANDEM_MATH Sum& operator+=(float x) {
    // A compiler may fuse a product x into the additions: then lo also collects a part of the product's rounding error.
    const float sum = hi + x, added = sum - hi;
    lo += (hi - (sum - added)) + (x - added);
    hi = sum;
    return *this;
  }
  TANDEM_MATH Sum& operator+=(const Sum& x) {
    *this += x.hi;
    lo += x.lo;
    return *this;
  }

  /// The sum, rounded once.
  TANDEM_MATH float value() const { return lo - lo == 0 ? hi + lo : hi; }  // lo is NaN once hi is infinite or NaN
  TANDEM_MATH double wide() const {
    const double sum = static_cast<double>(hi);
    return lo - lo == 0 ? sum + static_cast<double>(lo) : sum;
  }
  /// The product with a finite factor, rounded once apart from a relative error of a few u^2.
  TANDEM_MATH float times(const Sum& factor) const {
    const float product = hi * factor.hi;
    const float rest = ::fmaf(hi, factor.hi, -product) + (hi * factor.lo + lo * factor.hi);
    return rest - rest == 0 ? product + rest : product;
  }
};

/// A plain f64 sum.
template <>
struct Sum<double> {
  double sum;

  TANDEM_MATH static Sum of(double x) { return {x}; }
  TANDEM_MATH Sum& operator+=(double x) {
    sum += x;
    return *this;
  }
  TANDEM_MATH Sum& operator+=(const Sum& x) { return *this += x.sum; }
  TANDEM_MATH double value() const { return sum; }
  TANDEM_MATH double wide() const { return sum; }
  TANDEM_MATH double times(const Sum& factor) const { return sum * factor.sum; }
};

/// The sum of both; the same for b + a.
template <class C>
TANDEM_MATH Sum<C> operator+(Sum<C> a, const Sum<C>& b) {
  return a += b;
}

}  // namespace tandem::math
#pragma GCC visibility pop
