#pragma once
// The row functions of the optimizers: f32 arithmetic on contiguous rows.
#include <cstdint>

#include "kernels/cpu/simd/dispatch.h"
#include "tandem/math/optim_rules.h"

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

/// A rule's function: updates rows with the rule's states, of which the optional ones may be null.
template <class Rule>
struct RowStep {
  void (*step)(const OptimRows& rows, const typename Rule::template Constants<float>& c);
};

struct OptimTable : RowStep<math::Sgd>,
                    RowStep<math::Adam>,
                    RowStep<math::RmsProp>,
                    RowStep<math::Adagrad>,
                    RowStep<math::Adadelta>,
                    RowStep<math::Adamax>,
                    RowStep<math::NAdam>,
                    RowStep<math::RAdam>,
                    RowStep<math::Lion>,
                    RowStep<math::Lamb> {
  /// The sum of the squares, in f64. The squares of f32 numbers are exact there, and the order of the sum is the same
  /// in all instruction sets.
  double (*squares)(const float* x, int64_t n);
  /// Ends a series of rows with `stream` set.
  void (*fence)();
};
TANDEM_SIMD_TABLE(OptimTable, optim_table)

}  // namespace tandem::cpu
