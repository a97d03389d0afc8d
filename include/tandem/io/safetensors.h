#pragma once
// Reads and writes files of named tensors in the safetensors format, as the Python package of that name does.
// Source: https://github.com/huggingface/safetensors, "Format".
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tandem/tensor/state_dict.h"

#pragma GCC visibility push(default)
namespace tandem::io {

/// Text entries stored with the tensors. Keys that begin with "tandem." are reserved.
using Metadata = std::unordered_map<std::string, std::string>;

/// The contents of a file. The tensors are in the order of the file's header.
struct TensorFile {
  StateDict tensors;
  Metadata metadata;
};

/// Writes tensors of any dtype and device atomically. The bytes go to a temporary file in the same folder, named
/// `path`.tmp- plus 16 random hexadecimal digits; that file is fsynced and renamed to `path`, and then the folder is
/// fsynced. Until the rename, `path` keeps its old contents. A temporary file left by a killed process is removed by
/// the next save to the same path.
///
/// The new file takes over the permissions of the file that it replaces and, where the system permits, its owner and
/// group. If `path` is a symbolic link, the link is kept and its target is replaced or created. Only a regular file
/// that the process may write is replaced.
///
/// File layout: `u64 length; JSON header; data`, little-endian. Tensors are stored row-major, those with larger
/// elements first. The metadata contain checksums, which load_file verifies: "tandem.crc32": "hhhhhhhh-dddddddd", the
/// CRC-32 of length and header (with zeros in place of these digits) and that of the data.
///
/// Throws StateError for an undefined tensor, a name or text that is not UTF-8, or a reserved name. Throws IoError if a
/// system call fails, if `path` is a folder, device, FIFO, socket or read-only file, or if another process or thread of
/// the same user is saving to the same path. Concurrent saves that are not detected are safe: the file is the complete
/// result of the last one.
void save_file(const StateDict& tensors, const std::string& path, const Metadata& metadata = {});

/// Reads a safetensors file from any source. The contents are not trusted: memory is allocated only for data that the
/// file contains. Tensors of a dtype that tandem does not have, such as F4, are left out, and a warning names them.
/// Throws an IoError that names the fault if the file is missing, truncated or malformed, contains a tensor of more
/// than 12 dimensions, or if a checksum does not match.
TensorFile load_file(const std::string& path, Device device = Device(kCPU));

/// Convert between tensors and the bytes of a file, in memory. The errors are those of save_file and load_file.
std::string serialize(const StateDict& tensors, const Metadata& metadata = {});
TensorFile deserialize(std::string_view bytes);

}  // namespace tandem::io
#pragma GCC visibility pop
