// Conversions of moments, by the formulas of math/optim_state.h.
#include "kernels/cpu/simd/optim_states.h"

#include "tandem/math/optim_state.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

using Format = tandem::detail::E4m3fn;

/// Calls body(first element, count, number of the block) for each block.
template <class Body>
TANDEM_MATH void for_each_block(int64_t n, const Body& body) {
  for (int64_t begin = 0; begin < n; begin += math::kStateBlock) {
    const int64_t left = n - begin;
    body(begin, left < math::kStateBlock ? left : math::kStateBlock, begin / math::kStateBlock);
  }
}

void load_e4m3fn(float* x, const uint8_t* codes, const float* inverse, int64_t n) {
  for_each_block(
      n, [&](int64_t begin, int64_t count, int64_t block) __attribute__((always_inline)) {
        const float factor = inverse[block];
#pragma omp simd
        for (int64_t i = begin; i < begin + count; ++i) x[i] = Format::widen(codes[i]) * factor;
      });
}

constexpr int64_t kHalf = math::kStateBlock / 2;

/// Calls body(element, its random bits) for the elements of a block.
template <class Body>
TANDEM_MATH void for_each_random(int64_t count, const uint32_t* lanes, const Body& body) {
  const int64_t first = count < kHalf ? count : kHalf;
#pragma omp simd
  for (int64_t i = 0; i < first; ++i) body(i, math::state_random(lanes[i], false));
#pragma omp simd
  for (int64_t i = kHalf; i < count; ++i) body(i, math::state_random(lanes[i - kHalf], true));
}

void store_e4m3fn(uint8_t* codes, float* inverse, const float* x, const uint32_t* lanes, int64_t n) {
  for_each_block(
      n, [&](int64_t begin, int64_t count, int64_t block) __attribute__((always_inline)) {
        uint32_t largest = 0;
#pragma omp simd reduction(max : largest)
        for (int64_t i = begin; i < begin + count; ++i) {
          const uint32_t magnitude = math::finite_magnitude(x[i]);
          largest = magnitude > largest ? magnitude : largest;
        }
        const math::Float8Scale scale = math::state_scale(math::bits_as<float>(largest));
        inverse[block] = scale.inverse;
        const float* const from = x + begin;
        const float factor = scale.scale;
        uint8_t* const to = codes + begin;
        for_each_random(
            count, lanes + block * kHalf, [=](int64_t i, uint32_t random) __attribute__((always_inline)) {
              to[i] = math::round_to_e4m3fn_stochastically(from[i], factor, random);
            });
      });
}

void store_bf16(uint16_t* y, const float* x, const uint32_t* lanes, int64_t n) {
  for_each_block(
      n, [&](int64_t begin, int64_t count, int64_t block) __attribute__((always_inline)) {
        const float* const from = x + begin;
        uint16_t* const to = y + begin;
        for_each_random(
            count, lanes + block * kHalf, [=](int64_t i, uint32_t random) __attribute__((always_inline)) {
              to[i] = math::round_to_bf16_stochastically(from[i], random);
            });
      });
}

}  // namespace

const OptimStatesTable optim_states_table = {load_e4m3fn, store_e4m3fn, store_bf16};

}  // namespace tandem::cpu::TANDEM_SIMD
