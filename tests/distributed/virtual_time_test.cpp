// A training step on 1,024 ranks in virtual time: one rank computes, a process group without a network says how long
// its calls would take. All ranks are alike, so that averages are this rank's own tensors.
#include <algorithm>

#include "distributed/models.h"
#include "tandem/nn/parallel/distributed_data_parallel.h"
#include "tandem/optim/optim.h"
#include "tandem/optim/zero_redundancy_optimizer.h"

namespace tandem::testing {
namespace {

using distributed::Collective;
using distributed::ProcessGroup;
using distributed::Work;
using nn::parallel::DistributedDataParallel;

constexpr int kRanks = 1024;
constexpr int64_t kLayers = 24, kWidth = 64;
constexpr double kForwardOfLayer = 5e-4, kBackwardOfLayer = 1e-3;  // seconds

/// The alpha-beta model of a ring: a message takes `latency` and its bytes over `bandwidth`.
struct Network {
  double latency, bandwidth;
  double all_reduce(double bytes) const {
    return 2 * (kRanks - 1) * latency + 2 * (kRanks - 1.0) / kRanks * bytes / bandwidth;
  }
  double broadcast(double bytes) const { return all_reduce(bytes) / 2; }
};

/// Calls run one after another, from the virtual time at which they were started.
class VirtualGroup final : public ProcessGroup {
 public:
  explicit VirtualGroup(const Network& network) : ProcessGroup(0, kRanks), network_(network) {}
  const char* name() const override { return "virtual"; }
  void abort(const std::string&) noexcept override {}

  struct Call {
    std::string label;
    int64_t bytes;
    double start, end;
  };
  double now = 0, waited = 0;
  std::vector<Call> calls;

 protected:
  std::shared_ptr<Work::State> run(Collective call) override {
    const bool reduces = call.kind == Collective::Kind::all_reduce,
               counts = reduces || call.kind == Collective::Kind::broadcast;
    const auto bytes = counts ? static_cast<int64_t>(call.outputs[0].nbytes()) : 0;
    const auto size = static_cast<double>(bytes);
    const double start = std::max(now, free_), end = start + (reduces  ? network_.all_reduce(size)
                                                              : counts ? network_.broadcast(size)
                                                                       : 0);
    free_ = end;
    if (counts && !reduces && call.peer != 0) call.outputs[0].zero_();
    if (counts) calls.push_back({call.label, bytes, now, end});
    if (call.kind == Collective::Kind::all_gather) {
      for (const Tensor& t : call.outputs) t.copy_(call.inputs[0]);
    }
    return std::make_shared<State>(*this, end);
  }

 private:
  class State final : public Work::State {
   public:
    State(VirtualGroup& group, double end) : group_(group), end_(end) {}
    void wait() override {
      group_.waited += std::max(0.0, end_ - group_.now);
      group_.now = std::max(group_.now, end_);
    }
    bool is_completed() const override { return group_.now >= end_; }
    std::exception_ptr exception() const override { return nullptr; }

   private:
    VirtualGroup& group_;
    double end_;
  };

  Network network_;
  double free_ = 0;  // when the network is free
};

/// Equal layers. The forward of each takes kForwardOfLayer, and the backward kBackwardOfLayer.
struct DeepImpl : nn::Module {
  explicit DeepImpl(VirtualGroup& group) : group_(group) {
    for (int64_t i = 0; i < kLayers; ++i) layers->push_back(nn::Linear(kWidth, kWidth));
    register_module("layers", layers);
  }
  Tensor forward(Tensor x) {
    for (int64_t i = 0; i < kLayers; ++i) {
      x = layers[static_cast<size_t>(i)]->as<nn::Linear>()->forward(x);
      group_.now += kForwardOfLayer;
      // Runs when the gradient of the layer's output is known: the layer's gradients are ready one layer later.
      x.register_hook([this](const Tensor&) { group_.now += kBackwardOfLayer; });
    }
    return x;
  }
  nn::ModuleList layers;

