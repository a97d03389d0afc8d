// Training on the second device, while the first one is current, gives the bits that training on the first one gives.
#include <gtest/gtest.h>

#include <vector>

#include "tandem/cuda/device.h"
#include "tandem/cuda/graph.h"
#include "tandem/cuda/memory.h"
#include "tandem/tandem.h"

namespace tandem::cuda {
namespace {

/// Trains an MLP under autocast with a GradScaler. The first step overflows, so that it is skipped. Returns the loss of
/// each step, the final scale and the parameters, on the CPU.
std::vector<Tensor> train(Device device) {
  manual_seed(3);
  nn::Sequential model(nn::Linear(12, 32), nn::LayerNorm(nn::LayerNormOptions({32})), nn::GELU(), nn::Dropout(0.1),
                       nn::Linear(32, 5));
  model->to(device);
  const Tensor x = randn({16, 12}).to(device), target = randint(0, 5, {16}).to(device);
  optim::AdamW optimizer(model->parameters(), optim::AdamWOptions(1e-2));
  amp::GradScaler scaler(amp::GradScalerOptions().init_scale(0x1p24f));
  std::vector<Tensor> results;
  for (int i = 0; i < 6; ++i) {
    optimizer.zero_grad();
    Tensor loss;
    {
      const amp::AutocastGuard autocast(kCUDA, kHalf);
      loss = cross_entropy_loss(model->forward(x), target);
    }
    EXPECT_EQ(loss.device(), device);
    scaler.scale(loss).backward();
    scaler.unscale_(optimizer);
    nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    scaler.step(optimizer);
    scaler.update();
    results.push_back(loss.detach().to(kCPU));
    EXPECT_EQ(current_device(), 0);
  }
  EXPECT_LT(scaler.get_scale(), 0x1p24f) << "no step was skipped";
  results.push_back(full({1}, scaler.get_scale()));
  for (const Tensor& p : model->parameters()) {
    EXPECT_EQ(p.device(), device);
    EXPECT_EQ(p.grad().device(), device);
    results.push_back(p.detach().to(kCPU));
  }
  return results;
}

TEST(SecondDevice, TrainsAsTheFirst) {
  const std::vector<Tensor> first = train(Device(kCUDA, 0));
  empty_cache();
  const int64_t allocations = memory_stats(0).allocations;
  const std::vector<Tensor> second = train(Device(kCUDA, 1));
  EXPECT_EQ(memory_stats(0).allocations, allocations) << "the first device was used";
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(first[i].equal(second[i])) << i;
  EXPECT_LT(second[5].item<float>(), second[0].item<float>());
}

TEST(SecondDevice, ReplaysGraphs) {
  const Tensor x = ones({8, 8}, Device(kCUDA, 1)), y = zeros({8, 8}, Device(kCUDA, 1));
  CUDAGraph graph;
  {
    const DeviceGuard guard(1);
    graph.capture([&] { y.add_(matmul(x, x).relu()); });
  }
  EXPECT_EQ(current_device(), 0);
  for (int i = 1; i <= 3; ++i) {
    graph.replay();
    EXPECT_EQ(y.max().item<float>(), 8 * i);
    x.fill_(1);
  }
}

}  // namespace
}  // namespace tandem::cuda
