// Options, limits and rules of the scale, and the state of a scaler.
#include <cmath>
#include <string>
#include <utility>

#include "amp/grad_scaler_support.h"
#include "support/throws.h"

namespace tandem::testing {
namespace {

using amp::GradScaler;
using amp::GradScalerOptions;
using amp::Hysteresis;

TEST_F(GradScalerTest, MovedFromScalerThrows) {
  GradScaler scaler;
  scaler.scale(ones({}));
  const GradScaler taken = std::move(scaler);
  EXPECT_EQ(taken.get_scale(), 65536);
  // NOLINTBEGIN(bugprone-use-after-move)
  EXPECT_THROWS(scaler.set_growth_factor(3), StateError, "set_growth_factor", "moved");
  EXPECT_THROWS(scaler.set_backoff_factor(0.25), StateError, "set_backoff_factor", "moved");
  EXPECT_THROWS(scaler.set_growth_interval(3), StateError, "set_growth_interval", "moved");
  EXPECT_THROWS(scaler.scale(ones({})), StateError, "scale", "moved");
  EXPECT_THROWS(scaler.load_state_dict(taken.state_dict()), StateError, "load_state_dict", "moved");
  EXPECT_THROWS(scaler.step(sgd), StateError, "step");
  EXPECT_THROWS(scaler.update(), StateError, "update");
  scaler = GradScaler();
  // NOLINTEND(bugprone-use-after-move)
  scaler.set_growth_factor(3);
}

TEST_F(GradScalerTest, UpdateAcceptsANewScale) {
  GradScaler scaler;
  backward(scaler);
  scaler.update(32.0);
  EXPECT_EQ(scaler.get_scale(), 32);
  scaler.update(full({1}, 16.0));
  EXPECT_EQ(scaler.get_scale(), 16);
  EXPECT_THROWS(scaler.update(0.0), StateError, "new_scale");
  EXPECT_THROWS(scaler.update(NAN), StateError, "new_scale");
  EXPECT_THROWS(scaler.update(ones({2})), StateError, "one element");
  EXPECT_THROWS(scaler.update(ones({1}, kDouble)), StateError, "f32");
  EXPECT_EQ(scaler.get_scale(), 16);
}

TEST_F(GradScalerTest, OptionsAreChecked) {
  auto make = [](const GradScalerOptions& o) { GradScaler scaler(o); };
  EXPECT_THROWS(make(GradScalerOptions().growth_factor(1)), StateError, "growth_factor", "1");
  EXPECT_THROWS(make(GradScalerOptions().backoff_factor(1)), StateError, "backoff_factor");
  EXPECT_THROWS(make(GradScalerOptions().backoff_factor(0)), StateError, "backoff_factor");
  EXPECT_THROWS(make(GradScalerOptions().growth_interval(0)), StateError, "growth_interval");
  EXPECT_THROWS(make(GradScalerOptions().init_scale(0)), StateError, "init_scale");
  EXPECT_THROWS(make(GradScalerOptions().init_scale(INFINITY)), StateError, "init_scale");
  EXPECT_THROWS(make(GradScalerOptions().min_scale(8).max_scale(4)), StateError, "min_scale", "max_scale");
  EXPECT_THROWS(make(GradScalerOptions().init_scale(2).min_scale(8)), StateError, "init_scale");
  EXPECT_THROWS(make(GradScalerOptions().hysteresis(0)), StateError, "hysteresis");
  EXPECT_THROWS(make(GradScalerOptions().max_consecutive_skips(-1)), StateError, "max_consecutive_skips");
  GradScaler scaler;
  EXPECT_THROWS(scaler.set_growth_factor(0.5), StateError, "growth_factor");
  EXPECT_THROWS(scaler.set_backoff_factor(2), StateError, "backoff_factor");
  EXPECT_THROWS(scaler.set_growth_interval(-1), StateError, "growth_interval");
  scaler.set_growth_factor(4);
  scaler.set_backoff_factor(0.25);
  scaler.set_growth_interval(7);
  EXPECT_EQ(scaler.get_growth_factor(), 4);
  EXPECT_EQ(scaler.get_backoff_factor(), 0.25);
  EXPECT_EQ(scaler.get_growth_interval(), 7);
}

TEST_F(GradScalerTest, DisabledScalerChangesNothing) {
  GradScaler scaler(GradScalerOptions().enabled(false));
  const Tensor loss = (p * 2).sum();
  EXPECT_TRUE(scaler.scale(loss).is_same(loss));
  loss.backward();
  scaler.unscale_(sgd);
  EXPECT_FALSE(scaler.step(sgd).skipped());
  scaler.update();
  EXPECT_EQ(p[0].item<float>(), 2);
  EXPECT_EQ(scaler.get_scale(), 1);
  EXPECT_TRUE(scaler.state_dict().empty());
  EXPECT_FALSE(scaler.is_enabled());
  scaler.load_state_dict({});
}

TEST_F(GradScalerTest, ScaleStaysWithinMinAndMax) {
  GradScaler floor(GradScalerOptions().init_scale(4).min_scale(2));
  for (int i = 0; i < 4; ++i) iterate(floor, INFINITY);
  EXPECT_EQ(floor.get_scale(), 2);
  GradScaler ceiling(GradScalerOptions().init_scale(4).max_scale(8).growth_interval(1));
  for (int i = 0; i < 4; ++i) iterate(ceiling, 0);
  EXPECT_EQ(ceiling.get_scale(), 8);
}

TEST_F(GradScalerTest, StaticScaleIsConstantAndStillSkips) {
  GradScaler scaler(GradScalerOptions().init_scale(4).static_scale(true).growth_interval(1));
  iterate(scaler, INFINITY);
  EXPECT_EQ(p[0].item<float>(), 4);
  iterate(scaler, 1);
  EXPECT_EQ(p[0].item<float>(), 3);
  EXPECT_EQ(scaler.get_scale(), 4);
}

TEST_F(GradScalerTest, ThrowsAfterTooManySkips) {
  GradScaler scaler(GradScalerOptions().max_consecutive_skips(2));
  for (int i = 0; i < 3; ++i) iterate(scaler, INFINITY);
  backward(scaler, 1);
  EXPECT_THROWS(scaler.step(sgd), StateError, "3 consecutive iterations", "limit is 2");
}

TEST_F(GradScalerTest, HysteresisRules) {
  // Each step is 'x' for an overflow or '.' for a clean step; `scales` has the scale after each, from 64 with
  // hysteresis 2.
  struct Row {
    Hysteresis rule;
    std::string steps;
    std::vector<double> scales;
  };
  const Row rows[] = {{Hysteresis::megatron, "xx.xx", {64, 32, 32, 32, 16}},
                      {Hysteresis::megatron, "xxx", {64, 32, 16}},
                      {Hysteresis::colossal, "x.x.x", {64, 64, 32, 32, 16}},
                      {Hysteresis::paddle, "xxx.xx", {64, 32, 32, 32, 32, 16}}};
  for (const Row& row : rows) {
    GradScaler scaler(GradScalerOptions().init_scale(64).hysteresis(2).hysteresis_rule(row.rule));
    for (size_t i = 0; i < row.steps.size(); ++i) {
      iterate(scaler, row.steps[i] == 'x' ? INFINITY : 0);
      EXPECT_EQ(scaler.get_scale(), row.scales[i]) << row.steps << " at " << i;
    }
  }
}

TEST_F(GradScalerTest, StateLoadsIntoAnotherScaler) {
  GradScaler first(GradScalerOptions().init_scale(64).growth_interval(3).hysteresis(2));
  iterate(first, 0);
  iterate(first, 0);
  iterate(first, INFINITY);
  iterate(first, 0);
  const amp::ScalerState state = first.state_dict();
  EXPECT_EQ(state.at("_growth_tracker").to_int64(), 1);
  for (const bool lazy : {true, false}) {
    GradScaler second(GradScalerOptions().hysteresis(2));
    if (!lazy) second.scale(ones({}));
    second.load_state_dict(state);
    EXPECT_EQ(second.get_scale(), first.get_scale());
    EXPECT_EQ(second.get_growth_interval(), 3);
    EXPECT_EQ(second.get_growth_tracker(), 1);
    for (const auto& [key, value] : second.state_dict()) EXPECT_EQ(value.to_double(), state.at(key).to_double()) << key;
  }
}

TEST_F(GradScalerTest, InvalidStateChangesNothing) {
  GradScaler scaler(GradScalerOptions().init_scale(64));
  EXPECT_THROWS(scaler.load_state_dict({}), StateError, "empty", "disabled");
  amp::ScalerState state = scaler.state_dict();
  state.erase("_growth_tracker");
  EXPECT_THROWS(scaler.load_state_dict(state), StateError, "_growth_tracker", "missing");
  state = scaler.state_dict();
  state["scale"] = -1.0;
  EXPECT_THROWS(scaler.load_state_dict(state), StateError, "scale", "-1");
  for (const auto& [key, value] : {std::pair<const char*, Scalar>{"_growth_tracker", -5},
                                   {"_growth_tracker", int64_t{1} << 40},
                                   {"growth_interval", 2.5},
                                   {"consecutive_skips", -1}}) {
    state = scaler.state_dict();
    state["growth_factor"] = 3.0;
    state[key] = value;
    EXPECT_THROWS(scaler.load_state_dict(state), StateError, key, "whole number");
  }
  EXPECT_EQ(scaler.get_growth_factor(), 2);
  GradScaler bounded(GradScalerOptions().init_scale(8).max_scale(16));
  EXPECT_THROWS(bounded.load_state_dict(scaler.state_dict()), StateError, "scale 64", "max_scale 16");
  EXPECT_EQ(scaler.get_scale(), 64);
  backward(scaler);
  scaler.unscale_(sgd);
  EXPECT_THROWS(scaler.load_state_dict(scaler.state_dict()), StateError, "middle of an iteration");
}

}  // namespace
}  // namespace tandem::testing
