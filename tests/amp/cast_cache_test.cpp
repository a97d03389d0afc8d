#include "tandem/amp/cast_cache.h"

#include <gtest/gtest.h>

#include "support/device.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/allocator.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

using testing::device_type;

using amp::AutocastGuard;

struct CastCacheTest : ::testing::Test {
  void SetUp() override { amp::clear_autocast_cache(); }
  Tensor x = full({2, 3}, 0.5);
  Tensor w = full({4, 3}, 0.25).requires_grad_();
};

TEST_F(CastCacheTest, OneCastPerWeightPerRegion) {
  const auto before = amp::autocast_cache_stats();
  {
    AutocastGuard guard(device_type());
    for (int i = 0; i < 3; ++i) linear(x, w);
    const auto now = amp::autocast_cache_stats();
    EXPECT_EQ(now.misses - before.misses, 1);
    EXPECT_EQ(now.hits - before.hits, 2);
    EXPECT_EQ(now.uncached - before.uncached, 3) << "the batch is cast each time";
    EXPECT_EQ(now.entries, 1);
    EXPECT_EQ(now.bytes, 4 * 3 * 2);
    {
      AutocastGuard inner(device_type());
      linear(x, w);
    }
    EXPECT_EQ(amp::autocast_cache_stats().entries, 1) << "only the outermost region clears";
  }
  EXPECT_EQ(amp::autocast_cache_stats().entries, 0);
  EXPECT_EQ(amp::autocast_cache_stats().bytes, 0);
}

TEST_F(CastCacheTest, CacheCanBeOffClearedAndBounded) {
  const auto before = amp::autocast_cache_stats();
  {
    AutocastGuard guard(device_type(), {}, true, false);
    linear(x, w);
    EXPECT_EQ(amp::autocast_cache_stats().entries, 0);
  }
  AutocastGuard guard(device_type());
  linear(x, w);
  EXPECT_EQ(amp::autocast_cache_stats().entries, 1);
  amp::clear_autocast_cache();
  EXPECT_EQ(amp::autocast_cache_stats().entries, 0);
  amp::set_autocast_cache_limit(8);
  linear(x, w);
  EXPECT_EQ(amp::autocast_cache_stats().entries, 0);
  amp::set_autocast_cache_limit(INT64_MAX);
  linear(x, w);
  EXPECT_EQ(amp::autocast_cache_stats().misses - before.misses, 2);
}

TEST_F(CastCacheTest, CachesOnlyTrainedOrRegisteredWeights) {
  AutocastGuard guard(device_type());
  auto entries_after = [&](const Tensor& weight) {
    amp::clear_autocast_cache();
    linear(x, weight);
    return amp::autocast_cache_stats().entries;
  };
  EXPECT_EQ(entries_after(w), 1);
  EXPECT_EQ(entries_after(w * 1), 0) << "made by an op";
  EXPECT_EQ(entries_after(ones({4, 3})), 0) << "neither trained nor registered";
  Tensor frozen = ones({4, 3});
  frozen.impl().is_parameter = true;
  EXPECT_EQ(entries_after(frozen), 1) << "a frozen parameter";
  InferenceMode inference;
  EXPECT_EQ(entries_after(w), 0);
}

TEST_F(CastCacheTest, TwoViewsOfOneBufferHaveTwoEntries) {
  const Tensor flat = ones({24});
  const Tensor a = flat.narrow(0, 0, 12).view({4, 3}).detach().requires_grad_();
  const Tensor b = flat.narrow(0, 12, 12).view({4, 3}).detach().requires_grad_();
  AutocastGuard guard(device_type());
  linear(x, a);
  linear(x, b);
  EXPECT_EQ(amp::autocast_cache_stats().entries, 2);
}

TEST_F(CastCacheTest, NewWeightAtAReusedAddressIsCast) {
  AutocastGuard guard(device_type());
  for (int i = 0; i < 50; ++i) {
    const Tensor weight = full({4, 3}, i, kFloat).requires_grad_();
    EXPECT_EQ(linear(x, weight)[0][0].item<float>(), 1.5F * static_cast<float>(i));
  }
}

TEST_F(CastCacheTest, CastsOfDestroyedWeightsAreReleased) {
  const Tensor input = ones({1, 64});
  AutocastGuard guard(device_type());
  std::vector<Tensor> live;
  for (int i = 0; i < 100; ++i) {
    live.push_back(ones({64, 64}).requires_grad_());
    linear(input, live.back());
  }
  const int64_t held = amp::autocast_cache_stats().bytes;
  EXPECT_EQ(amp::autocast_cache_stats().entries, 100);
  for (int i = 0; i < 1000; ++i) {
    linear(input, ones({64, 64}).requires_grad_());
    ASSERT_LE(amp::autocast_cache_stats().bytes, 2 * held) << i;
  }
  const auto stats = amp::autocast_cache_stats();
  for (const Tensor& weight : live) linear(input, weight);
  EXPECT_EQ(amp::autocast_cache_stats().hits, stats.hits + 100) << "casts of existing weights stay";
}

