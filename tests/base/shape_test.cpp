// Sizes, strides, broadcasting, dimensions.
#include "tandem/base/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/throws.h"
#include "tandem/base/error.h"

namespace tandem {
namespace {

Dims broadcast(IntArrayRef a, IntArrayRef b) { return broadcast_shapes(a, b); }

TEST(Dims, GrowsShrinksAndCompares) {
  Dims d{2, 3};
  d.push_back(4);
  d.insert(0, 1);
  EXPECT_EQ(d, (Dims{1, 2, 3, 4}));
  d.erase(1);
  d.pop_back();
  EXPECT_EQ(d, (Dims{1, 3}));
  EXPECT_NE(d, (Dims{1, 3, 3}));
  EXPECT_EQ(Dims(3, 7), (Dims{7, 7, 7}));
  EXPECT_THROWS(Dims(13, 1), ShapeError, "rank", "12");
  EXPECT_THROWS(Dims(12, 1).push_back(1), ShapeError, "12");
}

TEST(IntArrayRef, BindsToBracesVectorsAndArrays) {
  const std::vector<int64_t> v{1, 2};
  const std::array<int64_t, 2> a{1, 2};
  EXPECT_EQ(IntArrayRef(v), IntArrayRef(a));
  EXPECT_EQ(numel_of({2, 3, 4}), 24);
  EXPECT_EQ(numel_of({}), 1);
  EXPECT_EQ(numel_of({2, 0}), 0);
  EXPECT_EQ(IntArrayRef(v).slice(1, 1)[0], 2);
  EXPECT_EQ(to_string(v), "[1, 2]");
  EXPECT_EQ(to_string(IntArrayRef()), "[]");
}

TEST(Numel, RefusesSizesBeyondInt64) {
  constexpr int64_t half = int64_t{1} << 32;
  EXPECT_EQ(numel_of({half, half / 2 - 1}), half * (half / 2 - 1));
  EXPECT_THROWS(numel_of({half, half}), ShapeError, "4294967296, 4294967296", "int64");
  // For strides, a size of 0 counts as 1.
  EXPECT_THROWS(numel_of({0, half, half}), ShapeError, "0, 4294967296, 4294967296");
  EXPECT_THROWS(contiguous_strides({half, half, half}), ShapeError, "4294967296");
  EXPECT_THROWS(channels_last_strides({2, half, half, half}), ShapeError, "4294967296");
}

TEST(Strides, ContiguousAndChannelsLast) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(contiguous_strides({}), Dims{});
  EXPECT_EQ(contiguous_strides({2, 0, 4}), (Dims{4, 4, 1}));  // as in PyTorch
  EXPECT_EQ(channels_last_strides({2, 3, 4, 5}), (Dims{60, 1, 15, 3}));
  EXPECT_THROWS(channels_last_strides({2, 3, 4}), ShapeError, "channels_last", "rank 3", "[2, 3, 4]");
}

TEST(Broadcast, FollowsNumPysRules) {
  EXPECT_EQ(broadcast({2, 1, 4}, {3, 1}), (Dims{2, 3, 4}));
  EXPECT_EQ(broadcast({}, {5}), Dims{5});
  EXPECT_EQ(broadcast({}, {}), Dims{});
  EXPECT_EQ(broadcast({1}, {0}), Dims{0});
  EXPECT_EQ(broadcast({0, 3}, {1, 3}), (Dims{0, 3}));
  EXPECT_THROWS(broadcast_shapes({2, 3}, {4, 3}), ShapeError, "[2, 3]", "[4, 3]", "dimension 0");
  EXPECT_THROWS(broadcast_shapes({0}, {2}), ShapeError, "sizes 0 and 2");
}

TEST(WrapDim, CountsFromTheEnd) {
  EXPECT_EQ(wrap_dim(-1, 3), 2);
  EXPECT_EQ(wrap_dim(2, 3), 2);
  EXPECT_EQ(wrap_dim(-1, 0), 0);  // rank 0 counts as 1
  EXPECT_EQ(wrap_dim(0, 0), 0);
  EXPECT_THROWS(wrap_dim(3, 3), IndexError, "dimension 3", "rank 3", "[-3, 2]");
  EXPECT_THROWS(wrap_dim(-4, 3), IndexError, "dimension -4");
  EXPECT_THROWS(wrap_dim(1, 0), IndexError, "rank 0");
}

}  // namespace
}  // namespace tandem
