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

/// Updates the rows by a rule with the states of `mask`.
template <class Rule, unsigned mask>
TANDEM_MATH void update_rows(const OptimRows& r, const typename Rule::template Constants<float>& constants) {
  typename Rule::template Constants<float> c = constants;  // a copy: the compiler knows that no store changes it
  if constexpr (Rule::kOptional != 0) c.states = mask;
  const float factor = r.factor;
  update(
      r, [&](const float* g, int64_t begin, int64_t n) __attribute__((always_inline)) {
        float* p = r.p + begin;
        float* s0 = (mask & 1) != 0 ? r.states[0] + begin : nullptr;
        float* s1 = (mask & 2) != 0 ? r.states[1] + begin : nullptr;
        float* s2 = (mask & 4) != 0 ? r.states[2] + begin : nullptr;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          float x = (mask & 1) != 0 ? s0[i] : 0, y = (mask & 2) != 0 ? s1[i] : 0, z = (mask & 4) != 0 ? s2[i] : 0;
          p[i] = Rule::update(p[i], g[i] * factor, x, y, z, c);
          if constexpr ((mask & 1) != 0) s0[i] = x;
          if constexpr ((mask & 2) != 0) s1[i] = y;
          if constexpr ((mask & 4) != 0) s2[i] = z;
        }
      });
}

/// Determines which of the optional states in `left` are present.
template <class Rule, unsigned mask, unsigned left>
TANDEM_MATH void select_states(const OptimRows& r, const typename Rule::template Constants<float>& c) {
  if constexpr (left == 0) {
    update_rows<Rule, mask>(r, c);
  } else {
    constexpr unsigned bit = left & (0 - left);
    if (r.states[bit >> 1] != nullptr) {  // bits 1, 2 and 4 are the states 0, 1 and 2
      select_states<Rule, mask | bit, left & ~bit>(r, c);
    } else {
      select_states<Rule, mask, left & ~bit>(r, c);
    }
  }
}

template <class Rule>
void step(const OptimRows& r, const typename Rule::template Constants<float>& c) {
  select_states<Rule, Rule::kRequired, Rule::kOptional>(r, c);
}

double squares(const float* x, int64_t n) {
  constexpr int kLanes = 32;
  double sums[kLanes] = {};
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
#pragma omp simd
    for (int k = 0; k < kLanes; ++k) sums[k] += static_cast<double>(x[i + k]) * static_cast<double>(x[i + k]);
  }
  for (int64_t i = whole; i < n; ++i) sums[i - whole] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int k = 0; k < width; ++k) sums[k] += sums[k + width];
  }
  return sums[0];
}

void fence() { stream_fence(); }

}  // namespace

const OptimTable optim_table = {{step<math::Sgd>},
                                {step<math::Adam>},
                                {step<math::RmsProp>},
                                {step<math::Adagrad>},
                                {step<math::Adadelta>},
                                {step<math::Adamax>},
                                {step<math::NAdam>},
                                {step<math::RAdam>},
                                {step<math::Lion>},
                                {step<math::Lamb>},
                                squares,
                                fence};

}  // namespace tandem::cpu::TANDEM_SIMD
