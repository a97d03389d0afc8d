// unscale and check_finite over rows. f16 and bf16 are widened, multiplied in f32 and rounded once to nearest even. inf
// and NaN are detected from the bits of the f32 product: those at or above the limit from which values round to inf in
// the storage type.
#include "kernels/cpu/simd/amp.h"

#include "kernels/cpu/simd/convert16.h"
#include "tandem/math/amp.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

constexpr int64_t kBlock = 64;  // a few vectors, so that loads of the next block overlap with work on this one

TANDEM_MATH bool any(uint32_t bits) { return (bits & 0x80000000u) != 0; }

bool unscale_f32(float* x, int64_t n, float factor) {
  uint32_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float product = x[i] * factor;
    found |= math::non_finite_bit(product, math::kNonFiniteF32);
    x[i] = product;
  }
  return any(found);
}

bool check_f32(const float* x, int64_t n, float factor) {
  uint32_t found = 0;
  for (int64_t i = 0; i < n; ++i) found |= math::non_finite_bit(x[i] * factor, math::kNonFiniteF32);
  return any(found);
}

template <class Format, bool write, class Bits>
TANDEM_MATH uint32_t block16(Bits* x, int64_t n, float factor) {
  uint32_t found = 0;
  float wide[kBlock];
  widen_row<Format>(x, wide, n);
#pragma omp simd reduction(| : found)
  for (int64_t i = 0; i < n; ++i) {
    wide[i] *= factor;
    found |= math::non_finite_bit(wide[i], Format::non_finite);
  }
  if constexpr (write) narrow_row<Format>(wide, x, n);
  return found;
}

template <class Format, bool write, class Bits>
TANDEM_MATH bool walk16(Bits* x, int64_t n, float factor) {
  uint32_t found = 0;
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) found |= block16<Format, write>(x + i, kBlock, factor);
  found |= block16<Format, write>(x + i, n - i, factor);
  return any(found);
}

bool unscale_f16(uint16_t* x, int64_t n, float factor) { return walk16<F16, true>(x, n, factor); }
bool unscale_bf16(uint16_t* x, int64_t n, float factor) { return walk16<BF16, true>(x, n, factor); }
bool check_f16(const uint16_t* x, int64_t n, float factor) { return walk16<F16, false>(x, n, factor); }
bool check_bf16(const uint16_t* x, int64_t n, float factor) { return walk16<BF16, false>(x, n, factor); }

}  // namespace

const AmpTable amp_table = {unscale_f32, unscale_f16, unscale_bf16, check_f32, check_f16, check_bf16};

}  // namespace tandem::cpu::TANDEM_SIMD
