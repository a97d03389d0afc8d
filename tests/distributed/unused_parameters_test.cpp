// DistributedDataParallel of models of which an iteration uses only a part.
#include "tandem/nn/parallel/distributed_data_parallel.h"

#include "distributed/joint_batch.h"
#include "support/throws.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/function.h"
#include "tandem/optim/sgd.h"

namespace tandem::testing {
namespace {

using nn::parallel::DistributedDataParallel;

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

TEST(UnusedParameters, AreFound) {
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

TEST(UnusedParameters, WhatOnlyNoSyncPassesUsedIsAveragedToo) {
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

TEST(UnusedParameters, KeepTheirGradient) {
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

TEST(UnusedParameters, ALeafWithoutAGradientCountsAsZero) {
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

TEST(UnusedParameters, HaveTheLossScaleOfTheOtherRanks) {
  on_ranks([](const Group& group) {
    const auto trained = [&](bool scaled, bool set_to_none) {
      BranchesImpl net;
      DistributedDataParallel model(net, options_of(group).find_unused_parameters(true));
      optim::SGD sgd(net.parameters(), 0.25);
      amp::GradScaler scaler(amp::GradScalerOptions().init_scale(256).enabled(scaled));
      for (int step = 0; step < 2; ++step) {
        sgd.zero_grad(set_to_none);
        for (const double next_scale : {4.0, 1024.0}) {
          const Tensor y = model(part_of(inputs(), group->rank(), group->size()), group->rank() == 0 ? 1 : 2);
          scaler.scale(mean_square(y, part_of(targets(), group->rank(), group->size()))).backward();
          scaler.update(next_scale);
        }
        scaler.step(sgd);
        scaler.update();
      }
      return net.parameters();
    };
    const std::vector<Tensor> expected = trained(false, true);
    for (const bool set_to_none : {true, false}) expect_close(trained(true, set_to_none), expected, 1e-6);
  });
}

TEST(UnusedParameters, StaticGraph) {
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

TEST(UnusedParameters, ABrokenPromiseOfAStaticGraphIsNoticed) {
  on_threads(2, [](const Group& group) {
    BranchesImpl net;
    DistributedDataParallel model(net, options_of(group).static_graph(true));
    run_branch(model, group, 1);
    EXPECT_THROWS(run_branch(model, group, 2), StateError, "static_graph", "right.");
  });
}

TEST(UnusedParameters, AreNamed) {
  on_threads(2, [](const Group& group) {
    BranchesImpl net;
    DistributedDataParallel model(net, options_of(group));
    run_branch(model, group, 1);
    group->barrier();
    EXPECT_THROWS(run_branch(model, group, 1), StateError, "DistributedDataParallel: ", "right.weight, right.bias",
                  "find_unused_parameters");
  });
}

TEST(UnusedParameters, ASecondGradientAfterTheFirstWasSentIsRefused) {
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

}  // namespace
}  // namespace tandem::testing
