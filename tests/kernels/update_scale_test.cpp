// The dynamic loss scale: each rule against a plain model on random sequences, then every edge case.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/kernels_under_test.h"
#include "kernels/raw_tensors.h"

namespace tandem {
namespace {

using namespace testing;

constexpr float kInfiniteScale = std::numeric_limits<float>::infinity();

struct Scale {
  ScaleUpdateCall call;
  explicit Scale(double scale) {
    call.scale = scalar_of(scale);
    call.growth_tracker = scalar_of(0, kInt);
    call.hysteresis_tracker = scalar_of(0, kInt);
    call.skips = scalar_of(0, kInt);
  }
  float value() const { return elements_of<float>(call.scale)[0]; }
  int tracker() const { return elements_of<int>(call.growth_tracker)[0]; }
  int skips() const { return elements_of<int>(call.skips)[0]; }
  float update(std::initializer_list<double> found) {
    call.found_infs.clear();
    for (double f : found) call.found_infs.push_back(scalar_of(f));
    under_test().update_scale(call);
    return value();
  }
  float update(bool overflow) { return update({overflow ? 1.0 : 0.0}); }
};

/// PyTorch's rule with the hysteresis rules as their authors state them: Megatron's (in Apex) counts down.
struct Model {
  float scale;
  int tracker = 0, megatron = 0, colossal = 0, paddle = 0;
  void step(bool overflow, const ScaleUpdateCall& c) {
    const int h = static_cast<int>(c.hysteresis);
    if (overflow) {
      tracker = 0;
      bool back_off = false;
      switch (c.rule) {
        case HysteresisRule::megatron:
          back_off = --megatron <= 0;
          break;
        case HysteresisRule::colossal:
          back_off = ++colossal >= h;
          break;
        case HysteresisRule::paddle:
          back_off = ++paddle == h;
          if (back_off) paddle = 0;
          break;
      }
      if (back_off) scale = static_cast<float>(scale * c.backoff_factor);
      return;
    }
    megatron = h;
    paddle = 0;
    if (++tracker >= c.growth_interval) {
      const float grown = static_cast<float>(scale * c.growth_factor);
      if (std::isfinite(grown)) scale = grown;
      tracker = 0;
      colossal = 0;
    }
  }
};

TEST(UpdateScale, MatchesTheModelOnRandomSequences) {
  std::mt19937 random(3);
  for (HysteresisRule rule : {HysteresisRule::megatron, HysteresisRule::colossal, HysteresisRule::paddle}) {
    for (int hysteresis : {1, 2, 3}) {
      for (int interval : {1, 2, 5}) {
        for (double growth : {2.0, 1.7}) {
          Scale s(1024);
          s.call.rule = rule;
          s.call.hysteresis = hysteresis;
          s.call.growth_interval = interval;
          s.call.growth_factor = growth;
          s.call.backoff_factor = 1 / growth;
          Model model{1024};
          model.megatron = hysteresis;
          int skips = 0;
          for (int i = 0; i < 120; ++i) {
            const bool overflow = random() % 3 == 0;
            skips = overflow ? skips + 1 : 0;
            model.step(overflow, s.call);
            ASSERT_EQ(s.update(overflow), model.scale) << static_cast<int>(rule) << ' ' << hysteresis << ' ' << i;
            ASSERT_EQ(s.tracker(), model.tracker);
            ASSERT_EQ(s.skips(), skips);
          }
        }
      }
    }
  }
}

TEST(UpdateScale, AnyFoundInfCounts) {
  Scale s(8);
  EXPECT_EQ(s.update({0, 0, 0}), 8);
  EXPECT_EQ(s.update({0, 1, 0}), 4);
  EXPECT_EQ(s.update({0.5, -0.5}), 2);  // a sum would miss these
  EXPECT_EQ(s.update({NAN}), 1);
}

TEST(UpdateScale, GrowsAfterTheIntervalWasLowered) {
  Scale s(8);
  for (int i = 0; i < 10; ++i) s.update(false);
  s.call.growth_interval = 5;
  EXPECT_EQ(s.update(false), 16);
}

TEST(UpdateScale, NeverReachesInfOrZero) {
  Scale s(1e38);
  s.call.growth_interval = 1;
  s.call.growth_factor = 16;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(s.update(false), 1e38f);
  EXPECT_EQ(s.tracker(), 0);
  for (int i = 0; i < 400; ++i) {
    s.update(true);
    ASSERT_TRUE(std::isnormal(s.value()));
    ASSERT_TRUE(std::isfinite(1 / s.value()));
  }
  EXPECT_LT(s.value(), 0x1p-125f);
}

TEST(UpdateScale, LimitsStopTheScale) {
  Scale s(6);
  s.call.min_scale = 1;
  s.call.max_scale = 20;
  s.call.growth_interval = 1;
  const float down[] = {3, 1.5f, 1, 1};
  for (float expected : down) EXPECT_EQ(s.update(true), expected);
  const float up[] = {2, 4, 8, 16, 20, 20};
  for (float expected : up) EXPECT_EQ(s.update(false), expected);
  // Outside its limits, the scale moves only towards them.
  Scale low(0.5);
  low.call.min_scale = 2;
  low.call.growth_interval = 1;
  EXPECT_EQ(low.update(true), 0.5f);
  EXPECT_EQ(low.update(false), 1);
  Scale high(64);
  high.call.max_scale = 20;
  high.call.growth_interval = 1;
  EXPECT_EQ(high.update(false), 64);
  EXPECT_EQ(high.update(true), 32);
  Scale huge(3e38);
  huge.call.max_scale = 3.2e38;
  huge.call.growth_interval = 1;
  EXPECT_EQ(huge.update(false), 3.2e38f);
}

TEST(UpdateScale, RepairsInvalidScales) {
  for (float bad : {0.0f, -0.0f, -4.0f, kInfiniteScale, -kInfiniteScale, std::nanf(""), 1e-40f}) {
    for (bool overflow : {false, true}) {
      Scale s(bad);
      s.update(overflow);
      EXPECT_EQ(s.value(), 65536) << bad;
      EXPECT_EQ(s.skips(), overflow ? 1 : 0);
      Scale limited(bad);
      limited.call.max_scale = 1024;
      EXPECT_EQ(limited.update(overflow), 1024);
    }
  }
}

TEST(UpdateScale, StaticScaleOnlyCountsSkips) {
  Scale s(128);
  s.call.dynamic = false;
  s.call.growth_interval = 1;
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(s.update(true), 128);
    EXPECT_EQ(s.skips(), i);
  }
  EXPECT_EQ(s.update(false), 128);
  EXPECT_EQ(s.skips(), 0);
  EXPECT_EQ(s.tracker(), 0);
}

TEST(UpdateScale, RepairsInvalidStaticScales) {
  for (float scale : {kInfiniteScale, NAN, 0.0f}) {
    Scale s(scale);
    s.call.dynamic = false;
    EXPECT_EQ(s.update(true), 65536);
    EXPECT_EQ(s.update(true), 65536);
  }
}

TEST(UpdateScale, CountersSaturate) {
  Scale s(8);
  s.call.growth_interval = std::numeric_limits<int64_t>::max();
  s.call.hysteresis = std::numeric_limits<int64_t>::max();
  constexpr int most = std::numeric_limits<int>::max();
  for (const Tensor* t : {&s.call.growth_tracker, &s.call.hysteresis_tracker, &s.call.skips}) set(*t, 0, most);
  s.update(false);
  EXPECT_EQ(s.tracker(), most);
  set(s.call.hysteresis_tracker, 0, most);
  set(s.call.skips, 0, most);
  EXPECT_EQ(s.update(true), 8);
  EXPECT_EQ(s.skips(), most);
}

}  // namespace
}  // namespace tandem
