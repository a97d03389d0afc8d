// DistributedDataParallel: gradients are those of one process with the joint batch, in every way of using it.
#include "tandem/nn/parallel/distributed_data_parallel.h"

#include "dist/models.h"
#include "support/throws.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/function.h"
#include "tandem/optim/sgd.h"

namespace tandem::testing {
namespace {

using nn::parallel::DistributedDataParallel;
using nn::parallel::GradBucket;
using nn::parallel::Reduction;
using Options = nn::parallel::DistributedDataParallelOptions;

constexpr int64_t kRows = 24;  // divisible by 1 to 4 ranks
constexpr double kRounding = 1e-13;

Options options_of(const Group& group) { return Options().process_group(group); }

Tensor inputs() { return numbers({kRows, 6}, 1); }
Tensor targets() { return numbers({kRows, 3}, 2); }

/// The gradients of one process with the joint batch.
std::vector<Tensor> joint_gradients() {
  MlpImpl net(0);
  mean_square(net.forward(inputs()), targets()).backward();
  return gradients_of(net);
}

/// Runs forward and backward on this rank's rows.
template <class Model>
void run(Model& model, const Group& group) {
  const Tensor y = model(part_of(inputs(), group->rank(), group->size()));
  mean_square(y, part_of(targets(), group->rank(), group->size())).backward();
}

TEST(DistributedDataParallel, GradientsAreThoseOfTheJointBatch) {
  on_ranks([](const Group& group) {
    for (const bool views : {false, true}) {
      for (const double cap : {25.0, 1e-6}) {  // one bucket, and one for each parameter
        MlpImpl net(group->rank());            // other values on each rank: those of rank 0 count
        DistributedDataParallel model(net, options_of(group).bucket_cap_mb(cap).gradient_as_bucket_view(views));
        for (int iteration = 0; iteration < 3; ++iteration) {  // the buckets are ordered anew after the first
          net.zero_grad();
          run(model, group);
          expect_close(gradients_of(net), joint_gradients(), kRounding);
          for (const Tensor& g : gradients_of(net)) expect_same_on_all_ranks(group, g);
        }
        EXPECT_EQ(model.bucket_count(), cap == 25.0 ? 1u : 4u);
        EXPECT_EQ(model.reductions(), 3 * static_cast<int64_t>(model.bucket_count()));
      }
    }
  });
}

TEST(DistributedDataParallel, AddsToGradientsThatAreEqual) {
  on_ranks([](const Group& group) {
    for (const bool views : {false, true}) {
      MlpImpl net(0);
      DistributedDataParallel model(net, options_of(group).gradient_as_bucket_view(views));
      run(model, group);
      run(model, group);  // without zero_grad
      std::vector<Tensor> twice;
      for (const Tensor& g : joint_gradients()) twice.push_back(g * 2);
      expect_close(gradients_of(net), twice, kRounding);
    }
  });
}

TEST(DistributedDataParallel, NoSyncAccumulates) {
  on_ranks([](const Group& group) {
    MlpImpl net(0);
    DistributedDataParallel model(net, options_of(group));
    {
      const auto scope = model.no_sync();
      run(model, group);
      EXPECT_EQ(model.reductions(), 0);
    }
    run(model, group);
    EXPECT_EQ(model.reductions(), 1);
    std::vector<Tensor> twice;
    for (const Tensor& g : joint_gradients()) twice.push_back(g * 2);
    expect_close(gradients_of(net), twice, kRounding);
  });
}

TEST(DistributedDataParallel, SeveralBackwardPasses) {
  on_ranks([](const Group& group) {
    // Two losses on separate parts of the parameters: reduced when all gradients are there.
    struct TwoImpl : nn::Module {
      TwoImpl() : a(std::make_shared<MlpImpl>(0)), b(std::make_shared<MlpImpl>(0)) {
        register_module("a", a);
        register_module("b", b);
      }
      std::vector<Tensor> forward(const Tensor& x) { return {a->forward(x), b->forward(x)}; }
      std::shared_ptr<MlpImpl> a, b;
    };
    TwoImpl net;
    DistributedDataParallel model(net, options_of(group));
    const Tensor target = part_of(targets(), group->rank(), group->size());
    for (int iteration = 0; iteration < 2; ++iteration) {
      net.zero_grad();
      const std::vector<Tensor> y = model(part_of(inputs(), group->rank(), group->size()));
      mean_square(y[0], target).backward();
      EXPECT_EQ(model.reductions(), iteration);
      mean_square(y[1], target).backward();
      expect_close(gradients_of(*net.a), joint_gradients(), kRounding);
      expect_close(gradients_of(*net.b), joint_gradients(), kRounding);
    }
  });
}

TEST(DistributedDataParallel, TwoPassesThroughAllParameters) {
  on_ranks([](const Group& group) {
    MlpImpl net(0);
    DistributedDataParallel model(net, options_of(group));
    const Tensor y = model(part_of(inputs(), group->rank(), group->size()));
    const Tensor loss = mean_square(y, part_of(targets(), group->rank(), group->size()));
    loss.backward({}, /*retain_graph=*/true);
    loss.backward();
    std::vector<Tensor> twice;
    for (const Tensor& g : joint_gradients()) twice.push_back(g * 2);
    expect_close(gradients_of(net), twice, kRounding);
  });
}

TEST(DistributedDataParallel, FrozenAndSharedParameters) {
  on_ranks([](const Group& group) {
    struct SharedImpl : nn::Module {
      SharedImpl() : net(std::make_shared<MlpImpl>(0)), fc(3, 3) {
        register_module("net", net);
        register_module("fc", fc);
        fc->to(kDouble);
        const NoGradGuard no_grad;
        for (const Tensor& p : fc->parameters()) p.copy_(numbers(p.sizes(), 5));
        net->fc1->weight.requires_grad_(false);
      }
      Tensor forward(const Tensor& x) { return fc(tanh(fc(net->forward(x)))); }
      std::shared_ptr<MlpImpl> net;
      nn::Linear fc;
    };
    SharedImpl alone, net;
    mean_square(alone.forward(inputs()), targets()).backward();
    DistributedDataParallel model(net, options_of(group));
    run(model, group);
    expect_close(gradients_of(net), gradients_of(alone), kRounding);
    EXPECT_FALSE(net.net->fc1->weight.grad().defined());
  });
}

TEST(DistributedDataParallel, CheckpointedParts) {
  on_ranks([](const Group& group) {
    struct CheckpointedImpl : nn::Module {
      CheckpointedImpl() : net(std::make_shared<MlpImpl>(0)) { register_module("net", net); }
      Tensor forward(const Tensor& x) {
        return autograd::checkpoint([this](const Tensor& x) { return net->forward(x); }, x);
      }
      std::shared_ptr<MlpImpl> net;
    };
    CheckpointedImpl net;
    DistributedDataParallel model(net, options_of(group));
    run(model, group);
    expect_close(gradients_of(net), joint_gradients(), kRounding);
  });
}

/// A model of which each iteration uses one of two branches, or none.
struct BranchesImpl : nn::Module {
  BranchesImpl() : trunk(std::make_shared<MlpImpl>(0)), left(3, 3), right(3, 3) {
    register_module("left", left);
    register_module("trunk", trunk);
    register_module("right", right);
    to(kDouble);
    const NoGradGuard no_grad;
    for (const Tensor& p : left->parameters()) p.copy_(numbers(p.sizes(), 7));
    for (const Tensor& p : right->parameters()) p.copy_(numbers(p.sizes(), 8));
  }
  Tensor forward(const Tensor& x, int branch) {
    const Tensor y = trunk->forward(x);
    return branch == 0 ? y : branch == 1 ? left(y) : right(y);
  }
  std::shared_ptr<MlpImpl> trunk;
  nn::Linear left, right;
};

template <class Model>
void run_branch(Model& model, const Group& group, int branch) {
  const Tensor y = model(part_of(inputs(), group->rank(), group->size()), branch);
  mean_square(y, part_of(targets(), group->rank(), group->size())).backward();
}

TEST(DistributedDataParallel, FindsUnusedParameters) {
  on_ranks([](const Group& group) {
    for (const bool views : {false, true}) {
      BranchesImpl net;
      DistributedDataParallel model(
          net, options_of(group).find_unused_parameters(true).gradient_as_bucket_view(views).bucket_cap_mb(1e-6));
      // No rank uses a branch: its gradients stay undefined.
      run_branch(model, group, 0);
      expect_close(gradients_of(*net.trunk), joint_gradients(), kRounding);
      EXPECT_FALSE(net.left->weight.grad().defined());
      EXPECT_FALSE(net.right->weight.grad().defined());
      // All ranks use the left branch, then the right one.
      for (const int branch : {1, 2}) {
        BranchesImpl alone;
        mean_square(alone.forward(inputs(), branch), targets()).backward();
        net.zero_grad();
        run_branch(model, group, branch);
        expect_close(gradients_of(net), gradients_of(alone), kRounding);
      }
      // Rank 0 uses the left branch, the others the right one: the average counts zeros.
      net.zero_grad();
      run_branch(model, group, group->rank() == 0 ? 1 : 2);
      BranchesImpl mine;
      mean_square(mine.forward(part_of(inputs(), group->rank(), group->size()), group->rank() == 0 ? 1 : 2),
                  part_of(targets(), group->rank(), group->size()))
          .backward();
      for (const auto& [grad, own] : {std::pair(net.left->weight.grad(), mine.left->weight.grad()),
                                      std::pair(net.right->weight.grad(), mine.right->weight.grad())}) {
        if (group->size() == 1 && !own.defined()) {
          EXPECT_FALSE(grad.defined());
          continue;
        }
        const Tensor average = own.defined() ? own.clone() : zeros({3, 3}, kDouble);
        group->all_reduce(average, distributed::ReduceOp::AVG);
        EXPECT_TRUE(allclose(grad, average, kRounding, kRounding));
      }
    }
  });
}

TEST(DistributedDataParallel, WhatOnlyNoSyncPassesUsedIsAveragedToo) {
  on_ranks([](const Group& group) {
    for (const bool views : {false, true}) {
      BranchesImpl alone, net;
      const auto loss = [](BranchesImpl& model, int branch) {
        return mean_square(model.forward(inputs(), branch), targets());
      };
      loss(alone, 1).backward();
      loss(alone, 2).backward();
      DistributedDataParallel model(net, options_of(group).find_unused_parameters(true).gradient_as_bucket_view(views));
      {
        const auto scope = model.no_sync();
        run_branch(model, group, 1);
      }
      run_branch(model, group, 2);  // does not use the left branch
      expect_close(gradients_of(net), gradients_of(alone), kRounding);
    }
  });
}

TEST(DistributedDataParallel, UnusedParametersKeepTheirGradient) {
  on_ranks([](const Group& group) {
    for (const bool views : {false, true}) {
      BranchesImpl net;
      DistributedDataParallel model(net, options_of(group).find_unused_parameters(true).gradient_as_bucket_view(views));
      model.register_comm_hook(nn::parallel::bf16_compress_hook);
      run_branch(model, group, 1);
      const Tensor before = net.left->weight.grad().clone() * 1.001;
      net.left->weight.mutable_grad().copy_(before);
      run_branch(model, group, 2);
      EXPECT_TRUE(equal(net.left->weight.grad(), before));
    }
  });
}

TEST(DistributedDataParallel, ALeafWithoutAGradientCountsAsZero) {
  struct NoGradient : autograd::Function<NoGradient> {
    static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x.clone(); }
    static autograd::variable_list backward(autograd::AutogradContext*, const autograd::variable_list&) {
      return {Tensor()};
    }
  };
  struct HalfImpl : nn::Module {
    HalfImpl() : a(register_parameter("a", numbers({3}, 1))), b(register_parameter("b", numbers({3}, 2))) {}
    Tensor forward(const Tensor& x) { return x * a + NoGradient::apply(b); }
    Tensor a, b;
  };
  on_ranks([](const Group& group) {
    HalfImpl net;
    DistributedDataParallel model(net, options_of(group));
    for (int i = 0; i < 2; ++i) {
      net.zero_grad();
      model(numbers({3}, 3)).sum().backward();
      expect_close({net.a.grad()}, {numbers({3}, 3)}, kRounding);
    }
  });
}

TEST(DistributedDataParallel, StaticGraph) {
  on_ranks([](const Group& group) {
    BranchesImpl net, alone;
    mean_square(alone.forward(inputs(), 1), targets()).backward();
    DistributedDataParallel model(net, options_of(group).static_graph(true).bucket_cap_mb(1e-6));
    for (int iteration = 0; iteration < 3; ++iteration) {
      net.zero_grad();
      const int64_t before = group->statistics().bytes;
      run_branch(model, group, 1);
      expect_close(gradients_of(net), gradients_of(alone), kRounding);
      if (iteration == 0) continue;
      int64_t used = 0;  // after the first iteration, only gradients that are used are sent
      for (const Tensor& g : gradients_of(net)) used += g.defined() ? static_cast<int64_t>(g.nbytes()) : 0;
      EXPECT_EQ(group->statistics().bytes - before, used);
    }
  });
}

TEST(DistributedDataParallel, ABrokenPromiseOfAStaticGraphIsNoticed) {
  on_threads(2, [](const Group& group) {
    BranchesImpl net;
    DistributedDataParallel model(net, options_of(group).static_graph(true));
    run_branch(model, group, 1);
    EXPECT_THROWS(run_branch(model, group, 2), StateError, "static_graph", "right.");
  });
}

TEST(DistributedDataParallel, UnusedParametersAreNamed) {
  on_threads(2, [](const Group& group) {
    BranchesImpl net;
    DistributedDataParallel model(net, options_of(group));
    run_branch(model, group, 1);
    group->barrier();
    EXPECT_THROWS(run_branch(model, group, 1), StateError, "DistributedDataParallel: ", "right.weight, right.bias",
                  "find_unused_parameters");
  });
}

TEST(DistributedDataParallel, ASecondGradientAfterTheFirstWasSentIsRefused) {
  on_threads(2, [](const Group& group) {
    BranchesImpl net;
    DistributedDataParallel model(net, options_of(group).bucket_cap_mb(1e-6));
    // The right branch, whose buckets come first, and then the left one, to which the trunk is common.
    run_branch(model, group, 2);
    EXPECT_GT(model.reductions(), 0);
    group->barrier();
    const Tensor y = net.right(numbers({4, 3}, 1)).sum();
    EXPECT_THROWS(y.backward(), StateError, "right.", "second gradient", "no_sync()", "find_unused_parameters");
  });
}

TEST(DistributedDataParallel, SecondDerivativesAreRefused) {
  on_threads(2, [](const Group& group) {
    MlpImpl net(0);
    DistributedDataParallel model(net, options_of(group));
    const Tensor loss = model(inputs()).sum();
    EXPECT_THROWS(loss.backward({}, true, /*create_graph=*/true), StateError, "create_graph", "autograd::grad()");
  });
}

TEST(DistributedDataParallel, DifferentModulesAreNamed) {
  on_threads(2, [](const Group& group) {
    nn::Linear net(3, group->rank() == 0 ? 4 : 5);
    EXPECT_THROWS(DistributedDataParallel(net, options_of(group)), StateError, "DistributedDataParallel: ", "weight [",
                  "rank");
  });
  on_threads(2, [](const Group& group) {
    nn::Linear net(nn::LinearOptions(3, 4).bias(group->rank() == 0));
    EXPECT_THROWS(DistributedDataParallel(net, options_of(group)), StateError, "2 parameters and buffers on rank 0",
                  "1 on rank 1");
  });
  on_threads(2, [](const Group& group) {  // buckets have the memory order of the parameters
    nn::Conv2d net(nn::Conv2dOptions(3, 4, 3));
    if (group->rank() == 1) net->to(MemoryFormat::ChannelsLast);
    EXPECT_THROWS(DistributedDataParallel(net, options_of(group)), StateError, "weight [4, 3, 3, 3] f32",
                  "is not the same");
  });
  on_threads(2, [](const Group& group) {
    nn::Linear net(3, 3);
    (group->rank() == 0 ? net->weight : net->bias).requires_grad_(false);
    EXPECT_THROWS(DistributedDataParallel(net, options_of(group)), StateError, "is not the same");
  });
}

TEST(DistributedDataParallel, FreezingAfterwardsIsRefused) {
  on_threads(1, [](const Group& group) {
    nn::Linear net(3, 3);
    net->bias.requires_grad_(false);
    DistributedDataParallel model(net, options_of(group));
    net->bias.requires_grad_(true);
    EXPECT_THROWS(model(ones({2, 3})), StateError, "wrap it again", "averaged");
    net->bias.requires_grad_(false);
    net->weight.requires_grad_(false);
    EXPECT_THROWS(model(ones({2, 3})), StateError, "weight was frozen", "wrap it again");
  });
}

TEST(DistributedDataParallel, ChannelsLastParameters) {
  on_ranks([](const Group& group) {
    const auto make = [] {
      nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(3, 4, 3)), nn::Flatten());
      net->to(kDouble);
      net->to(MemoryFormat::ChannelsLast);
      const NoGradGuard no_grad;
      for (const Tensor& p : net->parameters()) p.copy_(numbers(p.sizes(), 1));
      return net;
    };
    const Tensor x = numbers({12, 3, 5, 5}, 2);
    nn::Sequential alone = make(), net = make();
    alone->forward(x).square().mean().backward();
    for (const bool views : {false, true}) {
      DistributedDataParallel model(net, options_of(group).gradient_as_bucket_view(views));
      net->zero_grad();
      model(part_of(x, group->rank(), group->size())).square().mean().backward();
      expect_close(gradients_of(*net), gradients_of(*alone), kRounding);
      EXPECT_EQ(net->parameters()[0].grad().strides(), net->parameters()[0].strides());
    }
  });
}

