#pragma once
// Division with remainder, for all compute types, and operations on integers. Integer division by zero gives 0 here;
// ops refuse it where they can.
#include "tandem/math/approx.h"

#pragma GCC visibility push(default)
namespace tandem::math {

namespace detail {

/// The divisor of a % b and a / b that cannot trap: 1 for 0 and -1.
TANDEM_MATH int64_t safe_divisor(int64_t b) { return bool((b == 0) | (b == -1)) ? 1 : b; }

}  // namespace detail

/// The remainder of a / b rounded towards 0: it has a's sign.
TANDEM_MATH float fmod(float a, float b) { return TANDEM_LIBM(fmodf)(a, b); }
TANDEM_MATH double fmod(double a, double b) { return TANDEM_LIBM(fmod)(a, b); }
TANDEM_MATH int64_t fmod(int64_t a, int64_t b) { return a % detail::safe_divisor(b); }

/// The remainder of a / b rounded down: it has b's sign.
template <class T>
TANDEM_MATH T remainder(T a, T b) {
  const T r = fmod(a, b);
  return bool((r != T(0)) & ((r < T(0)) != (b < T(0)))) ? add(r, b) : r;
}

/// a / b, rounded towards 0.
template <class T>
TANDEM_MATH T trunc_divide(T a, T b) {
  return trunc(a / b);
}
TANDEM_MATH int64_t trunc_divide(int64_t a, int64_t b) {
  const int64_t q = a / detail::safe_divisor(b);
  return b == 0 ? 0 : (b == -1 ? neg(a) : q);
}

/// a / b, rounded down. Floating results agree with remainder: the quotient of a - remainder(a, b), which is nearly an
/// integer, is rounded to that integer.
template <class T>
TANDEM_MATH T floor_divide(T a, T b) {
  const T r = fmod(a, b);
  const T quotient = (a - r) / b - (bool((r != T(0)) & ((b < T(0)) != (r < T(0)))) ? T(1) : T(0));
  const T down = floor(quotient);
  const T whole = quotient - down > T(0.5) ? down + T(1) : down;
  const T y = quotient == T(0) ? copysign(T(0), a / b) : whole;
  return b == T(0) ? a / b : y;
}
TANDEM_MATH int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t q = trunc_divide(a, b), r = fmod(a, b);
  return bool((r != 0) & ((r < 0) != (b < 0))) ? q - 1 : q;
}

/// Shifts by a negative number or by 64 and more shift everything out. Right shifts keep the sign.
TANDEM_MATH int64_t shift_left(int64_t a, int64_t b) {
  const int64_t y = static_cast<int64_t>(static_cast<uint64_t>(a) << (b & 63));
  return bool((b < 0) | (b > 63)) ? 0 : y;
}
TANDEM_MATH int64_t shift_right(int64_t a, int64_t b) { return a >> (bool((b < 0) | (b > 63)) ? 63 : b); }

/// The greatest common divisor, by Euclid's algorithm. It is not negative.
TANDEM_MATH int64_t gcd(int64_t a, int64_t b) {
  a = abs(a);
  b = abs(b);
  while (b != 0) {
    const int64_t r = fmod(a, b);
    a = b;
    b = r;
  }
  return a;
}
/// The least common multiple; 0 if either is 0.
TANDEM_MATH int64_t lcm(int64_t a, int64_t b) {
  const int64_t divisor = gcd(a, b);
  return divisor == 0 ? 0 : abs(mul(trunc_divide(a, divisor), b));
}

}  // namespace tandem::math
#pragma GCC visibility pop