 private:
  VirtualGroup& group_;
};

struct Step {
  std::vector<VirtualGroup::Call> calls;
  double waited, communication, duration;
  int64_t parameter_bytes;
};

/// The second backward pass, with buckets in the order of use.
Step run(const Network& network, double bucket_cap_mb) {
  const auto group = std::make_shared<VirtualGroup>(network);
  DeepImpl net(*group);
  DistributedDataParallel model(
      net, nn::parallel::DistributedDataParallelOptions().process_group(group).bucket_cap_mb(bucket_cap_mb));
  const auto forward = [&] {
    net.zero_grad();
    return model(numbers({2, kWidth}, 1, kFloat)).sum();
  };
  forward().backward();
  const Tensor loss = forward();
  group->calls.clear();
  group->waited = 0;
  const double start = group->now;
  loss.backward();
  Step result{group->calls, group->waited, 0, group->now - start, 0};
  for (const auto& call : result.calls) result.communication += network.all_reduce(static_cast<double>(call.bytes));
  for (const Tensor& p : net.parameters()) result.parameter_bytes += static_cast<int64_t>(p.nbytes());
  return result;
}

constexpr double kLayerBytes = kWidth * (kWidth + 1) * sizeof(float);
constexpr double kLayersMib = kLayerBytes * 3 / (1 << 20);  // buckets of three layers
/// A network that needs 0.8 of the time of the backward pass, with negligible latency.
const Network kNetwork{1e-9, 2 * kLayerBytes / (0.8 * kBackwardOfLayer)};

TEST(VirtualTime, EachByteIsSentOnceInTheOrderOfBuckets) {
  const Step step = run(kNetwork, kLayersMib);
  int64_t bytes = 0;
  for (size_t i = 0; i < step.calls.size(); ++i) {
    bytes += step.calls[i].bytes;
    EXPECT_EQ(step.calls[i].label, "bucket " + std::to_string(i));
    EXPECT_GE(step.calls[i].start, i > 0 ? step.calls[i - 1].start : 0);
  }
  EXPECT_EQ(bytes, step.parameter_bytes);
  EXPECT_EQ(step.calls.size(), static_cast<size_t>(kLayers / 3));
}

TEST(VirtualTime, BucketsStartWhileTheBackwardPassRuns) {
  const Step step = run(kNetwork, kLayersMib);
  const double backward = kLayers * kBackwardOfLayer;
  EXPECT_LT(step.calls[0].start - (step.calls.back().end - step.duration), 5 * kBackwardOfLayer);
  // All but about the last bucket is hidden.
  const double hidden = 1 - step.waited / step.communication;
  EXPECT_GT(hidden, 0.6);
  EXPECT_LT(step.duration, backward + 2 * kNetwork.all_reduce(3 * kLayerBytes));
}

TEST(VirtualTime, OneBucketHidesNothing) {
  const Step step = run(kNetwork, 1e6);
  // The first bucket has at most 1 MiB, which is more than this model has.
  EXPECT_EQ(step.calls.size(), 1u);
  EXPECT_NEAR(step.waited, step.communication, 1e-9);
}

TEST(VirtualTime, LatencyMakesManySmallBucketsSlow) {
  const Network slow{2e-6, kNetwork.bandwidth};
  EXPECT_GT(run(slow, 1e-6).duration, run(slow, kLayersMib).duration);
}

TEST(VirtualTime, UpdatedShardsArriveWhileTheForwardPassRuns) {
  const auto group = std::make_shared<VirtualGroup>(kNetwork);
  DeepImpl net(*group);
  optim::ZeroRedundancyOptimizer zero(net.parameters(), optim::SGDOptions(0.1), group);
  net.forward(numbers({2, kWidth}, 1, kFloat)).sum().backward();
  group->calls.clear();
  group->waited = 0;
  const double start = group->now;
  zero.step();
  EXPECT_EQ(group->now, start);
  net.forward(numbers({2, kWidth}, 2, kFloat));
  double communication = 0;
  for (const auto& call : group->calls) communication += kNetwork.broadcast(static_cast<double>(call.bytes));
  EXPECT_NEAR(communication, 0.8 * kLayers * kForwardOfLayer, 1e-2 * communication);  // and latencies
  EXPECT_GT(1 - group->waited / communication, 0.6);
  EXPECT_NEAR(group->now - start, kLayers * kForwardOfLayer + group->waited, 1e-9);
}

}  // namespace
}  // namespace tandem::testing
