#pragma once
// The device's side of Capture::words(). Internal.
#include <cstdint>
#include <vector>

namespace tandem::cuda {

/// Writes at most Capture::kSlots words to device memory, in one launch on the current stream.
void write_graph_values(void* to, const std::vector<uint64_t>& words);

}  // namespace tandem::cuda
