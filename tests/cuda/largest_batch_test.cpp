// The benchmarks' search for the largest batch, with simulated devices of any capacity.
#include "benchmarks/train/largest_batch.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

TEST(LargestBatch, IsFoundWithinOnePercent) {
  for (int64_t room : {1, 2, 3, 63, 64, 65, 100, 590, 1000, 4097, 123456}) {
    int tries = 0;
    const LargestBatch found = largest_batch([&](int64_t batch) {
      ++tries;
      return batch <= room;
    });
    EXPECT_LE(found.fits, room);
    EXPECT_GT(found.too_large, room);
    EXPECT_LE(found.too_large - found.fits, std::max<int64_t>(1, room / 100)) << room;
    EXPECT_LE(tries, 30) << room;
  }
}

TEST(LargestBatch, NothingFitsOrEverythingDoes) {
  const LargestBatch none = largest_batch([](int64_t) { return false; });
  EXPECT_EQ(none.fits, 0);
  EXPECT_EQ(none.too_large, 1);
  const LargestBatch all = largest_batch([](int64_t) { return true; }, 1000);
  EXPECT_EQ(all.fits, 512);
  EXPECT_EQ(all.too_large, 0);
}

}  // namespace
}  // namespace bench
