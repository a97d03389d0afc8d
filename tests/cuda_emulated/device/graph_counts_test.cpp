// What a CUDA graph asks of the device, counted by the emulated one.
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "cuda_device/amp_step.h"
#include "cuda_device/graph_program.h"
#include "cuda_emulated/device/device.h"
#include "support/throws.h"
#include "tandem/cuda/graph.h"

namespace tandem::cuda::testing {
namespace {

using tandem::testing::mismatch;

TEST(GraphCounts, ReplayTakesOneOrTwoLaunches) {
  Program program(std::make_shared<Mlp>(), Rule::sgd);
  program.load(0);
  for (int i = 0; i < kWarmUp; ++i) program.step();
  CUDAGraph graph;
  graph.capture([&] { program.step(); });
  graph.replay();
  emulated::counts() = {};
  for (int i = 0; i < 4; ++i) graph.replay();
  EXPECT_EQ(emulated::counts().graph_launches, 4);
  EXPECT_EQ(emulated::counts().launches, 4) << "dropout's position";
  EXPECT_EQ(emulated::counts().waits, 0);
  EXPECT_EQ(emulated::counts().allocations, 0);
  EXPECT_EQ(emulated::counts().copies, 0);

  program.model->eval();
  program.step();
  graph.reset();
  graph.capture([&] { program.step(); });
  graph.replay();
  emulated::counts() = {};
  for (int i = 0; i < 4; ++i) graph.replay();
  EXPECT_EQ(emulated::counts().launches, 0) << "nothing has changed";
}

TEST(GraphCounts, SkipsAreReportedWhenTheirCountHasArrived) {
  Step step;
  step.scaler = amp::GradScaler(amp::GradScalerOptions().init_scale(16).max_consecutive_skips(2));
  for (int i = 0; i < 3; ++i) step();
  CUDAGraph graph;
  graph.capture([&] { step(); });
  emulated::counts() = {};
  step.x.fill_(std::numeric_limits<float>::infinity());
  emulated::stay_behind(true);
  for (int i = 0; i < 5; ++i) graph.replay();  // the count has not arrived on the host
  EXPECT_EQ(emulated::counts().waits, 0);
  emulated::stay_behind(false);
  EXPECT_NO_THROW(graph.replay()) << "the count after the first replay has arrived";
  EXPECT_THROWS(graph.replay(), StateError, "6 consecutive iterations were skipped", "the limit is 2");
  EXPECT_THROWS(step(), StateError, "6 consecutive iterations");
}

}  // namespace
}  // namespace tandem::cuda::testing
