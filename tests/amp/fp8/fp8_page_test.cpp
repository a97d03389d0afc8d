// The table of docs/fp8.md for those who know TransformerEngine.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>

#include "support/device.h"
#include "tandem/amp/fp8.h"
#include "tandem/amp/tools.h"
#include "tandem/tandem.h"

namespace tandem::amp {
namespace {

using testing::device_type;

struct Net : nn::Module {
  nn::Linear fc = register_module("fc", nn::Linear(32, 16));
  Tensor forward(const Tensor& x) const { return fc(x); }
};

TEST(Fp8Page, ARegionAndTheStateOfItsWeights) {
  const DeviceType device = device_type();
  const Fp8Recipe recipe = DelayedScaling().margin(0).amax_history_len(1024);
  const std::shared_ptr<distributed::ProcessGroup> group;
  const Net net;
  const Tensor x = randn({4, 32});
  std::set<std::string> ops;
  {
    const amp::Fp8AutocastGuard fp8(device, recipe, true, group);
    const OpStats stats;
    linear(net.forward(x), net.fc->weight.t());  // the second operand is not a weight
    EXPECT_EQ(stats.roundings().size(), 2U);
    matmul(net.forward(x), net.fc->weight);
    for (const RoundingCount& r : stats.roundings()) ops.insert(r.op);
  }
  EXPECT_EQ(ops, std::set<std::string>({"linear", "matmul"}));
  const Tensor state = net.state_dict()["fc.weight._fp8"];
  EXPECT_EQ(state.sizes(), IntArrayRef({3, 1 + 1024}));
}

TEST(Fp8Page, CalibrationComputesInBf16AndNotesMagnitudes) {
  const DeviceType device = device_type();
  const Fp8Recipe recipe = DelayedScaling().amax_history_len(4);
  const std::shared_ptr<distributed::ProcessGroup> group;
  const Net net;
  const Tensor x = mul(ones({4, 32}), 7);
  const NoGradGuard no_grad;
  const auto in_bf16 = [&] {
    const AutocastGuard autocast(device, kBFloat16);
    return net.forward(x);
  };
  {
    const amp::Fp8AutocastGuard fp8(device, recipe, false, group, true);
    EXPECT_FALSE(is_fp8_enabled(device));
    EXPECT_TRUE(equal(net.forward(x), in_bf16()));
  }
  const Tensor scales = net.state_dict()["fc.weight._fp8"].select(1, 0).to(kCPU);
  EXPECT_EQ(scales[0].item<float>(), 448.0f / 7);
  EXPECT_EQ(scales[1].item<float>(), 448 / abs(net.fc->weight).max().item<float>());
  EXPECT_EQ(scales[2].item<float>(), 1);
}

// The defaults of TransformerEngine 2's classes.
TEST(Fp8Page, DefaultsAreThoseOfTransformerEngine) {
  EXPECT_EQ(DelayedScaling().fp8_format(), Fp8Format::HYBRID);
  EXPECT_EQ(DelayedScaling().margin(), 0);
  EXPECT_EQ(DelayedScaling().amax_history_len(), 1024);
  EXPECT_EQ(DelayedScaling().amax_compute_algo(), Fp8AmaxAlgorithm::max);
  EXPECT_EQ(Float8CurrentScaling().fp8_format(), Fp8Format::HYBRID);
  EXPECT_FALSE(Float8CurrentScaling().use_power_2_scales());
  EXPECT_EQ(Float8BlockScaling().fp8_format(), Fp8Format::E4M3);
  EXPECT_TRUE(Float8BlockScaling().use_power_2_scales());
  EXPECT_EQ(MXFP8BlockScaling().fp8_format(), Fp8Format::E4M3);
}

// Sizes that are not multiples of 16, which TransformerEngine refuses, and infinities, which it saturates.
TEST(Fp8Page, OddSizesAndInfinities) {
  nn::Linear layer(7, 3);
  const Fp8AutocastGuard fp8(device_type(), Float8CurrentScaling());
  EXPECT_TRUE(layer(ones({5, 7})).isfinite().all().item<bool>());
  EXPECT_FALSE(layer(full({5, 7}, INFINITY)).isfinite().any().item<bool>());
}

}  // namespace
}  // namespace tandem::amp
