// The modes of other systems with DistributedDataParallel: each trains as on one process with the joint batch.
#include "tandem/amp/modes.h"
#include "distributed/joint_batch.h"
#include "distributed/models.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/modes/auto_mixed_precision.h"
#include "tandem/nn/parallel/distributed_data_parallel.h"
#include "tandem/optim/adam.h"

namespace tandem::testing {
namespace {

using nn::parallel::DistributedDataParallel;
using Options = nn::parallel::DistributedDataParallelOptions;

struct ModeTrace {
  std::vector<double> scales;
  std::vector<Tensor> parameters;
};

/// The rows of a rank, and whether its loss overflows in a step: that of the last rank does.
struct Share {
  int rank, ranks;
  Tensor x() const { return part_of(numbers({kRows, 6}, 1, kFloat), rank, ranks); }
  Tensor target() const { return part_of(numbers({kRows, 3}, 2, kFloat), rank, ranks); }
  double factor(int step) const { return step % 5 == 2 && rank == ranks - 1 ? INFINITY : 1; }
};

template <class Model>
ModeTrace run_booster(const std::string& mode, Model& model, MlpImpl& net, const Share& share) {
  optim::Adam optimizer(net.parameters(), optim::AdamOptions(0.01));
  amp::Booster booster(mode);
  booster.boost(model, optimizer);
  ModeTrace trace;
  for (int step = 0; step < 12; ++step) {
    optimizer.zero_grad();
    const Tensor y = nn::call(model, share.x());
    const double factor = mode == "bf16" ? 1 : share.factor(step);
    booster.backward(mean_square(y.to(kFloat), share.target()) * factor, optimizer);
    optimizer.step();
    trace.scales.push_back(booster.scale(optimizer));
  }
  trace.parameters = net.parameters();
  return trace;
}

template <class Model>
ModeTrace run_level(amp::OptLevel level, Model& model, MlpImpl& net, const Share& share) {
  optim::Adam optimizer(net.parameters(), optim::AdamOptions(0.01));
  amp::initialize(model, optimizer, level, amp::InitializeOptions().verbosity(0));
  const bool scales = level == amp::OptLevel::O1 || level == amp::OptLevel::O2;
  ModeTrace trace;
  for (int step = 0; step < 12; ++step) {
    optimizer.zero_grad();
    const Tensor y = nn::call(model, share.x());
    const Tensor loss = mean_square(y.to(kFloat), share.target()) * (scales ? share.factor(step) : 1);
    amp::scale_loss(loss, optimizer).backward();
    optimizer.step();
    if (scales) trace.scales.push_back(amp::state_dict(optimizer).at("loss_scaler0").at("scale").to_double());
  }
  amp::set_autocast_enabled(device_type(), false);
  trace.parameters = net.parameters();
  return trace;
}

void expect_same_training(const Group& group, const ModeTrace& many, const ModeTrace& one) {
  EXPECT_EQ(many.scales, one.scales);
  for (const Tensor& p : many.parameters) expect_same_on_all_ranks(group, p);
  ASSERT_EQ(many.parameters.size(), one.parameters.size());
  for (size_t i = 0; i < one.parameters.size(); ++i) {
    EXPECT_EQ(many.parameters[i].dtype(), one.parameters[i].dtype());
    EXPECT_TRUE(allclose(many.parameters[i].to(kFloat), one.parameters[i].to(kFloat), 0.02, 0.02));
  }
}

TEST(ModesOverRanks, Booster) {
  on_ranks([](const Group& group) {
    for (const char* mode : {"fp16", "fp16_apex", "fp16_naive", "bf16"}) {
      for (const bool views : {false, true}) {
        SCOPED_TRACE(mode);
        MlpImpl alone(0), net(0);
        alone.to(kFloat);
        net.to(kFloat);
        const ModeTrace one = run_booster(mode, alone, alone, {0, 1});
        DistributedDataParallel model(net, Options().process_group(group).gradient_as_bucket_view(views));
        expect_same_training(group, run_booster(mode, model, net, {group->rank(), group->size()}), one);
      }
    }
  });
}

TEST(ModesOverRanks, OptLevels) {
  on_ranks([](const Group& group) {
    for (const auto level : {amp::OptLevel::O0, amp::OptLevel::O1, amp::OptLevel::O2, amp::OptLevel::O3}) {
      SCOPED_TRACE(static_cast<int>(level));
      MlpImpl alone(0), net(0);
      alone.to(kFloat);
      net.to(kFloat);
      const ModeTrace one = run_level(level, alone, alone, {0, 1});
      DistributedDataParallel model(net, Options().process_group(group));
      expect_same_training(group, run_level(level, model, net, {group->rank(), group->size()}), one);
    }
  });
}

TEST(ModesOverRanks, EnvironmentSwitch) {
  SKIP_ON_CUDA("the switch has one loss scale for all CUDA devices of a process, and these ranks are threads of one");
  amp::enable_auto_mixed_precision(amp::AutoMixedPrecisionOptions().dtype(kHalf));
  on_ranks([](const Group& group) {
    const auto train = [&](auto& model, MlpImpl& net, const Share& share) {
      optim::Adam optimizer(net.parameters(), optim::AdamOptions(0.01));
      for (int step = 0; step < 5; ++step) {
        optimizer.zero_grad();
        mean_square(nn::call(model, share.x()).to(kFloat), share.target()).backward();
        optimizer.step();
      }
      return ModeTrace{{}, net.parameters()};
    };
    MlpImpl alone(0), net(0);
    alone.to(kFloat);
    net.to(kFloat);
    const ModeTrace one = train(alone, alone, {0, 1});
    DistributedDataParallel model(net, Options().process_group(group));
    expect_same_training(group, train(model, net, {group->rank(), group->size()}), one);
  });
  amp::disable_auto_mixed_precision();
}

}  // namespace
}  // namespace tandem::testing