TEST(DistributedDataParallel, APassThatFailsDoesNotSpoilTheNext) {
  on_ranks([](const Group& group) {
    MlpImpl net(0);
    DistributedDataParallel model(net, options_of(group).bucket_cap_mb(1e-6));
    bool fails = true;
    net.fc1->bias.register_hook([&](const Tensor&) {
      if (fails) throw std::runtime_error("a bug");
    });
    for (const bool with_forward : {true, false}) {
      fails = true;
      const Tensor x = part_of(inputs(), group->rank(), group->size());
      const Tensor target = part_of(targets(), group->rank(), group->size());
      const Tensor second = mean_square(model(x), target);
      EXPECT_THROW(mean_square(model(x), target).backward(), std::runtime_error);
      fails = false;
      net.zero_grad();
      with_forward ? mean_square(model(x), target).backward() : second.backward();
      expect_close(gradients_of(net), joint_gradients(), kRounding);
    }
  });
}

TEST(DistributedDataParallel, RefusesBadOptions) {
  const Group group = distributed::make_thread_groups(1)[0];
  nn::Linear net(3, 4);
  EXPECT_THROWS(DistributedDataParallel(net, options_of(group).bucket_cap_mb(0)), StateError, "bucket_cap_mb = 0");
  for (const Tensor& p : net->parameters()) p.requires_grad_(false);
  EXPECT_THROWS(DistributedDataParallel(net, options_of(group)), StateError, "no parameter");
  EXPECT_THROWS(DistributedDataParallel(std::shared_ptr<nn::LinearImpl>(), options_of(group)), StateError, "null");
}

