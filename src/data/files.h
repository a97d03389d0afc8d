#pragma once
// Reading of whole files.
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::data {

/// Returns the bytes of a regular file. Throws IoError if it cannot be read, or has more than `most` bytes, and
/// OutOfMemoryError if it does not fit into memory.
std::vector<uint8_t> read_file(const std::string& path, uint64_t most);

}  // namespace tandem::data
