// DistributedDataParallel: gradients are those of one process with the joint batch, in every way of using it.
#include "tandem/nn/parallel/distributed_data_parallel.h"

#include "distributed/joint_batch.h"
#include "support/throws.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/engine.h"
#include "tandem/optim/sgd.h"

namespace tandem::testing {
namespace {

using nn::parallel::DistributedDataParallel;
TEST(DistributedDataParallel, GradientsAreThoseOfTheJointBatch) {
  on_ranks([](const Group& group) {
    for (const bool views : {false, true}) {
      for (const double cap : {25.0, 1e-6}) {  // one bucket, and one for each parameter
        MlpImpl net(group->rank());            // other values on each rank: those of rank 0 count
        DistributedDataParallel model(net, options_of(group).bucket_cap_mb(cap).gradient_as_bucket_view(views));
        for (int iteration = 0; iteration < 3;
             ++iteration) {  // the first iteration determines the order of the buckets
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
      expect_close(gradients_of(net), joint_gradients(2), kRounding);
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
    expect_close(gradients_of(net), joint_gradients(2), kRounding);
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
    expect_close(gradients_of(net), joint_gradients(2), kRounding);
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

TEST(DistributedDataParallel, SecondDerivativesAreRefused) {
  SKIP_ON_CUDA("the first rank to refuse ends the group, and the others may learn of that first");
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
