#pragma once
// Tiles: present tensors of any strides and dtypes to element-wise kernels as short contiguous runs of one compute
// type.
//
// The operands' common index space is simplified: dimensions are merged and, if the order does not matter, sorted by
// the output's memory. It is cut into tiles of up to kTile elements. A TileReader presents an operand's tile as a
// contiguous run of C: in place if it is one in memory, else gathered and converted into a buffer in the first-level
// cache. A TileWriter does the reverse. So a formula is compiled only for f32, f64 and i64, whatever the dtypes.
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "kernels/compute.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/convert.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cpu {

inline constexpr int64_t kTile = 1024;
inline constexpr int kMaxOperands = 5;

/// Sizes, outermost first, and the operands' strides in elements. rank >= 1; empty dimensions give numel 0.
struct Space {
  int rank = 0;
  int64_t numel = 0;
  int64_t sizes[kMaxRank];
  int64_t strides[kMaxOperands][kMaxRank];
};

enum class Order : uint8_t {
  memory,   ///< tiles follow the first operand's memory: for kernels that treat all elements alike
  logical,  ///< tiles follow the row-major order of the sizes, in which Tile::begin counts
};

/// The space of operands of equal sizes, with as few dimensions as their strides allow.
Space make_space(std::initializer_list<const Tensor*> operands, Order order);
/// The same from sizes and `operands` lists of strides.
Space make_space(const Dims& sizes, const Dims* const* strides, int operands, Order order);

/// The offset in elements of an operand's element `index`, counted in row-major order of the space.
inline int64_t offset_of(const Space& space, int operand, int64_t index) {
  int64_t offset = 0;
  for (int d = space.rank - 1; d >= 0; --d) {
    offset += index % space.sizes[d] * space.strides[operand][d];
    index /= space.sizes[d];
  }
  return offset;
}

/// `rows` consecutive rows of the innermost dimension, or a part of one row (rows = 1).
struct Tile {
  int64_t begin;  ///< index of the first element
  int64_t row, rows, column, length;
  int64_t size() const { return rows * length; }
};

/// The tiles of a space.
class Tiling {
 public:
  explicit Tiling(const Space& space);
  int64_t count() const { return count_; }
  Tile operator[](int64_t i) const;

 private:
  int64_t inner_, outer_, per_row_, rows_per_tile_, count_;
};

/// Calls f(tile) for all tiles on several threads; `make` creates each thread's f.
template <class Make>
void for_each_tile(const Space& space, Make&& make) {
  if (space.numel == 0) return;
  const Tiling tiling(space);
  parallel_for(tiling.count(), grain_of(kTile), [&](int64_t begin, int64_t end) {
    auto f = make();
    for (int64_t i = begin; i < end; ++i) f(tiling[i]);
  });
}

using kernels::compute_type;
using kernels::visit_compute;

/// Calls f(T{}) with the unsigned integer type of an element's size.
template <class F>
void visit_size(size_t size, F f) {
  if (size == 1) return f(uint8_t{});
  if (size == 2) return f(uint16_t{});
  if (size == 4) return f(uint32_t{});
  f(uint64_t{});
}

namespace detail {

template <class C>
inline constexpr bool kIsCompute = std::is_same_v<C, float> || std::is_same_v<C, double> || std::is_same_v<C, int64_t>;

/// Copies rows x length elements of `size` bytes; strides in elements. Rows of the contiguous side follow each other
/// without gaps.
void gather(void* dst, const void* src, size_t size, int64_t rows, int64_t row_stride, int64_t length, int64_t stride);
void scatter(void* dst, const void* src, size_t size, int64_t rows, int64_t row_stride, int64_t length, int64_t stride);

/// The memory layout of an operand.
class Operand {
 public:
  Operand(const Space& space, int index, size_t element_size, void* base);

  /// The tile's first element if its elements are contiguous, else null.
  char* contiguous(const Tile& tile) const {
    if (dense_) return base_ + tile.begin * size_;
    if (tile.rows == 1 && strides_[rank_ - 1] == 1) return base_ + offset(tile) * size_;
    return nullptr;
  }
  bool constant() const { return constant_; }
  char* base() const { return base_; }
  size_t element_size() const { return static_cast<size_t>(size_); }
  void gather_to(void* dst, const Tile& tile) const;
  void scatter_from(const void* src, const Tile& tile) const;

