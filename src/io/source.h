#pragma once
// What the readers and writers of file formats share: bytes with random access, output, checksums, names in messages.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem::io {

/// Bytes with random access: a file's, or a block of memory. Readers check offsets against `size` before they read.
struct Source {
  std::string where;  ///< in messages: the path and ": ", or nothing
  uint64_t size = 0;
  std::function<void(uint64_t offset, void* to, size_t bytes)> read;
};

/// Opens a regular file, which stays open as long as the source. Throws IoError.
Source file_source(const std::string& path);
/// `bytes` must outlive the source.
Source memory_source(std::string_view bytes);

/// Appends bytes to the output.
using Write = std::function<void(const void* data, size_t bytes)>;

/// Calls `produce`, which writes the contents, and replaces the file atomically (src/io/atomic_file.h). The file is
/// opened by the first write, so checks that precede it leave everything as it was.
void write_file(const std::string& path, const std::function<void(const Write&)>& produce);
/// Returns the bytes that `produce` writes.
std::string written_bytes(const std::function<void(const Write&)>& produce);

/// Returns the bytes of a stream up to its end, and writes bytes to a stream. Throw IoError if the stream fails.
std::string read_stream(std::istream& stream);
void write_stream(std::ostream& stream, std::string_view bytes);

/// Continues a CRC-32, as zip and zlib define it; the initial value is 0.
uint32_t crc_of(uint32_t crc, const void* data, size_t bytes);

/// True if every byte of a CPU tensor of dtype bool is 0 or 1, as C++ requires.
bool is_valid_bool(const Tensor& t);

/// Reverses the bytes of each of `count` elements.
void swap_bytes(void* data, size_t count, size_t element_size);

/// Formats a name for messages: shortened between characters, without control characters.
std::string shown(std::string_view name);

/// Warns of what a reader left out, since tandem has no counterpart, if there is anything: "'a' (F4)".
void warn_of_left_out(const std::string& where, const std::vector<std::string>& left_out);

}  // namespace tandem::io
