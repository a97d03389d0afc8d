#pragma once
// GroupShape: assigns the threads of a launch to rows whose elements are processed together. Plain host code. All
// choices depend only on the sizes, so results do not depend on the device.
#include <algorithm>
#include <bit>
#include <cstdint>

namespace tandem::cuda {

/// A group of `width` threads per row, `rows` groups per block. The threads of a group are adjacent along the block's x
/// axis, or along its y axis with `columns`: then adjacent elements in memory belong to different rows.
struct GroupShape {
  bool columns = false;
  int width = 1, rows = 256;
  int64_t blocks = 1;  ///< along the grid's x axis; they step through the rows
  /// Parts of the rows, one for each index of the grid's y axis.
  int64_t splits = 1, chunk = 0;
};

namespace detail {
inline constexpr int64_t kRowShare = 8;  // elements of a row per thread: kPerThread
inline constexpr int64_t kMaxGroupBlocks = 1 << 20;
inline constexpr int64_t kBlocksWanted = 1024;  // enough to keep any current device busy
}  // namespace detail

/// The shape for `rows` rows of n elements, with at most max_width threads per row.
inline GroupShape make_group_shape(int64_t rows, int64_t n, bool columns, int max_width = 256) {
  const auto up = [](int64_t v) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(v))); };
  const int64_t wanted = up(std::max<int64_t>(1, (n + detail::kRowShare - 1) / detail::kRowShare));
  GroupShape shape;
  shape.columns = columns;
  if (columns) {
    const int64_t neighbours = std::min<int64_t>(up(std::max<int64_t>(rows, 1)), 32);
    shape.width = static_cast<int>(std::min(wanted, 256 / neighbours));
    shape.rows = 256 / shape.width;
  } else {
    shape.width = static_cast<int>(std::min<int64_t>(wanted, max_width));
    shape.rows = shape.width <= 32 ? 256 / shape.width : 1;
  }
  shape.blocks = std::clamp<int64_t>((rows + shape.rows - 1) / shape.rows, 1, detail::kMaxGroupBlocks);
  shape.chunk = n;
  return shape;
}

/// Splits long rows if there are too few rows to keep a device busy. Chunks are multiples of what a group reads at a
/// time, and no chunk is empty.
inline GroupShape split_rows(GroupShape shape, int64_t n) {
  const int64_t at_a_time = detail::kRowShare * shape.width;
  const int64_t most = std::max<int64_t>(1, n / (4 * at_a_time));
  const int64_t splits = std::clamp<int64_t>(detail::kBlocksWanted / shape.blocks, 1, most);
  const int64_t share = (n + splits - 1) / splits;
  shape.chunk = std::max<int64_t>(1, (share + at_a_time - 1) / at_a_time) * at_a_time;
  shape.splits = std::max<int64_t>(1, (n + shape.chunk - 1) / shape.chunk);
  return shape;
}

}  // namespace tandem::cuda
