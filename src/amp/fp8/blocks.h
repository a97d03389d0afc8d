#pragma once
// The sizes of the blocks that share a scale, for each recipe. Internal.
#include <utility>

#include "tandem/amp/fp8/recipe.h"
#include "tandem/backend.h"

namespace tandem::amp::detail {

/// Blocks of `length` numbers along dimension `dim`, -1 or -2, and `breadth` numbers across.
inline Float8Scales blocks_along(int64_t dim, int64_t length, int64_t breadth, bool power_of_two) {
  Float8Scales scales{.inverse = {}, .rows = breadth, .columns = length, .power_of_two = power_of_two};
  if (dim == -2) std::swap(scales.rows, scales.columns);
  return scales;
}

/// The scales of a tensor with this role in a product that sums over dimension `dim`, without their values.
inline Float8Scales blocks_of(const DelayedScaling&, Fp8Role, int64_t) { return {}; }
inline Float8Scales blocks_of(const Float8CurrentScaling& recipe, Fp8Role, int64_t) {
  return {.inverse = {}, .power_of_two = recipe.use_power_2_scales()};
}
inline Float8Scales blocks_of(const Float8BlockScaling& recipe, Fp8Role role, int64_t dim) {
  return blocks_along(dim, 128, role == Fp8Role::weight ? 128 : 1, recipe.use_power_2_scales());
}
inline Float8Scales blocks_of(const MXFP8BlockScaling&, Fp8Role, int64_t dim) { return blocks_along(dim, 32, 1, true); }

}  // namespace tandem::amp::detail
