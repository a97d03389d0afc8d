#pragma once
// TensorList: a list of tensors, each with companions of the same size, packed into one table of words, so that one
// launch visits them all. Work is divided into chunks: runs of kChunk elements of one tensor.
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/cuda/runs.h"

namespace tandem::cuda {

inline constexpr int64_t kChunk = 4096;

/// One tensor and its companions: N operands.
template <size_t N>
struct ListEntry {
  void* data[N] = {};       ///< null: absent
  int64_t numel = 0;        ///< elements to visit; repeated elements of an expanded tensor count once
  int64_t first_chunk = 0;  ///< the entry's first chunk, counted over the list
  int32_t geometry = 0;     ///< index of its Geometry<N> in the table; 0: element i of each operand is at offset i
  DType dtypes[N] = {};
  bool packs = false;  ///< every operand is contiguous and aligned to 16 bytes
};

/// The entry that a chunk belongs to: the last one that starts at or before it. Entries without elements have no
/// chunks.
template <size_t N>
TANDEM_HOST_DEVICE inline int64_t entry_of(const ListEntry<N>* entries, int64_t count, int64_t chunk) {
  int64_t low = 0, high = count;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    if (entries[middle].first_chunk <= chunk) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The list on the host. The tensors must outlive it.
template <size_t N>
class TensorList {
 public:
  static_assert(std::is_trivially_copyable_v<ListEntry<N>> && sizeof(ListEntry<N>) % 8 == 0);
  static_assert(std::is_trivially_copyable_v<Geometry<N>> && sizeof(Geometry<N>) % 8 == 0);

  /// Operand 0 must be defined; others may be null or undefined. Elements are visited in the order of operand 0's
  /// memory or, if `row_major`, in the order of the dimensions.
  void add(const std::array<const Tensor*, N>& tensors, bool row_major = false) {
    ListEntry<N> entry;
    bool contiguous = true, aligned = true;
    for (size_t k = 0; k < N; ++k) {
      if (!tensors[k] || !tensors[k]->defined()) continue;
      entry.data[k] = tensors[k]->raw_bytes();
      entry.dtypes[k] = tensors[k]->impl().dtype;
      contiguous &= tensors[k]->impl().contiguous;
      aligned &= is_aligned(entry.data[k]);
    }
    entry.numel = tensors[0]->impl().numel;
    if (!contiguous) {
      std::array<IntArrayRef, N> strides;
      for (size_t k = 0; k < N; ++k) strides[k] = (entry.data[k] ? tensors[k] : tensors[0])->impl().strides;
      const auto walk = kernels::make_walk<N>(tensors[0]->impl().sizes, strides, row_major);
      entry.numel = walk.numel;
      if (!walk.linear()) {
        geometries_.push_back(make_geometry(walk));
        entry.geometry = static_cast<int32_t>(geometries_.size());
      }
    }
    entry.packs = aligned && entry.geometry == 0;
    entry.first_chunk = chunks_;
    chunks_ += (entry.numel + kChunk - 1) / kChunk;
    entries_.push_back(entry);
  }

  int64_t count() const { return static_cast<int64_t>(entries_.size()); }
  int64_t chunks() const { return chunks_; }

  /// The entries, followed by the geometries of strided entries.
  std::vector<uint64_t> words() const {
    constexpr size_t kEntry = sizeof(ListEntry<N>) / 8, kGeometry = sizeof(Geometry<N>) / 8;
    const size_t first = entries_.size() * kEntry;
    std::vector<uint64_t> table(first + geometries_.size() * kGeometry);
    for (size_t i = 0; i < entries_.size(); ++i) {
      ListEntry<N> entry = entries_[i];
      if (entry.geometry > 0) {
        entry.geometry = static_cast<int32_t>(first + static_cast<size_t>(entry.geometry - 1) * kGeometry);
      }
      std::memcpy(table.data() + i * kEntry, &entry, sizeof(entry));
    }
    for (size_t i = 0; i < geometries_.size(); ++i) {
      std::memcpy(table.data() + first + i * kGeometry, &geometries_[i], sizeof(Geometry<N>));
    }
    return table;
  }

 private:
  std::vector<ListEntry<N>> entries_;
  std::vector<Geometry<N>> geometries_;
  int64_t chunks_ = 0;
};

/// A table passed as a kernel parameter. All parameters of a kernel together may take kMostParameterBytes
/// (launch_shape.h).
template <size_t kWords>
struct InlineTable {
  uint64_t words[kWords];
  explicit InlineTable(const std::vector<uint64_t>& table) {
    if (!table.empty()) std::memcpy(words, table.data(), table.size() * 8);
  }
  TANDEM_HOST_DEVICE const uint64_t* data() const { return words; }
  const InlineTable& parameter() const { return *this; }
};
inline constexpr size_t kSmallTable = 480, kLargeTable = 3968;

/// A table in device memory.
struct DeviceTable {
  const uint64_t* words;
  TANDEM_HOST_DEVICE const uint64_t* data() const { return words; }
};

/// Copies the words to memory of the current device, on the current stream and without waiting. The tensor may be freed
/// once the kernels that read it have been launched.
Tensor upload(const std::vector<uint64_t>& words);

/// Owns a table in device memory.
struct UploadedTable {
  Tensor words;
  DeviceTable parameter() const { return {static_cast<const uint64_t*>(words.raw_bytes())}; }
};

/// Calls f(owner) with the smallest kind of table that holds the words. Kernels take `owner.parameter()`; the owner may
/// be kept for a later launch.
template <class F>
void with_table_owner(const std::vector<uint64_t>& words, F&& f) {
  if (words.size() <= kSmallTable) {
    f(InlineTable<kSmallTable>(words));
  } else if (words.size() <= kLargeTable) {
    f(InlineTable<kLargeTable>(words));
  } else {
    f(UploadedTable{upload(words)});
  }
}

/// Calls f(table) with the smallest kind of table that holds the words.
template <class F>
void with_table(const std::vector<uint64_t>& words, F&& f) {
  with_table_owner(words, [&f](const auto& owner) { f(owner.parameter()); });
}

}  // namespace tandem::cuda
