#pragma once
#include <functional>
#include <vector>

#include "tandem/optim/optimizer.h"

namespace tandem::amp {

/// Runs `cast`, which gives models 16-bit parameters. The f32 values that those of `optimizers` had become their
/// masters, unrounded.
void cast_to_masters(const std::vector<optim::Optimizer*>& optimizers, const std::function<void()>& cast);

}  // namespace tandem::amp
