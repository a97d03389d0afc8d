// Casts between f32 and float8, by the formulas of base/float8.h.
#include "kernels/cpu/simd/float8.h"

#include "tandem/math/arithmetic.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

template <class Format, Float8Overflow Rule>
TANDEM_MATH void round_row(uint8_t* y, const float* x, int64_t n, float scale) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Format::round(x[i] * scale, Rule);
}

template <class Format>
void nearest(uint8_t* y, const float* x, int64_t n, float scale, Float8Overflow overflow) {
  if (overflow == Float8Overflow::saturate) {
    round_row<Format, Float8Overflow::saturate>(y, x, n, scale);
  } else {
    round_row<Format, Float8Overflow::overflow>(y, x, n, scale);
  }
}

template <class Format>
void stochastic(uint8_t* y, const float* x, const uint32_t* lanes, int64_t n, float scale, Float8Overflow overflow) {
  for (int64_t i = 0; i < n; ++i) y[i] = Format::round_stochastically(x[i] * scale, lanes[i], overflow);
}

template <class Format>
void scaled(uint8_t* y, const float* x, const float* scale, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Format::round(x[i] * scale[i], Float8Overflow::saturate);
}

uint32_t amax(const float* x, int64_t n) {
  uint32_t largest = 0;
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t magnitude = math::bits_as<uint32_t>(x[i]) & 0x7fffffffu;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

void amax_each(uint32_t* largest, const float* x, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t magnitude = math::bits_as<uint32_t>(x[i]) & 0x7fffffffu;
    largest[i] = magnitude > largest[i] ? magnitude : largest[i];
  }
}

void multiply(float* y, const float* x, const float* factor, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor[i];
}

template <class Format>
constexpr Float8Casts kCasts = {nearest<Format>, stochastic<Format>, scaled<Format>};

}  // namespace

const Float8Table float8_table = {kCasts<tandem::detail::E4m3fn>, kCasts<tandem::detail::E5m2>, amax, amax_each,
                                  multiply};

}  // namespace tandem::cpu::TANDEM_SIMD