 private:
  int64_t offset(const Tile& tile) const;
  template <class F>
  void for_each_block(const Tile& tile, F f) const;

  char* base_;
  int64_t size_;
  const int64_t* sizes_;
  const int64_t* strides_;
  int rank_;
  bool dense_, constant_;
};

}  // namespace detail

/// Reads an operand as C: a compute type, or another type of the dtype's size to read the bits unchanged. The space
/// must outlive the reader.
template <class C>
class TileReader {
 public:
  TileReader(const Space& space, int index, const Tensor& x) : TileReader(space, index, x.dtype(), x.raw_bytes()) {}
  TileReader(const Space& space, int index, DType dtype, void* base)
      : operand_(space, index, element_size(dtype), base) {
    if constexpr (detail::kIsCompute<C>) {
      if (dtype != dtype_of<C>) load_ = convert_tables().of<C>().load[static_cast<int>(dtype)];
    }
    fill_if_constant();
  }
  /// Changes the base, and the sizes and strides if the space has changed.
  void move_to(const Space& space, int index, const void* base) {
    operand_ = detail::Operand(space, index, operand_.element_size(), const_cast<void*>(base));
    fill_if_constant();
  }

  /// Returns the tile's elements, valid until the next call.
  const C* read(const Tile& tile) {
    if (operand_.constant()) return buffer_;
    if (!load_) {
      if (const char* p = operand_.contiguous(tile)) return reinterpret_cast<const C*>(p);
    }
    read_to(buffer_, tile);
    return buffer_;
  }

  /// Writes the tile's elements to `dst`.
  void read_to(C* dst, const Tile& tile) {
    const void* src = operand_.contiguous(tile);
    if (!src) {
      src = load_ ? static_cast<void*>(raw_) : dst;
      operand_.gather_to(const_cast<void*>(src), tile);
    }
    if (load_) {
      load_(dst, src, tile.size());
    } else if (src != dst) {
      std::memcpy(dst, src, static_cast<size_t>(tile.size()) * sizeof(C));
    }
  }

 private:
  void fill_if_constant() {
    if (!operand_.constant()) return;
    C value;
    load_ ? load_(&value, operand_.base(), 1) : static_cast<void>(std::memcpy(&value, operand_.base(), sizeof(C)));
    for (C& v : buffer_) v = value;
  }

  detail::Operand operand_;
  void (*load_)(C*, const void*, int64_t) = nullptr;
  alignas(64) C buffer_[kTile];
  alignas(64) char raw_[kTile * 8];
};

/// Writes an operand from elements of type C.
template <class C>
class TileWriter {
 public:
  TileWriter(const Space& space, int index, const Tensor& y) : TileWriter(space, index, y.dtype(), y.raw_bytes()) {}
  TileWriter(const Space& space, int index, DType dtype, void* base)
      : operand_(space, index, element_size(dtype), base) {
    if constexpr (detail::kIsCompute<C>) {
      if (dtype != dtype_of<C>) store_ = convert_tables().of<C>().store[static_cast<int>(dtype)];
    }
  }

  /// Where to write the tile's elements: in place or in a buffer.
  C* target(const Tile& tile) {
    if (!store_) {
      if (char* p = operand_.contiguous(tile)) return reinterpret_cast<C*>(p);
    }
    return buffer_;
  }
  const C* buffer() const { return buffer_; }

  /// Completes the tile from `data`, which may be the target or any other memory.
  void commit(const Tile& tile, const C* data) {
    char* dst = operand_.contiguous(tile);
    if (dst == reinterpret_cast<const char*>(data)) return;
    if (!store_) {
      dst ? static_cast<void>(std::memcpy(dst, data, static_cast<size_t>(tile.size()) * sizeof(C)))
          : operand_.scatter_from(data, tile);
      return;
    }
    store_(dst ? dst : raw_, data, tile.size());
    if (!dst) operand_.scatter_from(raw_, tile);
  }

 private:
  detail::Operand operand_;
  void (*store_)(void*, const C*, int64_t) = nullptr;
  alignas(64) C buffer_[kTile];
  alignas(64) char raw_[kTile * 8];
};

}  // namespace tandem::cpu
