#pragma once
// Files of named tensors in the safetensors format, which Python's package of that name reads and writes.
// Source: https://github.com/huggingface/safetensors, "Format".
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tandem/tensor/state_dict.h"

namespace tandem::io {

/// Texts beside the tensors. Keys that begin with "tandem." are tandem's own.
using Metadata = std::unordered_map<std::string, std::string>;

/// What a file holds. The tensors are in the order in which its header lists them.
struct TensorFile {
  StateDict tensors;
  Metadata metadata;
};

/// Writes tensors of any dtype and device, whole or not at all: the bytes go to a new file in the same folder,
/// `path`.tmp- and 16 random digits, which is fsynced and renamed to `path`, and then the folder is fsynced. Whatever
/// happens before the rename, `path` keeps what it held. What a killed writer leaves is removed by the next one.
///
/// A file that is replaced keeps its permissions and, where the system permits, its owner and group. Where `path` is a
/// symbolic link, the link stays, and the file that it points to is replaced or created. Only a regular file is
/// replaced, and only one that the process may write.
///
/// The file is `u64 length; JSON header; data`, little-endian; each tensor row-major, larger elements first. The
/// metadata hold checksums, which load_file verifies: "tandem.crc32": "hhhhhhhh-dddddddd", the CRC-32 of length and
/// header (with zeros for these digits) and of the data.
///
/// Throws StateError for an undefined tensor, a name or text that is not UTF-8, or a reserved name; IoError when a
/// system call fails, for a folder, device, FIFO or socket, for a read-only file, or when another writer of the same
/// user is at work on the same path. Writers that miss each other are safe: the last one's file stays, whole.
void save_file(const StateDict& tensors, const std::string& path, const Metadata& metadata = {});

/// Reads a safetensors file, whoever wrote it. Nothing in it is trusted: memory is taken only for what the file holds.
/// Throws IoError that names the fault when the file is missing, truncated or malformed, has a dtype that tandem does
/// not have, more than 12 dimensions, or checksums that do not agree.
TensorFile load_file(const std::string& path, Device device = Device(kCPU));

/// The bytes of a file in memory, and back; the errors are the same.
std::string serialize(const StateDict& tensors, const Metadata& metadata = {});
TensorFile deserialize(std::string_view bytes);

}  // namespace tandem::io
