#pragma once
// Internal.
#include "tandem/amp/fp8/recipe.h"

namespace tandem::amp::detail {

/// Throws StateError for options out of range.
void check_recipe(const Fp8Recipe& recipe);

}  // namespace tandem::amp::detail
