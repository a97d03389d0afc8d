#pragma once
// Rows of GELU and its gradient from tables, for files under simd/. With AVX-512 that is cheaper than the formulas in
// math/unary.h and math/binary.h, whose polynomial has degree 14, and which need e^x for the gradient.
#include "kernels/cpu/gelu_tables.h"
#include "kernels/cpu/simd/piecewise.h"
#include "kernels/cpu/simd/vector_rows.h"

namespace tandem::cpu::TANDEM_SIMD {

#if defined(__AVX512F__)

/// 1/2 + f(x), and 0 for x < begin: there the sum would be 0 or an ulp of 1/2.
struct HalfPlus {
  TANDEM_MATH HalfPlus(const PiecewisePolynomial& table, float begin) : f(table), begin(_mm512_set1_ps(begin)) {}
  TANDEM_MATH __m512 operator()(__m512 x) const {
    return _mm512_maskz_add_ps(_mm512_cmp_ps_mask(x, begin, _CMP_NLT_UQ), _mm512_set1_ps(0.5f), f(x));
  }

  OddFunction f;
  __m512 begin;
};

/// y = x Phi(x), for T float, or uint16_t as the bits of bf16. Returns false where there are no tables.
template <class T>
TANDEM_MATH bool gelu_row(T* y, const T* x, int64_t n) {
  const HalfPlus cdf(normal_cdf_table(), -5.5625f);  // Phi(-5.5625) is 1.3e-8
  map_vectors(
      y, n, [&](__m512 x) { return _mm512_mul_ps(x, cdf(x)); }, x);
  return true;
}

/// y = gy (Phi(x) + x phi(x)). NaN for an infinite x, as the formula gives.
template <class T>
TANDEM_MATH bool gelu_backward_row(T* y, const T* gy, const T* x, int64_t n) {
  const HalfPlus slope(gelu_slope_table(), -6);  // -3.5e-8
  map_vectors(
      y, n, [&](__m512 gy, __m512 x) { return _mm512_mul_ps(gy, _mm512_fmadd_ps(x, _mm512_setzero_ps(), slope(x))); },
      gy, x);
  return true;
}

#else

template <class T>
TANDEM_MATH bool gelu_row(T*, const T*, int64_t) {
  return false;
}
template <class T>
TANDEM_MATH bool gelu_backward_row(T*, const T*, const T*, int64_t) {
  return false;
}

#endif

}  // namespace tandem::cpu::TANDEM_SIMD
