#pragma once
// Reader of IDX files, the format of MNIST: a big-endian header with dtype, rank and sizes, then the elements.
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::data {

/// An array of bytes.
struct IdxArray {
  std::vector<int64_t> sizes;
  std::vector<uint8_t> values;
};

/// Reads an IDX file of unsigned bytes with the given rank, plain or gzip-compressed, whatever its name. Memory is
/// allocated as data arrives, not from the sizes in the header. Throws IoError naming the file and the fault, and
/// OutOfMemoryError if the array does not fit into memory.
IdxArray read_idx(const std::string& path, size_t rank);

}  // namespace tandem::data
