#pragma once
// TilePlan: divides a copy between two memory orders into square tiles that go through shared memory, so that adjacent
// threads read adjacent source elements and write adjacent destination elements. Host code, except for locate().
#include <optional>

#include "kernels/cuda/geometry.h"

namespace tandem::cuda {

inline constexpr int kTile = 32;
/// Elements per tile row in shared memory: padded by a 4-byte word (or an element), so that the elements of a column
/// are in different banks.
TANDEM_HOST_DEVICE constexpr int tile_row(size_t element_size) {
  return kTile + (element_size < 4 ? 4 / static_cast<int>(element_size) : 1);
}
/// If either side is shorter than this, tiles are too empty, and the accesses of a plain copy are close enough
/// together.
inline constexpr int64_t kLeastSide = kTile / 2;

/// Rows of tiles run along the source's memory, columns along the destination's. Offsets are in elements.
struct TilePlan {
  int64_t rows, columns;       ///< loops with step 1: rows in the destination, columns in the source
  int64_t dst_step, src_step;  ///< of the destination along the columns, of the source along the rows
  int64_t row_tiles, column_tiles;
  Geometry<2> others;  ///< the loops around the tiles: dst, src

  struct Tile {
    int64_t row, column;  ///< of its first element
    int64_t dst, src;     ///< offsets of the matrix that contains the tile
  };
  TANDEM_HOST_DEVICE int64_t tiles() const { return others.numel * row_tiles * column_tiles; }
  /// Tile t. Adjacent tiles follow each other along the destination's memory.
  TANDEM_HOST_DEVICE Tile locate(int64_t t) const {
    const int64_t line = t / row_tiles, matrix = line / column_tiles;
    int64_t offset[2];
    others.offsets(matrix, offset);
    return {(t - line * row_tiles) * kTile, (line - matrix * column_tiles) * kTile, offset[0], offset[1]};
  }
};

/// The tiles of a copy. Empty if copying in the destination's order is better: if adjacent source elements are adjacent
/// there too, if one side has no contiguous dimension, or if a side is short. Operands of the walk: dst, src.
inline std::optional<TilePlan> plan_tiles(const kernels::Walk<2>& walk) {
  const size_t last = walk.rank - 1;  // contiguous in dst
  if (walk.numel == 0 || walk.strides[0][last] != 1 || walk.strides[1][last] <= 1) return {};
  size_t across = 0;  // contiguous in src
  while (across < last && walk.strides[1][across] != 1) ++across;
  if (across == last || walk.sizes[last] < kLeastSide || walk.sizes[across] < kLeastSide) return {};

  TilePlan plan;
  plan.rows = walk.sizes[last];
  plan.columns = walk.sizes[across];
  plan.src_step = walk.strides[1][last];
  plan.dst_step = walk.strides[0][across];
  plan.row_tiles = (plan.rows + kTile - 1) / kTile;
  plan.column_tiles = (plan.columns + kTile - 1) / kTile;
  kernels::Walk<2> others;
  for (size_t d = 0; d < last; ++d) {
    if (d != across) others.append(walk.sizes[d], {walk.strides[0][d], walk.strides[1][d]});
  }
  others.finish();
  plan.others = make_geometry(others);
  return plan;
}

}  // namespace tandem::cuda
