// Optimizer updates over rows, in f32 by the formulas of math/optim.h. 16-bit gradients are widened, shadows rounded to
// nearest even. Element i of the results depends only on element i of the operands.
#include "kernels/cpu/simd/optim.h"

#include "kernels/cpu/simd/convert16.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

// A unit of the update and its shadow take a few vectors each, so that loads of the next units overlap with them.
constexpr int64_t kUnit = 64;

TANDEM_MATH const float* gradient(const OptimRows& r, int64_t begin, int64_t n, float* buffer) {
  if (r.g_type == RowType::f32) return static_cast<const float*>(r.g) + begin;
  const uint16_t* bits = static_cast<const uint16_t*>(r.g) + begin;
  if (r.g_type == RowType::bf16) {
    widen_row<BF16>(bits, buffer, n);
  } else {
    widen_row<F16>(bits, buffer, n);
  }
  return buffer;
}

template <class Format>
TANDEM_MATH void write_shadow(const OptimRows& r, int64_t begin, int64_t n) {
  if (r.stream) {
    narrow_row_stream<Format>(r.p + begin, r.shadow + begin, n);
  } else {
    narrow_row<Format>(r.p + begin, r.shadow + begin, n);
  }
}

/// Calls body(gradient of the part's first element, first element, count) for parts of the rows.
template <class Body>
TANDEM_MATH void update(const OptimRows& r, const Body& body) {
  if (r.g_type == RowType::f32 && r.shadow_type == RowType::none) {
    body(static_cast<const float*>(r.g), 0, r.n);
    return;
  }
  float wide[kUnit];
  // Non-temporal stores of shadows need whole cache lines: a short first unit aligns them.
  const int64_t to_line = r.shadow_type == RowType::none
                              ? 0
                              : static_cast<int64_t>((64 - reinterpret_cast<uintptr_t>(r.shadow) % 64) % 64 / 2);
  int64_t n = to_line != 0 ? to_line : kUnit;
  for (int64_t begin = 0; begin < r.n; begin += n, n = kUnit) {
    if (n == kUnit && begin + kUnit <= r.n) {  // a constant count, for loops without remainders
      body(gradient(r, begin, kUnit, wide), begin, kUnit);
    } else {
      n = n < r.n - begin ? n : r.n - begin;
      body(gradient(r, begin, n, wide), begin, n);
    }
    if (r.shadow_type == RowType::bf16) write_shadow<BF16>(r, begin, n);
    if (r.shadow_type == RowType::f16) write_shadow<F16>(r, begin, n);
  }
}

// The constants are copied so that the compiler knows that no store changes them.

void sgd(const OptimRows& r, const math::SgdConstants<float>& constants) {
  const math::SgdConstants<float> c = constants;
  const float factor = r.factor;
  update(
      r, [&](const float* g, int64_t begin, int64_t n) __attribute__((always_inline)) {
        float* p = r.p + begin;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) p[i] = math::sgd(p[i], g[i] * factor, c);
      });
}

void sgd_momentum(const OptimRows& r, bool first, const math::SgdConstants<float>& constants) {
  const math::SgdConstants<float> c = constants;
  const float factor = r.factor;
  update(
      r, [&](const float* g, int64_t begin, int64_t n) __attribute__((always_inline)) {
        float *p = r.p + begin, *buffer = r.states[0] + begin;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          p[i] = math::sgd_momentum(p[i], g[i] * factor, buffer[i], first, c);
        }
      });
}

template <bool amsgrad>
TANDEM_MATH void adam_rows(const OptimRows& r, const math::AdamConstants<float>& constants) {
  const math::AdamConstants<float> c = constants;
  const float factor = r.factor;
  update(
      r, [&](const float* g, int64_t begin, int64_t n) __attribute__((always_inline)) {
        float *p = r.p + begin, *m = r.states[0] + begin, *v = r.states[1] + begin;
        float* v_max = amsgrad ? r.states[2] + begin : nullptr;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          float largest = amsgrad ? v_max[i] : 0;
          p[i] = math::adam<amsgrad>(p[i], g[i] * factor, m[i], v[i], largest, c);
          if constexpr (amsgrad) v_max[i] = largest;
        }
      });
}

void adam(const OptimRows& r, const math::AdamConstants<float>& c) { adam_rows<false>(r, c); }
void adam_amsgrad(const OptimRows& r, const math::AdamConstants<float>& c) { adam_rows<true>(r, c); }

void fence() { stream_fence(); }

}  // namespace

const OptimTable optim_table = {sgd, sgd_momentum, adam, adam_amsgrad, fence};

}  // namespace tandem::cpu::TANDEM_SIMD
