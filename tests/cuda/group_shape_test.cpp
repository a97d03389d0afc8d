// The distribution of rows over threads, for awkward sizes: the properties that the kernels rely on.
#include "kernels/cuda/group_shape.h"

#include <gtest/gtest.h>

#include <vector>

namespace tandem::cuda {
namespace {

constexpr int64_t kHuge = (int64_t{1} << 31) + 5;
constexpr int64_t kSizes[] = {0, 1, 7, 8, 9, 31, 32, 33, 255, 256, 257, 1000, 8191, 8193, 100000, kHuge};

template <class F>
void for_each_shape(F f) {
  for (int64_t rows : kSizes) {
    for (int64_t n : kSizes) {
      for (bool columns : {false, true}) {
        for (int max_width : {32, 256, 1024}) {
          if (columns && max_width != 256) continue;  // max_width does not apply to columns
          SCOPED_TRACE(::testing::Message()
                       << rows << " rows of " << n << (columns ? ", columns, " : ", ") << max_width);
          f(rows, n, columns, max_width, make_group_shape(rows, n, columns, max_width));
        }
      }
    }
  }
}

TEST(GroupShape, BlocksAreWholeWarps) {
  for_each_shape([](int64_t, int64_t, bool columns, int max_width, const GroupShape& s) {
    const int threads = s.width * s.rows;
    EXPECT_EQ(threads % 32, 0);
    EXPECT_LE(threads, std::max(256, max_width));
    EXPECT_EQ(s.columns, columns);
    EXPECT_TRUE(std::has_single_bit(static_cast<unsigned>(s.width)));
    EXPECT_LE(s.width, columns ? 256 : max_width);
    EXPECT_TRUE(columns || s.width <= 32 || s.rows == 1) << "a group reduces within whole warps or has the whole block";
    EXPECT_GE(s.blocks, 1);
    EXPECT_LE(s.blocks, 0x7fffffff);
  });
}

TEST(GroupShape, GroupsAreNoWiderThanTheirRows) {
  for_each_shape([](int64_t, int64_t n, bool, int, const GroupShape& s) {
    EXPECT_LT(int64_t{s.width} * detail::kRowShare, 2 * std::max(n, detail::kRowShare)) << "half of it would idle";
  });
}

/// Visits the rows as Group does in the groups of all blocks.
TEST(GroupShape, EveryRowIsVisitedOnce) {
  for_each_shape([](int64_t rows, int64_t, bool, int, const GroupShape& s) {
    if (rows > 10000) {
      EXPECT_TRUE(s.blocks * s.rows >= rows || s.blocks == detail::kMaxGroupBlocks);
      return;
    }
    std::vector<int> visits(static_cast<size_t>(rows));
    for (int64_t block = 0; block < s.blocks; ++block) {
      for (int64_t first = block * s.rows; first < rows; first += s.blocks * s.rows) {
        for (int64_t row = first; row < std::min(rows, first + s.rows); ++row) ++visits[static_cast<size_t>(row)];
      }
    }
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
  });
}

TEST(GroupShape, SplitsCoverEachRowAndAreNotEmpty) {
  for_each_shape([](int64_t, int64_t n, bool, int, const GroupShape& whole) {
    const GroupShape s = split_rows(whole, n);
    EXPECT_EQ(s.width, whole.width);
    EXPECT_GE(s.splits, 1);
    EXPECT_LE(s.splits, detail::kBlocksWanted) << "within the grid's y axis, at most 65535";
    EXPECT_EQ(s.chunk % (detail::kRowShare * s.width), 0) << "a chunk is read in complete rounds";
    EXPECT_GE(s.splits * s.chunk, n);
    EXPECT_LT((s.splits - 1) * s.chunk, std::max<int64_t>(n, 1));
  });
}

TEST(GroupShape, SplitsLongRowsOnlyIfFew) {
  EXPECT_GT(split_rows(make_group_shape(1, kHuge, false), kHuge).splits, 500);
  EXPECT_EQ(split_rows(make_group_shape(kHuge, 100000, false), 100000).splits, 1);
  EXPECT_EQ(split_rows(make_group_shape(1, 33, false), 33).splits, 1);
}

}  // namespace
}  // namespace tandem::cuda