TEST(DistributedDataParallel, BroadcastsBuffers) {
  on_ranks([](const Group& group) {
    nn::BatchNorm1d net(6);
    DistributedDataParallel model(net, options_of(group));
    for (int i = 0; i < 2; ++i) model(part_of(inputs(), group->rank(), group->size()).to(kFloat)).sum().backward();
    const Tensor of_first = net->running_mean.clone();
    group->broadcast(of_first);
    model(part_of(inputs(), 0, group->size()).to(kFloat));
    // The last call began with the buffers of rank 0, and all ranks had the same input.
    expect_same_on_all_ranks(group, net->running_mean);
    expect_same_on_all_ranks(group, net->num_batches_tracked);
    const Tensor mean = part_of(inputs(), 0, group->size()).to(kFloat).mean(IntArrayRef{0});
    expect_close({net->running_mean}, {of_first * 0.9 + mean * 0.1}, 1e-5);
    // A rank may evaluate alone.
    net->eval();
    if (group->rank() == 0) model(inputs().to(kFloat));
  });
}

TEST(DistributedDataParallel, CompressedGradients) {
  on_ranks([](const Group& group) {
    const std::vector<Tensor> expected = joint_gradients();
    for (const bool views : {false, true}) {
      for (const bool bf16 : {false, true}) {
        const auto hook = bf16 ? nn::parallel::bf16_compress_hook : nn::parallel::fp16_compress_hook;
        MlpImpl net(0);
        DistributedDataParallel model(net, options_of(group).gradient_as_bucket_view(views));
        model.register_comm_hook(hook);
        EXPECT_THROWS(model.register_comm_hook(hook), StateError, "register_comm_hook: ");
        for (int iteration = 0; iteration < 2; ++iteration) {
          net.zero_grad();
          const int64_t before = group->statistics().bytes;
          run(model, group);
          expect_close(gradients_of(net), expected, bf16 ? 0.02 : 0.002);
          for (const Tensor& g : gradients_of(net)) expect_same_on_all_ranks(group, g);
          if (iteration == 1) {
            int64_t elements = 0;
            for (const Tensor& p : net.parameters()) elements += p.numel();
            // Besides the gradients, only the comparison above sends.
            EXPECT_EQ(group->statistics().bytes - before, 2 * elements + 8 * elements);
          }
        }
      }
    }
  });
}