TEST_F(CastCacheTest, CastsOfTemporaryWeightsDoNotAccumulate) {
  AutocastGuard guard(device_type());
  for (int i = 0; i < 100; ++i) {
    linear(x, ones({4, 3}).requires_grad_());
    ASSERT_EQ(amp::autocast_cache_stats().entries, 1);
  }
}

TEST_F(CastCacheTest, CastingViewOpsDoNotAliasTheCache) {
  AutocastGuard guard(device_type());
  const float before = linear(x, w)[0][0].item<float>();
  {
    amp::PolicyGuard policy({{"view", amp::Cast::lower}, {"transpose", amp::Cast::lower}});
    NoGradGuard no_grad;
    const Tensor y = w.view({3, 4});
    EXPECT_EQ(y.dtype(), amp::get_autocast_dtype(device_type()));
    y.mul_(0);
    w.transpose(0, 1).mul_(0);
  }
  EXPECT_EQ(linear(x, w)[0][0].item<float>(), before);
  EXPECT_EQ(w[0][0].item<float>(), 0.25F);
}

TEST_F(CastCacheTest, CastingViewOpsPropagateGradients) {
  AutocastGuard guard(device_type());
  amp::PolicyGuard policy({{"view", amp::Cast::lower}});
  w.view({3, 4}).to(kFloat).sum().backward();
  EXPECT_TRUE(w.grad().eq(1).all().item<bool>());
}

TEST_F(CastCacheTest, ReplacedDataIsCastAgain) {
  AutocastGuard guard(device_type());
  EXPECT_EQ(linear(x, w)[0][0].item<float>(), 0.375F);
  w.set_data(full({4, 3}, 2.0));  // different storage, same version
  EXPECT_EQ(linear(x, w)[0][0].item<float>(), 3);
}

TEST_F(CastCacheTest, CastsOutliveTheirRegionOnlyWithAnOptimizer) {
  const Tensor weight = full({1024, 1024}, 0.25).requires_grad_(), input = ones({1, 1024});
  const auto region = [&] {
    AutocastGuard guard(device_type());
    linear(input, weight).sum().backward();
  };
  region();
  weight.mutable_grad() = Tensor();
  const int64_t before = cpu::memory_allocated();
  const int64_t one_copy = [&] {  // including the allocator's padding
    const Tensor copy = empty_like(weight, kBFloat16);
    return cpu::memory_allocated() - before;
  }();
  region();
  weight.mutable_grad() = Tensor();
  EXPECT_EQ(cpu::memory_allocated(), before) << "no code requested the cast";

  optim::SGD sgd({weight}, optim::SGDOptions(0.5));
  for (int i = 0; i < 3; ++i) {
    region();
    sgd.step();
    sgd.zero_grad();
  }
  EXPECT_EQ(cpu::memory_allocated(), before + one_copy) << "the step wrote a copy";
  const auto stats = amp::autocast_cache_stats();
  AutocastGuard guard(device_type());
  EXPECT_EQ(linear(input, weight)[0][0].item<float>(), 1024 * (0.25F - 1.5F));
  EXPECT_EQ(amp::autocast_cache_stats().hits - stats.hits, 1);
}

TEST_F(CastCacheTest, HoldsOneCopyPerWeight) {
  const Tensor weight = full({1024, 1024}, 0.25).requires_grad_(), input = ones({1, 1024});
  optim::SGD sgd({weight}, optim::SGDOptions(0.5));
  const int64_t before = cpu::memory_allocated();
  const int64_t one_copy = [&] {  // including the allocator's padding
    const Tensor copy = empty_like(weight, kBFloat16);
    return cpu::memory_allocated() - before;
  }();
  for (int i = 0; i < 3; ++i) {
    sgd.zero_grad();
    AutocastGuard guard(device_type(), kBFloat16);
    linear(input, weight).sum().backward();
    sgd.step();
  }
  sgd.zero_grad();
  EXPECT_EQ(cpu::memory_allocated(), before + one_copy) << "the lasting copy";
  NoGradGuard no_grad;
  weight.mul_(2);
  AutocastGuard guard(device_type(), kBFloat16);
  linear(input, weight);
  EXPECT_EQ(cpu::memory_allocated(), before + one_copy) << "the new cast, without the stale copy";
}

}  // namespace
}  // namespace tandem
