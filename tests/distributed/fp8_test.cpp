// Delayed scaling over ranks: with a group, scales come from the largest magnitudes of all ranks.
#include "tandem/amp/fp8.h"
#include "distributed/models.h"
#include "tandem/amp/tools/op_stats.h"
#include "tandem/nn/modules/linear.h"
#include "tandem/nn/parallel/data_parallel.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/weight_float8.h"

namespace tandem::testing {
namespace {

TEST(Fp8AcrossRanks, AgreeOnTheLargestMagnitudes) {
  on_ranks([](const Group& group) {
    const auto recipe = amp::DelayedScaling().amax_history_len(4);
    const Tensor w = numbers({4, 6}, 1, kFloat).requires_grad_(), other = w.detach().clone().requires_grad_();
    const auto magnitude = [&](int step, int rank) { return 1.0 + (3 * step + 5 * rank) % 7; };
    for (int step = 0; step < 5; ++step) {
      Tensor y;
      {
        const amp::Fp8AutocastGuard fp8(device_type(), recipe, true, group);
        const Tensor x = full({2, 6}, magnitude(step, group->rank()));
        y = linear(x, w).to(kFloat).sum() + linear(x, other).to(kFloat).sum() * 2;
      }
      y.backward(full({}, magnitude(step + 1, group->rank())));
    }
    { const amp::Fp8AutocastGuard last(device_type(), recipe, true, group); }
    double x = 0, gy = 0;  // of the last four steps
    for (int step = 1; step < 5; ++step) {
      for (int rank = 0; rank < group->size(); ++rank) {
        x = std::max(x, magnitude(step, rank));
        gy = std::max(gy, magnitude(step + 1, rank));
      }
    }
    const auto scales = [](const Tensor& weight) { return weight.impl().float8->delayed.select(1, 0).to(kCPU); };
    EXPECT_EQ(scales(w)[0].item<float>(), 448 / static_cast<float>(x));
    EXPECT_EQ(scales(w)[2].item<float>(), 57344 / static_cast<float>(gy));
    EXPECT_EQ(scales(other)[0].item<float>(), 448 / static_cast<float>(x));
    EXPECT_EQ(scales(other)[2].item<float>(), 57344 / static_cast<float>(2 * gy));
  });
}

TEST(Fp8AcrossRanks, AgreeOnGradientsOfLoadedStates) {
  on_ranks([](const Group& group) {
    const auto recipe = amp::DelayedScaling().amax_history_len(4);
    const auto step = [&](nn::Linear& layer) {
      Tensor y;
      {
        const amp::Fp8AutocastGuard fp8(device_type(), recipe, true, group);
        y = layer(ones({2, 6}));
      }
      y.backward(mul(ones_like(y), 1.0 + group->rank()));
    };
    nn::Linear layer(6, 4), resumed(6, 4);
    step(layer);
    const StateDict state = layer->state_dict();
    StateDict copy("Entry");
    for (const auto& [name, tensor] : state) copy.insert(name, tensor.clone());
    resumed->load_state_dict(copy);
    step(layer);
    step(resumed);
    for (nn::Linear* run : {&layer, &resumed}) {
      EXPECT_EQ((*run)->weight.impl().float8->delayed.select(1, 0).to(kCPU)[2].item<float>(),
                57344 / static_cast<float>(group->size()));
    }
  });
}

TEST(Fp8AcrossRanks, RegionsWithoutTheGroupDoNotWaitForIt) {
  on_ranks([](const Group& group) {
    nn::Linear layer(6, 4);
    Tensor y;
    {
      const amp::Fp8AutocastGuard fp8(device_type(), amp::DelayedScaling(), true, group);
      y = layer(ones({2, 6}));
    }
    y.sum().backward();
    if (group->rank() == 0) {
      { const amp::Fp8AutocastGuard alone(device_type(), amp::Float8CurrentScaling()); }
      EXPECT_EQ(layer->weight.impl().float8->delayed.select(1, 0).to(kCPU)[2].item<float>(), 57344);
    }
    group->barrier();
  });
}

TEST(Fp8DataParallel, ReplicasOnOneDeviceShareTheHistories) {
  TANDEM_TEST_ON_HOST();
  nn::Linear layer(6, 4);
  const Tensor x = cat({full({2, 6}, 1.0), full({2, 6}, 8.0)});
  const amp::OpStats stats;
  {
    const amp::Fp8AutocastGuard fp8(kCPU);
    const Tensor y = nn::parallel::data_parallel(layer.ptr(), x, std::vector<Device>{kCPU, kCPU});
    y.sum().backward();
  }
  int64_t in_float8 = 0;
  for (const amp::OpCount& count : stats.counts()) {
    if (count.op != "linear") continue;
    EXPECT_EQ(count.dtype, kFloat8_e4m3fn);
    in_float8 += count.calls;
  }
  EXPECT_EQ(in_float8, 2);
  EXPECT_EQ(layer->weight.impl().float8->delayed.select(1, 0)[0].item<float>(), 448.0f / 8);
  EXPECT_EQ(layer->weight.grad().sizes(), layer->weight.sizes());
}

}  // namespace
}  // namespace tandem::testing
