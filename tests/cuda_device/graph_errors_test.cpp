// Errors of captures and replays: the message says how to fix them, and both graph and process remain usable.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "cuda_device/amp_step.h"
#include "support/throws.h"
#include "tandem/amp/cast_cache.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/cuda/event.h"
#include "tandem/cuda/graph.h"
#include "tandem/cuda/memory.h"
#include "tandem/tandem.h"

namespace tandem::cuda::testing {
namespace {

using tandem::testing::mismatch;

/// Checks that the graph is usable: a captured body that adds 1 does so at each replay.
void expect_usable(CUDAGraph& graph) {
  EXPECT_FALSE(is_current_stream_capturing());
  const Tensor x = zeros({3}, kCUDA);
  graph.capture([&] { x.add_(1); });
  graph.replay();
  graph.replay();
  EXPECT_EQ(x.sum().item<float>(), 6);
  graph.reset();
}

TEST(GraphErrors, CallsOutOfOrder) {
  CUDAGraph graph;
  EXPECT_THROWS(graph.replay(), StateError, "replay: ", "nothing has been captured", "capture()");
  EXPECT_THROWS(graph.capture_end(), StateError, "capture_end: ", "capture_begin()");
  EXPECT_THROWS(graph.pool(), StateError, "pool: ", "graph_pool_handle()");
  EXPECT_THROWS(graph.num_nodes(), StateError, "num_nodes: ", "capture()");
  EXPECT_THROWS(graph.capture_begin(), StateError, "capture_begin: ", "default stream", "StreamGuard");
  EXPECT_THROWS(graph.capture(nullptr), StateError, "capture: ", "function is empty");
  const Tensor x = zeros({2}, kCUDA);
  graph.capture([&] { x.add_(1); });
  EXPECT_THROWS(graph.capture([] {}), StateError, "captured already", "reset()");
  graph.replay();
  EXPECT_EQ(x.sum().item<float>(), 2) << "the first capture is kept";
  graph.reset();
  expect_usable(graph);
}

TEST(GraphErrors, CheckpointWithRandomNumbersSplitByACapture) {
  const Tensor w = ones({4}, kCUDA).requires_grad_();
  const auto forward = [&](double p) {
    return autograd::checkpoint([p](const Tensor& x) { return dropout(x * x, p, p > 0); }, w).sum();
  };
  const auto expect_refusal = [&](const std::function<void()>& call) {
    EXPECT_THROWS(call(), StateError, "checkpoint: ", "random numbers", "forward and backward together");
  };
  for (int i = 0; i < 2; ++i) forward(0.5).backward();
  CUDAGraph graph, other;
  const Tensor outside = forward(0.5);
  expect_refusal([&] { graph.capture([&] { outside.backward(); }); });
  Tensor inside;
  graph.capture([&] { inside = forward(0.5); });
  graph.replay();
  expect_refusal([&] { inside.backward(); });
  expect_refusal([&] { other.capture([&] { inside.backward(); }); });
  inside = Tensor();
  graph.reset();
  graph.capture([&] { inside = forward(0); });
  graph.replay();
  EXPECT_NO_THROW(inside.backward()) << "nothing was drawn";
  inside = Tensor();
  graph.reset();
  expect_usable(graph);
}

TEST(GraphErrors, StaleRemainderMustBeDroppedBeforeTheCapture) {
  const Tensor p = ones({4}, TensorOptions(kBFloat16).device(kCUDA)).requires_grad_();
  optim::SGD sgd({p}, optim::SGDOptions(0.01));
  sgd.keep_master_weights(optim::MasterWeights::remainder);
  p.mutable_grad() = ones({4}, kCUDA);
  sgd.step();
  {
    const NoGradGuard no_grad;
    p.fill_(2);
  }
  CUDAGraph graph;
  EXPECT_THROWS(graph.capture([&] { sgd.step(); }), StateError, "SGD: ", "remainder", "master_params()");
  sgd.master_params();
  graph.capture([&] { sgd.step(); });
  graph.replay();
  EXPECT_EQ(sgd.master(p)[0].item<float>(), 2 - 0.01F);
}

TEST(GraphErrors, CapturesDoNotNest) {
  CUDAGraph graph, other;
  const Tensor x = zeros({2}, kCUDA);
  other.capture([&] { x.add_(1); });
  EXPECT_THROWS(graph.capture([&] { CUDAGraph().capture([] {}); }), StateError, "capture inside a capture", "first");
  EXPECT_THROWS(graph.capture([&] { other.replay(); }), StateError, "replay: ", "after the capture");
  EXPECT_THROWS(graph.capture([&] { graph.reset(); }), StateError, "reset: ", "capture_end()");
  expect_usable(graph);
}

TEST(GraphErrors, CallsThatWaitForTheDevice) {
  CUDAGraph graph;
  const Tensor x = zeros({2}, kCUDA), host = zeros({2});
  Event event;
  event.record();
  EXPECT_THROWS(graph.capture([&] { x.sum().item<float>(); }), StateError, "item: ", "captured", "copy_()");
  EXPECT_THROWS(graph.capture([&] { x.to(kCPU); }), StateError, "captured", "copy_()");
  EXPECT_THROWS(graph.capture([&] { x.copy_(host); }), StateError, "copy_: ", "captured", "before the capture");
  EXPECT_THROWS(graph.capture([&] { synchronize(); }), StateError, "synchronize: ", "after a replay");
  EXPECT_THROWS(graph.capture([&] { current_stream().synchronize(); }), StateError, "Stream::synchronize: ");
  EXPECT_THROWS(graph.capture([&] { current_stream().query(); }), StateError, "Stream::query: ");
  EXPECT_THROWS(graph.capture([&] { event.synchronize(); }), StateError, "Event::synchronize: ");
  EXPECT_THROWS(graph.capture([&] { event.query(); }), StateError, "Event::query: ");
  expect_usable(graph);
}

TEST(GraphErrors, LazyStateMustExistBeforeTheCapture) {
  CUDAGraph graph;
  Step step;
  EXPECT_THROWS(graph.capture([&] { step(); }), StateError, "scale: ", "a few steps before the capture");
  EXPECT_THROWS(graph.capture([&] {
    step.linear(step.x).sum().backward();
    step.sgd.step();
  }),
                StateError, "SGD: ", "a few steps before the capture");
  EXPECT_TRUE(step.sgd.state().empty());
  step.sgd.zero_grad();
  for (int i = 0; i < 3; ++i) step();
  graph.capture([&] { step(); });
  graph.replay();
  graph.reset();
  expect_usable(graph);
}

TEST(GraphErrors, IterationMustBeCapturedWhole) {
  CUDAGraph graph;
  Step step;
  for (int i = 0; i < 3; ++i) step();
  step.sgd.zero_grad();
  step.scaler.scale(step.linear(step.x).sum()).backward();
  step.scaler.unscale_(step.sgd);
  EXPECT_THROWS(graph.capture([&] { step.scaler.step(step.sgd); }), StateError, "step: ", "middle of an iteration",
                "update() before the capture");
  step.scaler.step(step.sgd);
  step.scaler.update();
  EXPECT_THROWS(graph.capture([&] {
    step.sgd.zero_grad();
    step.scaler.scale(step.linear(step.x).sum()).backward();
    step.scaler.step(step.sgd);
    throw std::runtime_error("in the middle");
  }),
                std::runtime_error, "in the middle");
  step();
  graph.capture([&] { step(); });
  graph.replay();
}

TEST(GraphErrors, PendingUnscaleFromBeforeTheCapture) {
  CUDAGraph graph;
  Step step;
  for (int i = 0; i < 3; ++i) step();
  EXPECT_THROWS(graph.capture([&] { step.sgd.zero_grad(false); }), StateError, "zero_grad() before the capture");
  step();
  EXPECT_TRUE(std::isfinite(step.linear->weight.grad().sum().item<float>()));
}

TEST(GraphErrors, CapturedObjectsMustStayAlive) {
  CUDAGraph graph;
  auto step = std::make_unique<Step>();
  for (int i = 0; i < 3; ++i) (*step)();
  graph.capture([&] { (*step)(); });
  graph.replay();
  step->sgd.param_groups()[0].options().set_lr(-1);
  EXPECT_THROWS(graph.replay(), StateError, "lr = -1");
  step->sgd.param_groups()[0].options().set_lr(1);
  graph.replay();
  step.reset();
  EXPECT_THROWS(graph.replay(), StateError, "replay: ", "destroyed", "as long as the graph");
  graph.reset();
  expect_usable(graph);
}

}  // namespace
}  // namespace tandem::cuda::testing
