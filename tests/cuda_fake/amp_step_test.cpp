// The device calls of a whole AMP training step, counted with the fakes: no waits of the host, no allocations from the
// driver, no copies between host and device, and the number of launches.
#include <gtest/gtest.h>

#include "cuda_fake/fake_driver.h"
#include "tandem/amp/tools.h"
#include "tandem/tandem.h"

namespace tandem::cuda::testing {
namespace {

/// The network of PyTorch's AMP recipe: Linear layers with ReLU between them.
struct Mlp : nn::Module {
  Mlp() : fc1(256, 256), fc2(256, 256), fc3(256, 256) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_module("fc3", fc3);
  }
  Tensor loss(const Tensor& x, const Tensor& y) { return nn::functional::mse_loss(fc3(relu(fc2(relu(fc1(x))))), y); }
  nn::Linear fc1, fc2, fc3;
};

/// The MNIST CNN of the tutorials.
struct SimpleCnn : nn::Module {
  SimpleCnn() : conv1(nn::Conv2dOptions(1, 32, 5)), conv2(nn::Conv2dOptions(32, 64, 5)), fc1(1024, 128), fc2(128, 10) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  Tensor loss(const Tensor& x, const Tensor& y) {
    Tensor h = relu(max_pool2d(conv1(x), {2, 2}));
    h = relu(max_pool2d(conv2(h), {2, 2}));
    h = relu(fc1(h.view({-1, 1024})));
    return nn::functional::cross_entropy(fc2(h), y);
  }
  nn::Conv2d conv1, conv2;
  nn::Linear fc1, fc2;
};

/// The numbers per step in docs/gpu-status.md; `nodes` counts the nodes of its graph.
struct PerStep {
  int64_t launches, products, convolutions, nodes;
};

template <class Model, class Optimizer>
void expect_steps(Model& model, Optimizer& optimizer, const Tensor& x, const Tensor& y, const PerStep& expected) {
  amp::GradScaler scaler;
  const auto step = [&] {
    optimizer.zero_grad();
    Tensor loss;
    {
      amp::AutocastGuard autocast(kCUDA);
      loss = model.loss(x, y);
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
  };
  for (int i = 0; i < 4; ++i) step();
  Calls& calls = Calls::instance();
  calls.reset();
  constexpr int kSteps = 3;
  for (int i = 0; i < kSteps; ++i) step();
  EXPECT_EQ(calls.waits(), 0) << calls.str();
  EXPECT_EQ(calls.allocations(), 0) << calls.str();
  EXPECT_EQ(calls.copies(), 0) << calls.str();
  EXPECT_EQ(calls["cublasLtMatmulAlgoGetHeuristic"], 0) << "plans are kept";
  EXPECT_EQ(calls["cublasLtMatmulDescCreate"], 0) << "plans are kept";
  EXPECT_EQ(calls.launches(), kSteps * expected.launches) << calls.str();
  EXPECT_EQ(calls["cublasLtMatmul"], kSteps * expected.products) << calls.str();
  EXPECT_EQ(calls["cudnnBackendExecute"], kSteps * expected.convolutions) << calls.str();

  CUDAGraph graph;
  graph.capture(step);
  EXPECT_EQ(graph.num_nodes(), expected.nodes);
  calls.reset();
  for (int i = 0; i < kSteps; ++i) graph.replay();
  EXPECT_EQ(calls["cudaGraphLaunch"], kSteps);
  EXPECT_EQ(calls.launches(), 1) << "the learning rate and the scaler's factors, before the first replay\n"
                                 << calls.str();
  EXPECT_EQ(calls.waits() + calls.allocations() + calls.copies(), 0) << calls.str();
  EXPECT_EQ(calls["cublasLtMatmul"] + calls["cudnnBackendExecute"], 0) << calls.str();
  calls.reset();
  optimizer.param_groups()[0].options().set_lr(1e-4);
  graph.replay();
  EXPECT_EQ(calls.launches(), 1) << "the new learning rate";
}

TEST(FakeAmpStep, Recipe) {
  Mlp model;
  model.to(kCUDA);
  optim::SGD sgd(model.parameters(), optim::SGDOptions(1e-3));
  const Tensor x = zeros({64, 256}, kCUDA), y = zeros({64, 256}, kCUDA);
  expect_steps(model, sgd, x, y, {.launches = 20, .products = 8, .convolutions = 0, .nodes = 28});
}

TEST(FakeAmpStep, SimpleCnn) {
  SimpleCnn model;
  model.to(kCUDA);
  optim::Adam adam(model.parameters(), optim::AdamOptions(1e-3));
  const Tensor x = zeros({64, 1, 28, 28}, kCUDA), y = zeros({64}, TensorOptions(kLong).device(kCUDA));
  expect_steps(model, adam, x, y, {.launches = 28, .products = 6, .convolutions = 5, .nodes = 39});
}

TEST(FakeAmpStep, TrainLogNeverWaits) {
  Mlp model;
  model.to(kCUDA);
  optim::SGD sgd(model.parameters(), optim::SGDOptions(1e-3));
  const Tensor x = zeros({64, 256}, kCUDA), y = zeros({64, 256}, kCUDA);
  amp::GradScaler scaler;
  const std::string file = ::testing::TempDir() + "fake_train_log.jsonl";
  amp::TrainLog log(file);
  Calls& calls = Calls::instance();
  constexpr int kSteps = 3;
  for (int i = 0; i < 4 + kSteps; ++i) {
    if (i == 4) calls.reset();
    sgd.zero_grad();
    Tensor loss;
    {
      amp::AutocastGuard autocast(kCUDA);
      loss = model.loss(x, y);
    }
    scaler.scale(loss).backward();
    const amp::StepResult result = scaler.step(sgd);
    log.step({.loss = loss, .scaler = &scaler, .result = result, .samples = 64});
    scaler.update();
  }
  EXPECT_EQ(calls.waits(), 0) << calls.str();
  EXPECT_EQ(calls.allocations(), 0) << calls.str();
  EXPECT_EQ(calls.copies(), 3 * kSteps) << "loss, scale and flag, each to page-locked memory: " << calls.str();
  log.flush();
  EXPECT_EQ(log.pending(), 0u);
  std::remove(file.c_str());
}

}  // namespace
}  // namespace tandem::cuda::testing
