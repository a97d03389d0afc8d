#pragma once
// The row functions of sgd and adam: f32 arithmetic on contiguous rows.
#include <cstdint>

#include "kernels/cpu/simd/dispatch.h"
#include "tandem/math/optim.h"

namespace tandem::cpu {

enum class RowType : uint8_t { none, f32, f16, bf16 };

/// n consecutive elements of a parameter and of its gradient, states and shadow.
struct OptimRows {
  int64_t n = 0;
  float* p = nullptr;
  const void* g = nullptr;
  float* states[3] = {};
  uint16_t* shadow = nullptr;  ///< receives p, rounded to nearest even
  float factor = 1;            ///< multiplies g
  RowType g_type = RowType::f32, shadow_type = RowType::none;
  bool stream = false;  ///< writes to the shadow bypass the caches
};

struct OptimTable {
  void (*sgd)(const OptimRows& rows, const math::SgdConstants<float>& c);
  /// states: the momentum buffer.
  void (*sgd_momentum)(const OptimRows& rows, bool first, const math::SgdConstants<float>& c);
  /// states: m, v, and v_max for amsgrad.
  void (*adam)(const OptimRows& rows, const math::AdamConstants<float>& c);
  void (*adam_amsgrad)(const OptimRows& rows, const math::AdamConstants<float>& c);
  /// Ends a series of rows with `stream` set.
  void (*fence)();
};
TANDEM_SIMD_TABLE(OptimTable, optim_table)

}  // namespace tandem::cpu
