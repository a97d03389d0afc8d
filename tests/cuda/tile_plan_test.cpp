// Which copies use tiles, and that the tiles cover every element once: the arithmetic of kernels/cuda/copy.cu, run on
// the host.
#include "kernels/cuda/tile_plan.h"

#include <gtest/gtest.h>

#include <set>

namespace tandem::cuda {
namespace {

std::optional<TilePlan> plan_of(const Dims& sizes, const Dims& dst, const Dims& src) {
  return plan_tiles(kernels::make_walk<2>(sizes, {IntArrayRef(dst), IntArrayRef(src)}));
}
Dims rows_of(const Dims& sizes) { return contiguous_strides(sizes); }
Dims channels_of(const Dims& sizes) { return channels_last_strides(sizes); }
Dims reversed(const Dims& sizes) {
  Dims strides(sizes.size(), 1);
  for (size_t d = 1; d < sizes.size(); ++d) strides[d] = strides[d - 1] * sizes[d - 1];
  return strides;
}

TEST(TilePlan, UsesTilesBetweenMemoryOrders) {
  const Dims image{2, 64, 8, 8}, matrix{100, 70};
  EXPECT_TRUE(plan_of(image, channels_of(image), rows_of(image)));
  EXPECT_TRUE(plan_of(image, rows_of(image), channels_of(image)));
  EXPECT_TRUE(plan_of(matrix, rows_of(matrix), reversed(matrix)));
  EXPECT_TRUE(plan_of({100, 70}, {1, 128}, {90, 1})) << "rows with gaps";
  EXPECT_TRUE(plan_of({3, 100, 70}, {7000, 1, 100}, {0, 70, 1})) << "an expanded batch";
}

TEST(TilePlan, UsesNoTilesForOtherCopies) {
  const Dims image{2, 64, 8, 8}, few_channels{2, 3, 50, 50}, matrix{100, 70};
  EXPECT_FALSE(plan_of(image, rows_of(image), rows_of(image)));
  EXPECT_FALSE(plan_of(image, channels_of(image), channels_of(image)));
  EXPECT_FALSE(plan_of(few_channels, channels_of(few_channels), rows_of(few_channels))) << "short sides";
  EXPECT_FALSE(plan_of({kLeastSide, kLeastSide - 1}, {kLeastSide - 1, 1}, {1, kLeastSide}));
  EXPECT_FALSE(plan_of(matrix, {140, 2}, reversed(matrix))) << "no neighbours in the destination";
  EXPECT_FALSE(plan_of(matrix, rows_of(matrix), {2, 200})) << "no neighbours in the source";
  EXPECT_FALSE(plan_of(matrix, rows_of(matrix), {1, 0})) << "one element for a whole row";
  EXPECT_FALSE(plan_of({0, 70}, {70, 1}, {1, 0}));
  EXPECT_FALSE(plan_of({70, 0}, {1, 1}, {1, 70}));
  EXPECT_FALSE(plan_of({}, {}, {}));
  EXPECT_FALSE(plan_of({1, 70}, {70, 1}, {1, 1}));
}

/// Returns the pairs (dst, src) that the kernel moves, tile by tile.
std::multiset<std::pair<int64_t, int64_t>> moves_of(const TilePlan& plan) {
  std::multiset<std::pair<int64_t, int64_t>> moves;
  for (int64_t t = 0; t < plan.tiles(); ++t) {
    const TilePlan::Tile tile = plan.locate(t);
    for (int64_t row = tile.row; row < std::min(tile.row + kTile, plan.rows); ++row) {
      for (int64_t column = tile.column; column < std::min(tile.column + kTile, plan.columns); ++column) {
        moves.emplace(tile.dst + column * plan.dst_step + row, tile.src + row * plan.src_step + column);
      }
    }
  }
  return moves;
}

void expect_moves_all(const Dims& sizes, const Dims& dst, const Dims& src) {
  const auto plan = plan_of(sizes, dst, src);
  ASSERT_TRUE(plan);
  std::multiset<std::pair<int64_t, int64_t>> expected;
  const auto walk = kernels::make_walk<2>(sizes, {IntArrayRef(dst), IntArrayRef(src)});
  kernels::for_each_row(walk, 0, walk.numel, [&](const auto& offset, int64_t length) {
    for (int64_t i = 0; i < length; ++i) {
      expected.emplace(offset[0] + i * walk.row_stride(0), offset[1] + i * walk.row_stride(1));
    }
  });
  EXPECT_EQ(moves_of(*plan), expected) << to_string(sizes);
}

TEST(TilePlan, TilesCoverEveryElementOnce) {
  for (int64_t rows : {16, 31, 32, 33, 65}) {
    for (int64_t columns : {16, 31, 32, 33, 100}) {
      const Dims matrix{rows, columns}, cube{rows, 2, 3, columns}, image{2, rows, 3, columns};
      expect_moves_all(matrix, rows_of(matrix), reversed(matrix));
      expect_moves_all(matrix, {columns + 5, 1}, {1, rows + 7});
      expect_moves_all(cube, rows_of(cube), reversed(cube));
      expect_moves_all(image, channels_of(image), rows_of(image));
      expect_moves_all(image, rows_of(image), channels_of(image));
    }
  }
}

TEST(TilePlan, SizesBeyondInt32) {
  const int64_t n = (int64_t{1} << 31) + 5, last = (n - 1) / kTile;
  const auto plan = plan_of({2, 33, n}, {33 * n, n, 1}, {33 * n, 1, 33});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->tiles(), 2 * 2 * (last + 1));
  const TilePlan::Tile tile = plan->locate(plan->tiles() - 1);
  EXPECT_EQ(tile.row, last * kTile);
  EXPECT_EQ(tile.column, 32);
  EXPECT_EQ(tile.dst, 33 * n);
  EXPECT_EQ(tile.src, 33 * n);
}

/// A warp reads the elements of a column; half a warp at a time for 8-byte elements.
TEST(TilePlan, ColumnsHaveNoBankConflicts) {
  for (int bytes : {1, 2, 4, 8}) {
    for (int column = 0; column < kTile; ++column) {
      const int lanes = bytes == 8 ? 16 : 32;
      std::set<int> banks;
      for (int lane = 0; lane < lanes; ++lane) {
        for (int word = 0; word < std::max(1, bytes / 4); ++word) {
          banks.insert((bytes * (lane * tile_row(static_cast<size_t>(bytes)) + column) / 4 + word) % 32);
        }
      }
      EXPECT_EQ(banks.size(), 32u) << bytes << " bytes, column " << column;
    }
  }
}

}  // namespace
}  // namespace tandem::cuda
