#pragma once
// Random numbers: one counter-based stream (Philox 4x32-10), the same on every device and thread count.
#include <cstdint>

#include "tandem/backend.h"
#include "tandem/tensor/generator.h"

namespace tandem {

/// The generator that factories, Tensor::normal_ and its kin, and dropout draw from, on every device, unless they are
/// given another: `x.normal_(0, 1, generator)`.
Generator& default_generator();

/// Restarts the default generator: `manual_seed(0)` makes a program's random numbers repeatable.
void manual_seed(uint64_t seed);

}  // namespace tandem
