#pragma once
// How much a PyTorch file may hold besides the data of tensors. The readers refuse more, so that a small file cannot
// take much memory, and the writers refuse what the readers would.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tandem/tensor/state_dict.h"

namespace tandem::io {

/// The limits of data.pkl in bytes. PyTorch does not compress it.
inline constexpr uint64_t kMostPickleBytes = uint64_t{1} << 28, kMostDeflatedPickleBytes = uint64_t{1} << 24;
/// The limit of the reader's stack. Python fills lists and dictionaries in steps of 1000 items, but not tuples.
inline constexpr size_t kMostStackItems = 1 << 22;

/// The size of a value as a tree: a pickle of a few bytes can describe 2^100 values by nesting references.
struct TreeSize {
  static constexpr uint32_t kMostDepth = 100;  // destructors and visitors are recursive
  static constexpr uint64_t kMostValues = 1 << 24;
  uint32_t depth = 1;
  uint64_t values = 1;
  /// Adds a child. Returns false if the tree becomes too large.
  bool include(const TreeSize& child) {
    depth = std::max(depth, child.depth + 1);
    values += child.values;
    return depth <= kMostDepth && values <= kMostValues;
  }
};

/// The size of the names in a state. Values that a pickle repeats cost it 2 bytes each, but a name each in the state.
struct NamesSize {
  static constexpr size_t kMostNames = 1 << 20, kMostBytes = 1 << 28;
  size_t names = 0, bytes = 0;
  /// Adds a name. Returns false if there are too many, or they are too long.
  bool include(const std::string& name) {
    bytes += name.size();
    return ++names <= kMostNames && bytes <= kMostBytes;
  }
};

/// Throws StateError if to_state_dict() would refuse a file with these names.
void check_names(const StateDict& state);

}  // namespace tandem::io
