// The geometry of tiles: merging dimensions, cutting, gathering and scattering.
#include "kernels/cpu/tile.h"

#include <algorithm>
#include <utility>

#include "tandem/base/checked.h"

namespace tandem::cpu {

Space make_space(std::initializer_list<const Tensor*> operands, Order order) {
  const TensorImpl& first = (*operands.begin())->impl();
  const int count = static_cast<int>(operands.size());
  if (std::all_of(operands.begin(), operands.end(), [](const Tensor* x) { return x->impl().contiguous; })) {
    Space s;
    s.rank = 1;
    s.numel = s.sizes[0] = first.numel;
    for (int k = 0; k < count; ++k) s.strides[k][0] = 1;
    return s;
  }
  const Dims* strides[kMaxOperands];
  std::transform(operands.begin(), operands.end(), strides, [](const Tensor* x) { return &x->impl().strides; });
  return make_space(first.sizes, strides, count, order);
}

Space make_space(const Dims& sizes, const Dims* const* strides, int operands, Order order) {
  // Dimensions of size 1 are dropped.
  int dims[kMaxRank];
  int rank = 0;
  for (int d = 0; d < static_cast<int>(sizes.size()); ++d) {
    if (sizes[d] != 1) dims[rank++] = d;
  }
  if (order == Order::memory) {
    const Dims& first = *strides[0];
    for (int i = 1; i < rank; ++i) {  // a stable insertion sort, by descending strides
      for (int j = i; j > 0 && first[dims[j - 1]] < first[dims[j]]; --j) std::swap(dims[j - 1], dims[j]);
    }
  }

  Space s;
  s.numel = numel_of(sizes);
  for (int i = 0; i < rank; ++i) {
    const int64_t size = sizes[dims[i]];
    bool merges = s.rank > 0;
    for (int k = 0; k < operands && merges; ++k) {
      merges = Checked((*strides[k])[dims[i]]) * size == s.strides[k][s.rank - 1];
    }
    if (!merges) s.sizes[s.rank++] = 1;
    s.sizes[s.rank - 1] *= size;
    for (int k = 0; k < operands; ++k) s.strides[k][s.rank - 1] = (*strides[k])[dims[i]];
  }
  if (s.rank == 0) {  // one element
    s.rank = 1;
    s.sizes[0] = 1;
    for (int k = 0; k < operands; ++k) s.strides[k][0] = 1;
  }
  return s;
}

Tiling::Tiling(const Space& space) : inner_(space.sizes[space.rank - 1]), outer_(space.numel / inner_) {
  per_row_ = (inner_ + kTile - 1) / kTile;
  rows_per_tile_ = std::max<int64_t>(1, kTile / inner_);
  count_ = per_row_ > 1 ? outer_ * per_row_ : (outer_ + rows_per_tile_ - 1) / rows_per_tile_;
}

Tile Tiling::operator[](int64_t i) const {
  if (per_row_ > 1) {
    const int64_t row = i / per_row_, column = i % per_row_ * kTile;
    return {row * inner_ + column, row, 1, column, std::min(kTile, inner_ - column)};
  }
  const int64_t row = i * rows_per_tile_;
  return {row * inner_, row, std::min(rows_per_tile_, outer_ - row), 0, inner_};
}

namespace detail {
namespace {

template <class T>
void gather_as(T* dst, const T* src, int64_t rows, int64_t row_stride, int64_t length, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r, dst += length, src += row_stride) {
    if (stride == 1 && length >= 16) {
      std::memcpy(dst, src, static_cast<size_t>(length) * sizeof(T));
    } else if (stride == 0) {
      std::fill(dst, dst + length, *src);
    } else {
      for (int64_t i = 0; i < length; ++i) dst[i] = src[i * stride];
    }
  }
}

template <class T>
void scatter_as(T* dst, const T* src, int64_t rows, int64_t row_stride, int64_t length, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r, src += length, dst += row_stride) {
    if (stride == 1 && length >= 16) {
      std::memcpy(dst, src, static_cast<size_t>(length) * sizeof(T));
    } else {
      for (int64_t i = 0; i < length; ++i) dst[i * stride] = src[i];
    }
  }
}

}  // namespace

void gather(void* dst, const void* src, size_t size, int64_t rows, int64_t row_stride, int64_t length, int64_t stride) {
  visit_size(size, [&](auto zero) {
    using T = decltype(zero);
    gather_as(static_cast<T*>(dst), static_cast<const T*>(src), rows, row_stride, length, stride);
  });
}

void scatter(void* dst, const void* src, size_t size, int64_t rows, int64_t row_stride, int64_t length,
             int64_t stride) {
  visit_size(size, [&](auto zero) {
    using T = decltype(zero);
    scatter_as(static_cast<T*>(dst), static_cast<const T*>(src), rows, row_stride, length, stride);
  });
}

Operand::Operand(const Space& space, int index, size_t element_size, void* base)
    : base_(static_cast<char*>(base)),
      size_(static_cast<int64_t>(element_size)),
      sizes_(space.sizes),
      strides_(space.strides[index]),
      rank_(space.rank),
      dense_(true),
      constant_(true) {
  int64_t dense_stride = 1;
  for (int d = rank_ - 1; d >= 0; --d) {
    dense_ = dense_ && strides_[d] == dense_stride;
    constant_ = constant_ && strides_[d] == 0;
    dense_stride *= sizes_[d];
  }
}

int64_t Operand::offset(const Tile& tile) const {
  int64_t offset = tile.column * strides_[rank_ - 1];
  int64_t row = tile.row;
  for (int d = rank_ - 2; d >= 0; --d) {
    offset += row % sizes_[d] * strides_[d];
    row /= sizes_[d];
  }
  return offset;
}

/// Calls f(offset, first row within the tile, rows, row stride) for the longest groups of evenly spaced rows.
template <class F>
void Operand::for_each_block(const Tile& tile, F f) const {
  if (rank_ == 1) return f(offset(tile), int64_t{0}, int64_t{1}, int64_t{0});
  Tile rest = tile;
  while (rest.rows > 0) {
    const int64_t group = std::min(rest.rows, sizes_[rank_ - 2] - rest.row % sizes_[rank_ - 2]);
    f(offset(rest), tile.rows - rest.rows, group, strides_[rank_ - 2]);
    rest.row += group;
    rest.rows -= group;
  }
}

void Operand::gather_to(void* dst, const Tile& tile) const {
  for_each_block(tile, [&](int64_t offset, int64_t row, int64_t rows, int64_t row_stride) {
    gather(static_cast<char*>(dst) + row * tile.length * size_, base_ + offset * size_, static_cast<size_t>(size_),
           rows, row_stride, tile.length, strides_[rank_ - 1]);
  });
}

void Operand::scatter_from(const void* src, const Tile& tile) const {
  for_each_block(tile, [&](int64_t offset, int64_t row, int64_t rows, int64_t row_stride) {
    scatter(base_ + offset * size_, static_cast<const char*>(src) + row * tile.length * size_,
            static_cast<size_t>(size_), rows, row_stride, tile.length, strides_[rank_ - 1]);
  });
}

}  // namespace detail
}  // namespace tandem::cpu
