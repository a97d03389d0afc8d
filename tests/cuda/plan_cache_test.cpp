// PlanCache: which plans are created, found and evicted.
#include "kernels/cuda/plan_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

namespace tandem::testing {
namespace {

struct Key {
  int64_t a = 0, b = 0;
  friend bool operator==(const Key&, const Key&) = default;
};

TEST(PlanCache, CreatesEachPlanOnce) {
  cuda::PlanCache<Key, std::unique_ptr<int64_t>> plans(8);
  int made = 0;
  for (int round = 0; round < 3; ++round) {
    for (int64_t a = 0; a < 4; ++a) {
      for (int64_t b = 0; b < 2; ++b) {
        const auto& plan = plans.find_or_make({a, b}, [&] {
          ++made;
          return std::make_unique<int64_t>(10 * a + b);
        });
        EXPECT_EQ(*plan, 10 * a + b);
      }
    }
  }
  EXPECT_EQ(made, 8);
  EXPECT_EQ(plans.size(), 8u);
}

TEST(PlanCache, EvictsTheLeastRecentlyUsed) {
  cuda::PlanCache<Key, int64_t> plans(2);
  int made = 0;
  const auto use = [&](int64_t a) {
    return plans.find_or_make({a, 0}, [&] {
      ++made;
      return a;
    });
  };
  use(1);
  use(2);
  use(1);
  use(3);  // evicts 2
  EXPECT_EQ(made, 3);
  EXPECT_EQ(use(1), 1);
  EXPECT_EQ(use(3), 3);
  EXPECT_EQ(made, 3);
  EXPECT_EQ(use(2), 2);
  EXPECT_EQ(made, 4);
  EXPECT_EQ(plans.size(), 2u);
}

TEST(PlanCache, KeepsNothingIfCreationFails) {
  cuda::PlanCache<Key, int64_t> plans(2);
  EXPECT_THROW(plans.find_or_make({1, 1}, []() -> int64_t { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(plans.size(), 0u);
  EXPECT_EQ(plans.find_or_make({1, 1}, [] { return int64_t{7}; }), 7);
}

}  // namespace
}  // namespace tandem::testing
