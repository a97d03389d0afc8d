#pragma once
// Reads pickles: the part of Python's format that PyTorch's files of tensors and plain values use.
#include <functional>
#include <string>
#include <string_view>

#include "tandem/io/ivalue.h"

namespace tandem::io {

struct PickleContext {
  std::string where;  ///< in messages: the path and ": ", or nothing
  /// Returns the storage with this key as a tensor of rank 1 with `numel` elements; throws if the file does not have it
  /// or it has another size.
  std::function<Tensor(const std::string& key, DType dtype, int64_t numel)> storage;
};

/// Reads a pickle of protocol 2 to 5. It is not trusted: names are allowed by a closed list (src/io/pickle_globals.h)
/// and nothing is called, depth and number of values are bounded, no value contains itself, and every tensor lies
/// within its storage. Throws IoError.
IValue read_pickle(std::string_view bytes, const PickleContext& context);

}  // namespace tandem::io
