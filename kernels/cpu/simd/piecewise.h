#pragma once
// OddFunction: vectors of a tabulated function (kernels/cpu/piecewise.h). AVX-512 only.
#include "kernels/cpu/piecewise.h"
#include "kernels/cpu/simd/convert16.h"

#if defined(__AVX512F__)
namespace tandem::cpu::TANDEM_SIMD {

/// f(-x) = -f(x), with a table of f for x >= 0 and f(x) = f(end) beyond its end. NaN gives NaN.
class OddFunction {
 public:
  TANDEM_MATH explicit OddFunction(const PiecewisePolynomial& table)
      // Less than the end, so that its interval is the last one.
      : end_(_mm512_set1_ps(table.end * (1 - 0x1p-20f))), scale_(_mm512_set1_ps(kIntervals / table.end)) {
    for (int k = 0; k < kCoefficients; ++k) coefficients_[k] = _mm512_load_ps(table.coefficients[k]);
  }

  TANDEM_MATH __m512 operator()(__m512 x) const {
    const __m512 place = _mm512_mul_ps(_mm512_min_ps(end_, _mm512_abs_ps(x)), scale_);  // min(a, NaN) is NaN
    const __m512i interval = _mm512_cvttps_epi32(place);
    const __m512 r = _mm512_sub_ps(_mm512_sub_ps(place, _mm512_cvtepi32_ps(interval)), _mm512_set1_ps(0.5f));
    __m512 y = _mm512_permutexvar_ps(interval, coefficients_[kCoefficients - 1]);
    for (int k = kCoefficients - 2; k >= 0; --k) {
      y = _mm512_fmadd_ps(y, r, _mm512_permutexvar_ps(interval, coefficients_[k]));
    }
    return _mm512_or_ps(y, _mm512_and_ps(x, _mm512_set1_ps(-0.0f)));
  }

 private:
  static constexpr int kIntervals = PiecewisePolynomial::kIntervals, kCoefficients = PiecewisePolynomial::kCoefficients;
  __m512 end_, scale_, coefficients_[kCoefficients];
};

}  // namespace tandem::cpu::TANDEM_SIMD
#endif
