#pragma once
#include <functional>
#include <vector>

#include "tandem/optim/optimizer.h"

namespace tandem::amp {

/// Runs `cast`, which converts models to 16-bit parameters. The unrounded f32 values from before the cast become the
/// masters of the parameters of `optimizers`.
void cast_to_masters(const std::vector<optim::Optimizer*>& optimizers, const std::function<void()>& cast);

}  // namespace tandem::amp
