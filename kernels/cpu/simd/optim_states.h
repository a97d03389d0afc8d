#pragma once
// Table of conversions between f32 and moments in fewer bits, by the formulas of math/optim_state.h.
#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

/// Runs of n elements that start with a block. `lanes`: 64 random numbers for each block.
struct OptimStatesTable {
  /// x_i = code_i inverse_b, with b the element's block.
  void (*load_e4m3fn)(float* x, const uint8_t* codes, const float* inverse, int64_t n);
  /// Writes the inverse scales too.
  void (*store_e4m3fn)(uint8_t* codes, float* inverse, const float* x, const uint32_t* lanes, int64_t n);
  void (*store_bf16)(uint16_t* y, const float* x, const uint32_t* lanes, int64_t n);
};
TANDEM_SIMD_TABLE(OptimStatesTable, optim_states_table)

}  // namespace tandem::cpu
