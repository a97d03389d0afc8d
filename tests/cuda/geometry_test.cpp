// The offset of element i for tensors of any strides: the kernels' index arithmetic, run on the host.
#include "kernels/cuda/geometry.h"

#include <gtest/gtest.h>

#include "tandem/base/shape.h"

namespace tandem::cuda {
namespace {

/// Compares offsets(i) with loops over `sizes`, in the order of the first operand's memory.
void expect_visits_all(const Dims& sizes, const Dims& a, const Dims& b) {
  const auto walk = kernels::make_walk<2>(sizes, {IntArrayRef(a), IntArrayRef(b)});
  const Geometry<2> geometry = make_geometry<2>(walk);
  ASSERT_EQ(geometry.numel, walk.numel);
  int64_t i = 0;
  kernels::for_each_row(walk, 0, walk.numel, [&](const auto& offset, int64_t length) {
    for (int64_t j = 0; j < length; ++j, ++i) {
      int64_t at[2];
      geometry.offsets(i, at);
      ASSERT_EQ(at[0], offset[0] + j * walk.row_stride(0)) << i;
      ASSERT_EQ(at[1], offset[1] + j * walk.row_stride(1)) << i;
    }
  });
  EXPECT_EQ(i, walk.numel);
}

TEST(Geometry, VisitsEveryElement) {
  for (const Dims& sizes : {Dims{}, Dims{0}, Dims{1}, Dims{31}, Dims{33, 7}, Dims{5, 1, 3}, Dims{2, 3, 4, 5}}) {
    const Dims dense = contiguous_strides(sizes);
    Dims expanded = dense, spread = dense;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (d % 2 == 0) expanded[d] = 0;
      spread[d] *= 3;
    }
    expect_visits_all(sizes, dense, dense);
    expect_visits_all(sizes, dense, expanded);
    expect_visits_all(sizes, spread, dense);
  }
  const Dims image{2, 3, 4, 5};
  expect_visits_all(image, contiguous_strides(image), channels_last_strides(image));
  expect_visits_all(image, channels_last_strides(image), contiguous_strides(image));
}

TEST(Geometry, IndicesBeyondInt32) {
  const int64_t rows = 3, n = (int64_t{1} << 30) + 5;  // 3 n = 2^31 + 2^30 + 15
  const Dims sizes{rows, n};
  const auto walk = kernels::make_walk<2>(sizes, {IntArrayRef({n, 1}), IntArrayRef({1, rows})});
  const Geometry<2> geometry = make_geometry<2>(walk);
  for (int64_t i : {int64_t{0}, n - 1, n, (int64_t{1} << 31) - 1, int64_t{1} << 31, rows * n - 1}) {
    int64_t at[2];
    geometry.offsets(i, at);
    EXPECT_EQ(at[0], i);
    EXPECT_EQ(at[1], i % n * rows + i / n);
  }
}

}  // namespace
}  // namespace tandem::cuda
