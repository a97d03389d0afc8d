// channel_padding_pays: where padding pays by the estimate, and how the estimate depends on the sizes.
#include "kernels/cuda/channel_padding.h"

#include <gtest/gtest.h>

namespace tandem::testing {
namespace {

using cuda::channel_padding_pays;

/// Estimates for a square convolution that keeps the image size.
bool pays(int64_t n, int64_t c, int64_t size, int64_t o, int64_t kernel) {
  return channel_padding_pays(Dims{n, c, size, size}, Dims{o, c, kernel, kernel}, Dims{n, o, size, size});
}

TEST(ChannelPadding, NextMultipleOfEight) {
  for (int64_t c = 1; c < 100; ++c) {
    const int64_t padded = cuda::padded_channels(c);
    EXPECT_EQ(padded % 8, 0);
    EXPECT_GE(padded, c);
    EXPECT_LT(padded, c + 8);
    EXPECT_EQ(cuda::slowdown_of(padded), 1);
  }
}

TEST(ChannelPadding, PaysForManyChannels) {
  EXPECT_TRUE(pays(590, 420, 14, 1000, 3));
  EXPECT_TRUE(pays(64, 513, 28, 512, 3));
  EXPECT_TRUE(pays(64, 512, 28, 513, 3));
}

TEST(ChannelPadding, DoesNotPayForMultiplesOfEight) { EXPECT_FALSE(pays(590, 424, 14, 1000, 3)); }

TEST(ChannelPadding, DoesNotPayInFirstLayers) {
  for (const int64_t c : {1, 2, 3, 4}) {
    for (const int64_t kernel : {3, 5, 7}) EXPECT_FALSE(pays(64, c, 224, 64, kernel)) << c << " " << kernel;
  }
  EXPECT_FALSE(pays(590, 1, 28, 420, 3));
}

TEST(ChannelPadding, DoesNotPayIfTheCopyCostsMore) {
  EXPECT_FALSE(pays(64, 36, 56, 64, 1)) << "1x1: little arithmetic per byte";
  EXPECT_FALSE(pays(64, 100, 28, 100, 3));
}

// With more outputs, the same copy of x is used for more arithmetic.
TEST(ChannelPadding, StillPaysForMoreOutputs) {
  bool paid = false;
  for (int64_t o = 8; o <= 4096; o *= 2) {
    const bool now = pays(64, 420, 14, o, 3);
    EXPECT_TRUE(now || !paid) << o;
    paid = now;
  }
  EXPECT_TRUE(paid);
}

}  // namespace
}  // namespace tandem::testing
