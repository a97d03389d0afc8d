// Which layouts the vectorised kernels accept.
#include "kernels/cuda/runs.h"

#include <gtest/gtest.h>

#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

constexpr int64_t kLength = 8;

/// Two operands of these strides, both aligned.
bool accepts(const Dims& sizes, const Dims& a, const Dims& b) {
  void* const aligned = reinterpret_cast<void*>(uintptr_t{4096});
  void* const both[] = {aligned, aligned};
  return in_runs(kernels::make_walk<2>(sizes, {IntArrayRef(a), IntArrayRef(b)}), both, kLength);
}

TEST(Runs, TensorsWithoutGapsInOneOrder) {
  for (const Dims& sizes : {Dims{7}, Dims{3, 5}, Dims{2, 3, 5, 7}, Dims{1}}) {
    EXPECT_TRUE(accepts(sizes, contiguous_strides(sizes), contiguous_strides(sizes)));
  }
  const Dims image{2, 3, 5, 7};
  EXPECT_TRUE(accepts(image, channels_last_strides(image), channels_last_strides(image)));
  EXPECT_FALSE(accepts(image, channels_last_strides(image), contiguous_strides(image)));
}

TEST(Runs, BroadcastOperands) {
  const Dims image{2, 16, 4, 6}, channels_last = channels_last_strides(image), by_channel{0, 1, 0, 0};
  EXPECT_TRUE(accepts(image, channels_last, by_channel));
  EXPECT_TRUE(accepts(image, contiguous_strides(image), by_channel));  // 24 elements of a channel are adjacent
  const Dims odd{2, 16, 3, 5};
  EXPECT_TRUE(accepts(odd, channels_last_strides(odd), by_channel));
  EXPECT_FALSE(accepts(odd, contiguous_strides(odd), by_channel));  // 15 elements
  EXPECT_TRUE(accepts({5, 3}, {3, 1}, {0, 0}));
}

TEST(Runs, PermutedHeads) {
  // [batch, heads, time, 64] stored as [batch, time, heads, 64], copied to row-major.
  const Dims sizes{2, 3, 5, 64}, heads{5 * 3 * 64, 64, 3 * 64, 1};
  EXPECT_TRUE(accepts(sizes, contiguous_strides(sizes), heads));
  const Dims narrow{2, 3, 5, 60}, narrow_heads{5 * 3 * 60, 60, 3 * 60, 1};
  EXPECT_FALSE(accepts(narrow, contiguous_strides(narrow), narrow_heads));
}

TEST(Runs, GapsAndAlignment) {
  EXPECT_TRUE(accepts({4, 16}, {24, 1}, {16, 1}));
  EXPECT_FALSE(accepts({4, 16}, {20, 1}, {16, 1}));  // the second row starts at element 20
  EXPECT_FALSE(accepts({4, 16}, {32, 2}, {32, 2}));  // every second element
  EXPECT_FALSE(accepts({4, 12}, {16, 1}, {16, 1}));  // 12 elements in a row
  void* const aligned = reinterpret_cast<void*>(uintptr_t{4096});
  void* const odd = reinterpret_cast<void*>(uintptr_t{4104});
  const auto walk = kernels::make_walk<2>({64}, {IntArrayRef({1}), IntArrayRef({1})});
  void* const second_is_odd[] = {aligned, odd};
  EXPECT_FALSE(in_runs(walk, second_is_odd, kLength));
  void* const second_is_absent[] = {aligned, nullptr};
  EXPECT_TRUE(in_runs(walk, second_is_absent, kLength));
}

TEST(Runs, LoopsOverRunsVisitEveryElementOnce) {
  const Dims image{2, 16, 3, 5}, by_channel{0, 1, 0, 0};
  const auto walk = kernels::make_walk<2>(image, {channels_last_strides(image), IntArrayRef(by_channel)});
  const Geometry<2> all = make_geometry(walk), runs = runs_of(walk, kLength);
  ASSERT_EQ(runs.numel * kLength, walk.numel);
  for (int64_t r = 0; r < runs.numel; ++r) {
    int64_t start[2], element[2];
    runs.offsets(r, start);
    for (int64_t j = 0; j < kLength; ++j) {
      all.offsets(r * kLength + j, element);
      ASSERT_EQ(start[0] + j, element[0]);
      ASSERT_EQ(start[1] + j, element[1]);
    }
  }
}

TEST(Runs, ATensorsDimension) {
  const Tensor x = empty({4, 16, 3});
  EXPECT_FALSE(in_runs(x, 2, kLength));  // 3 elements
  EXPECT_FALSE(in_runs(x, 1, kLength));  // not contiguous
  EXPECT_TRUE(in_runs(empty({4, 3, 16}), 2, kLength));
  EXPECT_FALSE(in_runs(empty({4, 3, 18}).narrow(2, 0, 16), 2, kLength));  // rows start at multiples of 18
  EXPECT_FALSE(in_runs(empty({40}).narrow(0, 1, 16), 0, kLength));        // starts at element 1
  EXPECT_FALSE(in_runs(empty({}), 0, kLength));
}

}  // namespace
}  // namespace tandem::cuda
