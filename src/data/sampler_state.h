#pragma once
// What the states of samplers have in common.
#include <cstddef>
#include <vector>

#include "tandem/tensor/state_dict.h"

namespace tandem::data::samplers {

/// Writes the entries "size" and "index".
void write_position(StateDict& state, size_t size, size_t index);
/// Returns the index; reports a fault if the size differs from the sampler's, or the index is above `limit`.
size_t read_position(StateReader& reader, size_t size, size_t limit);
/// A vector for `count` item numbers, to be filled by the caller. Throws OutOfMemoryError.
std::vector<size_t> request_of(size_t count);

}  // namespace tandem::data::samplers
