#pragma once
// Reads pickles: the part of Python's format that PyTorch's files of tensors and plain values use.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/io/ivalue.h"

namespace tandem::io {

struct PickleContext {
  std::string where;  ///< in messages: the path and ": ", or nothing
  /// Returns the storage with this key as a tensor of rank 1 with `numel` elements; throws if the file does not have it
  /// or it has another size. Empty for pickles without tensors.
  std::function<Tensor(const std::string& key, DType dtype, int64_t numel)> storage;
  /// Called for a storage whose dtype tandem lacks; `element_size` is in bytes. May be empty.
  std::function<void(const std::string& key, int64_t numel, int64_t element_size)> left_out_storage;
  /// Returns the names of the parameters and buffers of a TorchScript class; nothing if they are not known. May be
  /// empty.
  std::function<std::optional<std::vector<std::string>>(const std::string& class_name)> state_names;
  /// What was left out: "'seed' (an integer of more than 64 bits)".
  mutable std::vector<std::string> left_out;
};

/// Reads the pickle of protocol 2 to 5 with which `bytes` begins, and removes it from `bytes`. It is not trusted: names
/// are allowed by a closed list (src/io/pickle_globals.h) and nothing is called, depth and number of values are
/// bounded, no value contains itself, and every tensor lies within its storage. Well-formed values that tandem has no
/// counterpart of are left out of dictionaries, and are None in lists. Throws IoError.
IValue read_pickle(std::string_view& bytes, const PickleContext& context);

}  // namespace tandem::io
