// AMP over ranks: an overflow on one rank is an overflow on all; scale, skips and parameters stay equal.
#include <optional>

#include "distributed/joint_batch.h"
#include "distributed/models.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/amp/pending_unscale.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/nn/parallel/distributed_data_parallel.h"
#include "tandem/nn/utils.h"
#include "tandem/optim/adamw.h"
#include "tandem/optim/sgd.h"
#include "tandem/tensor/stream.h"

namespace tandem::testing {
namespace {

using nn::parallel::DistributedDataParallel;
using Options = nn::parallel::DistributedDataParallelOptions;

/// The rank that overflows in a step, or -1.
int overflowing_rank(int step, int ranks) { return step % 7 == 3 ? step % ranks : -1; }

struct Trace {
  std::vector<double> scales, losses;
  std::vector<bool> skipped;
};

enum class Unscaling { fused, unscaled };

template <class Model, class Prepare>
Trace train_scaled(Model& model, MlpImpl& net, int rank, int ranks, DType dtype, Unscaling way,
                   const Prepare& prepare) {
  Trace trace;
  optim::AdamW optimizer(net.parameters(), optim::AdamWOptions(0.01));
  amp::GradScaler scaler(amp::GradScalerOptions().init_scale(1024).growth_interval(4));
  prepare(scaler);
  const Tensor x = part_of(numbers({kRows, 6}, 1, kFloat), rank, ranks);
  const Tensor target = part_of(numbers({kRows, 3}, 2, kFloat), rank, ranks);
  for (int step = 0; step < 30; ++step) {
    optimizer.zero_grad();
    // With one rank, every overflow is its own.
    const int bad = overflowing_rank(step, 2);
    const bool overflows = bad >= 0 && (ranks == 1 || bad == rank);
    Tensor loss;
    {
      const amp::AutocastGuard autocast(device_type(), dtype);
      loss = mean_square(model(x).to(kFloat), target);
    }
    scaler.scale(overflows ? loss * INFINITY : loss).backward();
    if (way == Unscaling::unscaled) {
      scaler.unscale_(optimizer);
      nn::utils::clip_grad_norm_(net.parameters(), 0.5);
    }
    const auto result = scaler.step(optimizer);
    scaler.update();
    trace.skipped.push_back(result.skipped());
    trace.scales.push_back(scaler.get_scale());
    trace.losses.push_back(loss.item<double>());
  }
  return trace;
}

void expect_equal_traces(const Group& group, Unscaling way) {
  if (group->size() == 3) return;  // overflowing_rank() names two ranks
  for (const DType dtype : {kHalf, kBFloat16}) {
    MlpImpl alone(0), net(0);
    alone.to(kFloat);
    net.to(kFloat);
    DistributedDataParallel model(net, Options().process_group(group));
    const auto forward = [&](const Tensor& x) { return alone.forward(x); };
    const Trace one = train_scaled(forward, alone, 0, 1, dtype, way, [](amp::GradScaler&) {});
    const Trace many = train_scaled(model, net, group->rank(), group->size(), dtype, way, [](amp::GradScaler&) {});
    EXPECT_EQ(one.skipped, many.skipped);
    EXPECT_EQ(one.scales, many.scales);
    for (const Tensor& p : net.parameters()) expect_same_on_all_ranks(group, p);
    expect_close(net.parameters(), alone.parameters(), 0.02);
  }
}

TEST(AmpOverRanks, GradientsAreUnscaledBeforeTheyAreSent) {
  on_ranks([](const Group& group) {
    const Tensor g = full({1000}, 3 * 1024.0);
    amp::detail::PostponedUnscale({g}, full({}, 1.0 / 1024)).start();
    const distributed::Work sum = group->all_reduce_async(g);
    // Another stream waits for the call only, not for what the current one does after starting it.
    std::optional<StreamGuard> other;
    if (on_cuda() && group->size() > 1) other.emplace(stream_from_pool(g.device()));
    sum.wait();
    const Tensor result = g.clone().cpu();
    EXPECT_EQ(result.min().item<float>(), 3.0F * static_cast<float>(group->size()));
    EXPECT_EQ(result.max().item<float>(), 3.0F * static_cast<float>(group->size()));
  });
}

TEST(AmpOverRanks, TracesAreThoseOfOneProcess) {
  on_ranks([](const Group& group) { expect_equal_traces(group, Unscaling::fused); });
}

TEST(AmpOverRanks, TracesWithUnscalingAndClipping) {
  on_ranks([](const Group& group) { expect_equal_traces(group, Unscaling::unscaled); });
}

TEST(AmpOverRanks, LossesIn200StepsOfF32) {
  on_ranks([](const Group& group) {
    MlpImpl alone(0), net(0);
    alone.to(kFloat);
    net.to(kFloat);
    DistributedDataParallel model(net, Options().process_group(group));
    optim::SGD one(alone.parameters(), optim::SGDOptions(0.05).momentum(0.9));
    optim::SGD many(net.parameters(), optim::SGDOptions(0.05).momentum(0.9));
    const Tensor x = numbers({kRows, 6}, 1, kFloat), target = numbers({kRows, 3}, 2, kFloat);
    for (int step = 0; step < 200; ++step) {
      one.zero_grad();
      const Tensor expected = mean_square(alone.forward(x), target);
      expected.backward();
      one.step();
      many.zero_grad();
      const Tensor loss =
          mean_square(model(part_of(x, group->rank(), group->size())), part_of(target, group->rank(), group->size()));
      loss.backward();
      many.step();
      const Tensor average = loss.detach().clone();
      group->all_reduce(average, distributed::ReduceOp::AVG);
      ASSERT_NEAR(average.item<double>(), expected.item<double>(), 1e-4 * expected.item<double>()) << "step " << step;
    }
  });
}

TEST(AmpOverRanks, AccumulationInNoSync) {
  on_ranks([](const Group& group) {
    // The last rank overflows in the first of two parts of some batches: the sum is inf on this rank, the average on
    // all.
    const auto train = [](auto& model, MlpImpl& net, int rank, int ranks, const auto& without_sync) {
      Trace trace;
      optim::SGD optimizer(net.parameters(), optim::SGDOptions(0.05));
      amp::GradScaler scaler(amp::GradScalerOptions().init_scale(1024).growth_interval(3));
      const Tensor x = part_of(numbers({kRows, 6}, 1, kFloat), rank, ranks);
      const Tensor target = part_of(numbers({kRows, 3}, 2, kFloat), rank, ranks);
      for (int step = 0; step < 12; ++step) {
        optimizer.zero_grad();
        const auto backward = [&](double factor) {
          Tensor loss;
          {
            const amp::AutocastGuard autocast(device_type(), kHalf);
            loss = mean_square(model(x).to(kFloat), target);
          }
          scaler.scale(loss * factor).backward();
        };
        without_sync([&] { backward(step % 4 == 1 && rank == ranks - 1 ? INFINITY : 1); });
        backward(1);
        trace.skipped.push_back(scaler.step(optimizer).skipped());
        scaler.update();
        trace.scales.push_back(scaler.get_scale());
      }
      return trace;
    };
    MlpImpl alone(0), net(0);
    alone.to(kFloat);
    net.to(kFloat);
    const auto forward = [&](const Tensor& x) { return alone.forward(x); };
    const Trace one = train(forward, alone, 0, 1, [](const auto& f) { f(); });
    DistributedDataParallel model(net, Options().process_group(group));
    const Trace many = train(model, net, group->rank(), group->size(), [&](const auto& f) {
      const auto scope = model.no_sync();
      f();
    });
    EXPECT_EQ(many.skipped, one.skipped);
    EXPECT_EQ(many.scales, one.scales);
    expect_close(net.parameters(), alone.parameters(), 0.02);
    for (const Tensor& p : net.parameters()) expect_same_on_all_ranks(group, p);
  });
}

TEST(AmpOverRanks, TheScalerAgreesWithoutDistributedDataParallel) {
  on_ranks([](const Group& group) {
    MlpImpl net(group->rank());  // another model on each rank, as with sharded optimizers
    net.to(kFloat);
    for (const Unscaling way : {Unscaling::fused, Unscaling::unscaled}) {
      const auto forward = [&](const Tensor& x) { return net.forward(x); };
      const Trace trace = train_scaled(forward, net, group->rank(), group->size(), kHalf, way,
                                       [&](amp::GradScaler& scaler) { scaler.set_process_group(group); });
      for (int step = 0; step < 30; ++step) {
        EXPECT_EQ(trace.skipped[static_cast<size_t>(step)], overflowing_rank(step, 2) >= 0) << step;
      }
      const Tensor scales = tensor(trace.scales);
      expect_same_on_all_ranks(group, scales);
    }
  });
}

TEST(AmpOverRanks, FlagsOfPlainTensorsAreAgreed) {
  on_ranks([](const Group& group) {
    amp::GradScaler scaler;
    scaler.set_process_group(group);
    static_cast<void>(scaler.scale(ones({})));
    const bool bad = group->rank() == group->size() - 1;
    const Tensor found = scaler.unscale_(std::vector<Tensor>{full({3}, bad ? INFINITY : 1.0, kFloat)});
    EXPECT_NE(found.item<float>(), 0);
    scaler.update();
    EXPECT_EQ(scaler.get_scale(), 32768);
    const Tensor flag = full({}, bad ? 1.0 : 0.0, kFloat);
    scaler.record_found_inf(flag);
    EXPECT_EQ(flag.item<float>(), bad ? 1 : 0);  // the caller's flag is not written
    scaler.update();
    EXPECT_EQ(scaler.get_scale(), 16384);
  });
}

TEST(AmpOverRanks, GradientsStayMarkedAsScaled) {
  on_ranks([](const Group& group) {
    MlpImpl net(0);
    net.to(kFloat);
    for (const bool views : {false, true}) {
      DistributedDataParallel model(net, Options().process_group(group).gradient_as_bucket_view(views));
      amp::GradScaler scaler;
      net.zero_grad();
      scaler.scale(model(numbers({4, 6}, group->rank(), kFloat)).sum()).backward();
      for (const Tensor& p : net.parameters()) EXPECT_TRUE(autograd::gradient_scale(p).must_be_unscaled());
      net.zero_grad();
      model(numbers({4, 6}, group->rank(), kFloat)).sum().backward();
      for (const Tensor& p : net.parameters()) EXPECT_FALSE(autograd::gradient_scale(p).must_be_unscaled());
    }
  });
}

TEST(AmpOverRanks, ForgottenScaleThrowsOnAllRanks) {
  on_ranks([](const Group& group) {
    MlpImpl net(0);
    net.to(kFloat);
    optim::SGD sgd(net.parameters(), 0.25);
    for (const bool views : {false, true}) {
      DistributedDataParallel model(net, Options().process_group(group).gradient_as_bucket_view(views));
      amp::GradScaler scaler;
      scaler.scale(ones({}));
      net.zero_grad();
      model(numbers({4, 6}, group->rank(), kFloat)).sum().backward();
      EXPECT_THROWS(scaler.step(sgd), StateError, "a loss that was not scaled");
      sgd.step();
      for (const Tensor& p : net.parameters()) p.grad().zero_();
      scaler.scale(model(numbers({4, 6}, group->rank(), kFloat)).sum()).backward();
      scaler.step(sgd);
    }
  });
}

TEST(AmpOverRanks, DifferentScalesAreNamedBeforeAStep) {
  on_threads(2, [](const Group& group) {  // it ends the group
    MlpImpl net(0);
    net.to(kFloat);
    optim::SGD sgd(net.parameters(), 0.25);
    std::vector<Tensor> before;
    for (const Tensor& p : net.parameters()) before.push_back(p.detach().clone());
    DistributedDataParallel model(net, Options().process_group(group));
    amp::GradScaler scaler(amp::GradScalerOptions().init_scale(group->rank() == 1 ? 4 : 1024));
    const auto train = [&] {
      for (int i = 0; i < 3; ++i) {  // on a device the first steps are skipped
        scaler.scale(model(numbers({4, 6}, group->rank(), kFloat)).sum()).backward();
        scaler.step(sgd);
        expect_close(net.parameters(), before, 0);
        scaler.update();
      }
    };
    std::string error;
    try {
      train();
    } catch (const Error& e) {  // on a device, a rank may learn of it from another one that has ended the group
      error = e.what();
    }
    EXPECT_NE(error.find("rank 0 by 1024, rank 1 by 4; start with the same scale"), std::string::npos) << error;
    if (!on_cuda()) expect_close(net.parameters(), before, 0);  // else the group's end may have stopped the device
  });
}

TEST(AmpOverRanks, GradientsOfMastersAreAveragedInF32) {
  on_ranks([](const Group& group) {
    nn::Linear net(1, 1);
    net->to(kBFloat16);
    optim::SGD sgd(net->parameters(), 1.0);
    sgd.keep_master_weights();
    DistributedDataParallel model(net, Options().process_group(group));
    const auto of_rank = [&](int64_t rank) { return 257.0 + static_cast<double>(rank); };
    double mean = 0;
    for (int64_t rank = 0; rank < group->size(); ++rank) mean += of_rank(rank) / static_cast<double>(group->size());
    for (const int64_t times : {int64_t{1}, int64_t{2}}) {
      // 257 summands, whose sum has more bits than bf16.
      const Tensor x = ones({static_cast<int64_t>(of_rank(group->rank())), 1}, kBFloat16);
      model(x).sum().backward();
      EXPECT_EQ(net->weight.grad().dtype(), kFloat);
      EXPECT_NEAR(net->weight.grad().item<double>(), mean * static_cast<double>(times), 1e-3);
    }
  });
}

// With views, the gradient of the second backward pass lies where the first one was unscaled.
TEST(AmpOverRanks, TwoOptimizersOfOneNetworkStepOnUnscaledGradients) {
  on_ranks([](const Group& group) {
    const auto trained = [&](bool views, bool scaled) {
      MlpImpl net(0);
      net.to(kFloat);
      DistributedDataParallel model(net, Options().process_group(group).gradient_as_bucket_view(views));
      optim::SGD a(net.parameters(), 0.25), b(net.parameters(), 0.25);
      amp::GradScaler scaler(amp::GradScalerOptions().init_scale(256).enabled(scaled));
      for (optim::SGD* optimizer : {&a, &b}) {
        net.zero_grad();
        scaler.scale(model(numbers({4, 6}, group->rank(), kFloat)).sum()).backward();
        scaler.step(*optimizer);
      }
      scaler.update();
      return net.parameters();
    };
    const std::vector<Tensor> expected = trained(false, false);
    for (const bool views : {false, true}) expect_close(trained(views, true), expected, 1e-6);
  });
}

}  // namespace
}  // namespace tandem::testing
