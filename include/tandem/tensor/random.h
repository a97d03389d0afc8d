#pragma once
// The default random generator: a counter-based stream (Philox 4x32-10), with the same numbers on every device and for
// any number of threads.
#include <cstdint>

#include "tandem/backend.h"
#include "tandem/tensor/generator.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Returns the default generator. Factories, Tensor::normal_ and similar methods, and dropout draw from it on every
/// device, unless they are given another: `x.normal_(0, 1, generator)`.
Generator& default_generator();

/// Sets the seed of the default generator and restarts it: `manual_seed(0)` makes a program's random numbers
/// repeatable.
void manual_seed(uint64_t seed);

}  // namespace tandem
#pragma GCC visibility pop
