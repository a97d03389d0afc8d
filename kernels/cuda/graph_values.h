#pragma once
// The device side of GraphCapture::words(). Internal.
#include <cstdint>
#include <vector>

namespace tandem::cuda {

/// Writes up to GraphCapture::kSlots words to device memory, in one launch on the current stream.
void write_graph_values(void* to, const std::vector<uint64_t>& words);

}  // namespace tandem::cuda
