#pragma once
// Reader of IDX files, the format of MNIST: big-endian header with dtype, rank and sizes, then the elements.
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::data {

/// An array of bytes.
struct IdxArray {
  std::vector<int64_t> sizes;
  std::vector<uint8_t> values;
};

/// Reads an IDX file of unsigned bytes of the given rank, plain or gzip-compressed, whatever its name. Memory is taken
/// as data arrives, never because the header asks for it. Throws IoError that names the file and the fault,
/// OutOfMemoryError for an array that is larger than the memory.
IdxArray read_idx(const std::string& path, size_t rank);

}  // namespace tandem::data