TEST(DistributedDataParallel, AHookOfTheProgram) {
  on_ranks([](const Group& group) {
    MlpImpl net(0);
    DistributedDataParallel model(net, options_of(group).bucket_cap_mb(1e-6));
    std::vector<size_t> seen;
    model.register_comm_hook([&](distributed::ProcessGroup& g, const GradBucket& bucket) {
      seen.push_back(bucket.index());
      EXPECT_EQ(bucket.is_last(), bucket.index() == 3);
      EXPECT_EQ(bucket.gradients().size(), bucket.parameters().size());
      // Behind another number in the same memory: the result need not be the whole tensor.
      const Tensor doubled = cat({ones({1}, kDouble), bucket.buffer() * 2}).narrow(0, 1, bucket.buffer().numel());
      return Reduction{g.all_reduce_async(doubled, distributed::ReduceOp::AVG), doubled};
    });
    run(model, group);
    EXPECT_EQ(seen, (std::vector<size_t>{0, 1, 2, 3}));
    std::vector<Tensor> twice;
    for (const Tensor& g : joint_gradients()) twice.push_back(g * 2);
    expect_close(gradients_of(net), twice, kRounding);
  });
}

TEST(DistributedDataParallel, TrainsLikeOneProcess) {
  on_ranks([](const Group& group) {
    MlpImpl alone(0), net(0);
    DistributedDataParallel model(net, options_of(group));
    optim::SGD one(alone.parameters(), optim::SGDOptions(0.1).momentum(0.9));
    optim::SGD many(net.parameters(), optim::SGDOptions(0.1).momentum(0.9));
    for (int step = 0; step < 50; ++step) {
      one.zero_grad();
      mean_square(alone.forward(inputs()), targets()).backward();
      one.step();
      many.zero_grad();
      run(model, group);
      many.step();
    }
    expect_close(net.parameters(), alone.parameters(), 1e-10);
    for (const Tensor& p : net.parameters()) expect_same_on_all_ranks(group, p);
  });
}

TEST(DistributedDataParallel, GradientsEndWithTheWrapper) {
  on_ranks([](const Group& group) {
    MlpImpl net(0);
    { DistributedDataParallel model(net, options_of(group)); }
    const int64_t calls = group->statistics().calls;
    mean_square(net.forward(inputs()), targets()).backward();
    EXPECT_EQ(group->statistics().calls, calls);
  });
}

}  // namespace
}  // namespace tandem::testing
