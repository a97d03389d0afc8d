#pragma once
// The row functions of unscale and check_finite.
#include <cstdint>

#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

/// All return true if x_i * factor, rounded to the storage type, is inf or NaN for any i.
struct AmpTable {
  /// x_i = x_i * factor, rounded.
  bool (*unscale_f32)(float* x, int64_t n, float factor);
  bool (*unscale_f16)(uint16_t* x, int64_t n, float factor);
  bool (*unscale_bf16)(uint16_t* x, int64_t n, float factor);
  bool (*check_f32)(const float* x, int64_t n, float factor);
  bool (*check_f16)(const uint16_t* x, int64_t n, float factor);
  bool (*check_bf16)(const uint16_t* x, int64_t n, float factor);
};
TANDEM_SIMD_TABLE(AmpTable, amp_table)

}  // namespace tandem::cpu
