// ZeroRedundancyOptimizer: the parameters are those of the unsharded optimizer, bit for bit; the memory is divided.
#include "tandem/optim/zero_redundancy_optimizer.h"

#include <algorithm>
#include <future>
#include <set>

#include "distributed/zero_support.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/nn/parallel/distributed_data_parallel.h"

namespace tandem::testing {
namespace {

using optim::MasterWeights;
using optim::Optimizer;
using optim::OptimizerParamGroup;
using optim::ZeroRedundancyOptimizer;

/// Compares with the unsharded optimizer of the same options.
template <class Kind, class Options>
void expect_unsharded_results(const Group& group, const Options& options, DType dtype, Way way,
                              MasterWeights masters = MasterWeights::none) {
  const std::vector<Tensor> p = make_params(dtype), q = make_params(dtype);
  ZeroRedundancyOptimizer zero(two_groups(p, options), options, group);
  Kind alone(two_groups(q, options), options);
  EXPECT_TRUE(zero.steps_fused());
  zero.keep_master_weights(masters);
  alone.keep_master_weights(masters);
  train(zero, p, 0, 8, way);
  train(alone, q, 0, 8, way);
  expect_same(p, q);
}

TEST(ZeroRedundancyOptimizer, StepsAsTheUnshardedOptimizer) {
  using namespace optim;  // NOLINT(google-build-using-namespace)
  on_ranks([](const Group& group) {
    for (const Way way : kWays) {
      for (const DType dtype : {kFloat, kDouble}) {
        expect_unsharded_results<SGD>(group, SGDOptions(0.01).momentum(0.9).weight_decay(0.1), dtype, way);
        expect_unsharded_results<Adam>(group, AdamOptions(1e-2).amsgrad(true), dtype, way);
        expect_unsharded_results<AdamW>(group, AdamWOptions(1e-2), dtype, way);
      }
    }
    const auto compact = AdamWOptions(1e-2).exp_avg_dtype(kFloat8_e4m3fn).exp_avg_sq_dtype(kBFloat16);
    expect_unsharded_results<AdamW>(group, compact, kFloat, Way::scaled);
    expect_unsharded_results<Adadelta>(group, AdadeltaOptions(), kFloat, Way::scaled);
    expect_unsharded_results<Adagrad>(group, AdagradOptions(1e-2), kFloat, Way::scaled);
    expect_unsharded_results<Adamax>(group, AdamaxOptions(1e-2), kFloat, Way::scaled);
    expect_unsharded_results<LAMB>(group, LAMBOptions(1e-2), kFloat, Way::scaled);
    expect_unsharded_results<Lion>(group, LionOptions(1e-2), kFloat, Way::scaled);
    expect_unsharded_results<NAdam>(group, NAdamOptions(1e-2), kFloat, Way::scaled);
    expect_unsharded_results<RAdam>(group, RAdamOptions(1e-2), kFloat, Way::scaled);
    expect_unsharded_results<RMSprop>(group, RMSpropOptions(1e-2), kFloat, Way::scaled);
  });
}

TEST(ZeroRedundancyOptimizer, MasterWeights) {
  on_ranks([](const Group& group) {
    for (const MasterWeights kind : {MasterWeights::none, MasterWeights::f32, MasterWeights::remainder}) {
      for (const Way way : kWays) {
        expect_unsharded_results<optim::AdamW>(group, optim::AdamWOptions(1e-3), kBFloat16, way, kind);
        expect_unsharded_results<optim::SGD>(group, optim::SGDOptions(1e-3).momentum(0.9), kBFloat16, way, kind);
      }
    }
  });
}

TEST(ZeroRedundancyOptimizer, OnlyTheOwnerKeepsAMaster) {
  on_ranks([](const Group& group) {
    const std::vector<Tensor> p = make_params(kBFloat16), q = make_params(kBFloat16);
    ZeroRedundancyOptimizer zero(p, optim::AdamWOptions(1e-3), group);
    optim::AdamW alone(q, optim::AdamWOptions(1e-3));
    for (Optimizer* optimizer : {static_cast<Optimizer*>(&zero), static_cast<Optimizer*>(&alone)}) {
      optimizer->keep_master_weights();
    }
    train(zero, p, 0, 3);
    train(alone, q, 0, 3);
    for (size_t i = 0; i < p.size(); ++i) {
      const bool owns = zero.owners()[i] == group->rank();
      EXPECT_EQ(zero.master(p[i]).dtype(), owns ? kFloat : kBFloat16);
      if (owns) {
        EXPECT_EQ(difference(zero.master(p[i]), alone.master(q[i])), "");
      }
      EXPECT_EQ(zero.state().count(&p[i].impl()), owns ? 1u : 0u);
      EXPECT_FALSE(zero.local_optimizer().state().contains(&q[i].impl()));
    }
    // A master that the program sets reaches the parameter on all ranks.
    for (const MasterWeights kind : {MasterWeights::f32, MasterWeights::remainder}) {
      zero.keep_master_weights(MasterWeights::none);
      zero.keep_master_weights(kind);
      for (const Tensor& x : p) {
        zero.set_master(x, numbers(x.sizes(), 3, kFloat));
        expect_same_on_all_ranks(group, x);
      }
    }
  });
}

TEST(ZeroRedundancyOptimizer, SchedulesAndOptionsReachTheShards) {
  on_ranks([](const Group& group) {
    const std::vector<Tensor> p = make_params(), q = make_params();
    const optim::AdamWOptions options(0.1);
    ZeroRedundancyOptimizer zero(two_groups(p, options), options, group);
    optim::AdamW alone(two_groups(q, options), options);
    const auto run = [](Optimizer& optimizer, const std::vector<Tensor>& params) {
      optim::StepLR schedule(optimizer, 2, 0.5);
      for (int step = 0; step < 6; ++step) {
        static_cast<optim::AdamWOptions&>(optimizer.param_groups()[1].options()).weight_decay(0.1 * step);
        train(optimizer, params, step, step + 1);
        schedule.step();
      }
    };
    run(zero, p);
    run(alone, q);
    expect_same(p, q);
  });
}

TEST(ZeroRedundancyOptimizer, ClosuresAreEvaluatedOnAllRanks) {
  on_ranks([](const Group& group) {
    const std::vector<Tensor> p = make_params();
    ZeroRedundancyOptimizer zero(p, optim::SGDOptions(0.1), group);
    int calls = 0;
    const Tensor loss = zero.step([&] {
      ++calls;
      const Tensor value = loss_of(p, 0);
      value.backward();
      return value;
    });
    EXPECT_EQ(calls, 1);
    EXPECT_TRUE(loss.defined());
    for (const Tensor& x : p) expect_same_on_all_ranks(group, x);
  });
}

TEST(ZeroRedundancyOptimizer, ParametersWithoutGradients) {
  on_ranks([](const Group& group) {
    const std::vector<Tensor> p = make_params(), q = make_params();
    ZeroRedundancyOptimizer zero(p, optim::AdamOptions(0.1), group);
    optim::Adam alone(q, optim::AdamOptions(0.1));
    train(zero, {p[0], p[3], p[4]}, 0, 3);
    train(alone, {q[0], q[3], q[4]}, 0, 3);
    expect_same(p, q);
  });
}

TEST(ZeroRedundancyOptimizer, GroupsCanBeAdded) {
  on_ranks([](const Group& group) {
    const std::vector<Tensor> p = make_params(), q = make_params();
    const auto run = [](Optimizer& optimizer, const std::vector<Tensor>& params) {
      train(optimizer, params, 0, 3);
      optimizer.add_param_group(OptimizerParamGroup({params[0]}, std::make_unique<optim::AdamWOptions>(0.01)));
      train(optimizer, params, 3, 6);
    };
    ZeroRedundancyOptimizer zero(std::vector<Tensor>(p.begin() + 1, p.end()), optim::AdamWOptions(0.1), group);
    optim::AdamW alone(std::vector<Tensor>(q.begin() + 1, q.end()), optim::AdamWOptions(0.1));
    const std::vector<int> before = zero.owners();
    run(zero, p);
    run(alone, q);
    expect_same(p, q);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), zero.owners().begin()));
    EXPECT_EQ(zero.owners().size(), p.size());
  });
}

TEST(ZeroRedundancyOptimizer, MoreRanksThanParameters) {
  on_ranks([](const Group& group) {
    for (const Way way : kWays) {
      const std::vector<Tensor> p = {make_params()[0]}, q = {make_params()[0]};
      ZeroRedundancyOptimizer zero(p, optim::AdamWOptions(0.1), group);
      optim::AdamW alone(q, optim::AdamWOptions(0.1));
      train(zero, p, 0, 4, way);
      train(alone, q, 0, 4, way);
      expect_same(p, q);
    }
  });
}

TEST(ZeroRedundancyOptimizer, ParametersThatShareMemory) {
  on_ranks([](const Group& group) {
    const auto make = [] {
      const Tensor memory = numbers({12}, 0, kFloat);
      std::vector<Tensor> params = {memory.narrow(0, 0, 6), numbers({3}, 1, kFloat), memory.narrow(0, 4, 6),
                                    memory.narrow(0, 10, 2)};
      for (Tensor& p : params) p = p.detach().requires_grad_();
      return params;
    };
    const std::vector<Tensor> p = make(), q = make();
    ZeroRedundancyOptimizer zero(p, optim::AdamWOptions(0.1), group);
    optim::AdamW alone(q, optim::AdamWOptions(0.1));
    EXPECT_EQ(zero.owners()[0], zero.owners()[2]);
    if (group->size() > 1) {
      EXPECT_NE(zero.owners()[0], zero.owners()[3]);
    }
    train(zero, p, 0, 3);
    train(alone, q, 0, 3);
    expect_same(p, q);
  });
}

TEST(ZeroRedundancyOptimizer, ThePartitionIsBalancedAndTheSameOnAllRanks) {
  on_ranks([](const Group& group) {
    const std::vector<Tensor> p = make_params();
    const ZeroRedundancyOptimizer zero(p, optim::AdamWOptions(), group);
    std::vector<int64_t> loads(static_cast<size_t>(group->size()));
    int64_t largest = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      loads[static_cast<size_t>(zero.owners()[i])] += p[i].numel();
      largest = std::max(largest, p[i].numel());
    }
    const auto [least, most] = std::minmax_element(loads.begin(), loads.end());
    EXPECT_LE(*most - *least, largest);
    expect_same_on_all_ranks(group, tensor(std::vector<int64_t>(zero.owners().begin(), zero.owners().end())));
  });
}

/// The bytes of the states and masters that an optimizer keeps.
int64_t bytes_of(const StateDict& state) {
  int64_t bytes = 0;
  for (const auto& item : state) {
    if (item.key().starts_with("state.") || item.key().starts_with("master_weights.")) {
      bytes += static_cast<int64_t>(item.value().nbytes());
    }
  }
  return bytes;
}

TEST(ZeroRedundancyOptimizer, MemoryIsDividedByTheRanks) {
  on_ranks([](const Group& group) {
    const auto make = [] {
      std::vector<Tensor> params;
      for (int i = 0; i < 24; ++i) params.push_back(numbers({40 + i, 16}, i, kBFloat16).requires_grad_());
      return params;
    };
    const std::vector<Tensor> p = make(), q = make();
    ZeroRedundancyOptimizer zero(p, optim::AdamWOptions(), group);
    optim::AdamW alone(q, optim::AdamWOptions());
    zero.keep_master_weights();
    alone.keep_master_weights();
    train(zero, p, 0, 1);
    train(alone, q, 0, 1);
    size_t states = 0;
    for (const auto& [param, state] : zero.state()) states += state != nullptr;
    EXPECT_EQ(states, zero.local_optimizer().size());
    const auto all = static_cast<double>(bytes_of(alone.state_dict()));
    const auto own = static_cast<double>(bytes_of(zero.local_state_dict()));
    ::testing::Test::RecordProperty("state_bytes_of_a_rank_of_" + std::to_string(group->size()), std::to_string(own));
    double elements = 0, largest = 0;
    for (const Tensor& x : p) {
      elements += static_cast<double>(x.numel());
      largest = std::max(largest, static_cast<double>(x.numel()));
    }
    EXPECT_NEAR(own / all, 1.0 / group->size(), largest / elements);
    const Tensor sum = full({}, own, kDouble);
    group->all_reduce(sum);
    EXPECT_EQ(sum.item<double>(), all);  // no state is kept twice
  });
}

TEST(ZeroRedundancyOptimizer, AParameterWaitsForItsOwnerWhenItIsUsed) {
  if (on_cuda() && std::getenv("TANDEM_NO_CACHE")) GTEST_SKIP() << "memory that is returned waits for the other rank";
  on_threads(2, [first_has_stepped = std::make_shared<std::promise<void>>()](const Group& group) {
    const std::vector<Tensor> p = make_params(), q = make_params();
    ZeroRedundancyOptimizer zero(p, optim::AdamWOptions(0.1), group);
    optim::AdamW alone(q, optim::AdamWOptions(0.1));
    for (const auto& [optimizer, params] : {std::pair<Optimizer*, const std::vector<Tensor>&>{&zero, p}, {&alone, q}}) {
      loss_of(params, 0).backward();
      if (optimizer == &zero && group->rank() == 1) first_has_stepped->get_future().wait();
      optimizer->step();
    }
    if (group->rank() == 0) {
      for (size_t i = 0; i < p.size(); ++i) {
        EXPECT_EQ(p[i].storage().has_pending(), zero.owners()[i] == 1);
        if (zero.owners()[i] == 0) {
          EXPECT_EQ(difference(p[i], q[i]), "");
        }
      }
      first_has_stepped->set_value();
    }
    expect_same(p, q);
  });
}

TEST(ZeroRedundancyOptimizer, AParameterWhosePointerIsKnownIsCompleteAfterTheStep) {
  TANDEM_TEST_ON_HOST();
  on_ranks([](const Group& group) {
    const std::vector<Tensor> p = make_params();
    std::vector<const float*> pointers;
    for (const Tensor& x : p) pointers.push_back(x.const_data_ptr<float>());
    ZeroRedundancyOptimizer zero(p, optim::SGDOptions(0.1), group);
    loss_of(p, 0).backward();
    zero.step();
    std::vector<float> seen;
    for (const float* data : pointers) seen.push_back(*data);
    for (size_t i = 0; i < p.size(); ++i) EXPECT_EQ(p[i].flatten()[0].item<float>(), seen[i]) << "parameter " << i;
  });
}

TEST(ZeroRedundancyOptimizer, TrainsWithDistributedDataParallelAndAmp) {
  on_ranks([](const Group& group) {
    const auto run = [&](MlpImpl& net, Optimizer& optimizer) {
      nn::parallel::DistributedDataParallel model(net,
                                                  nn::parallel::DistributedDataParallelOptions().process_group(group));
      amp::GradScaler scaler = make_scaler();
      for (int step = 0; step < 12; ++step) {
        optimizer.zero_grad();
        const Tensor x = numbers({4, 6}, 10 * step + group->rank(), kFloat);
        Tensor loss;
        {
          const amp::AutocastGuard autocast(device_type(), kBFloat16);
          loss = mean_square(model(x).to(kFloat), x.narrow(1, 0, 3));
        }
        const bool overflows = step % 5 == 3 && group->rank() == step % group->size();
        scaler.scale(overflows ? loss * INFINITY : loss).backward();
        EXPECT_EQ(scaler.step(optimizer).skipped(), step % 5 == 3);
        scaler.update();
      }
    };
    MlpImpl sharded(0), net(0);
    sharded.to(kFloat);
    net.to(kFloat);
    ZeroRedundancyOptimizer zero(sharded.parameters(), optim::AdamWOptions(0.01), group);
    optim::AdamW alone(net.parameters(), optim::AdamWOptions(0.01));
    run(sharded, zero);
    run(net, alone);
    expect_same(sharded.parameters(), net.parameters());
  });
}

// ---- bad input

/// p -= lr g, without step(scaling).
class Descent : public Optimizer {
 public:
  explicit Descent(const std::vector<OptimizerParamGroup>& groups)
      : Optimizer(groups, std::make_unique<optim::SGDOptions>(0.5)) {}
  using Optimizer::step;
  Tensor step(LossClosure) override { return {}; }
};

/// Fails on one rank.
class Failing : public optim::SGD {
 public:
  Failing(const std::vector<OptimizerParamGroup>& groups, bool fails)
      : SGD(groups, optim::SGDOptions(0.5)), fails_(fails) {}
  using SGD::step;
  void step(const FusedUnscale& scaling) override {
    if (fails_) throw std::runtime_error("no memory is left");
    SGD::step(scaling);
  }

 protected:
  bool overrides_step() const override { return false; }

 private:
  bool fails_;
};

TEST(ZeroRedundancyOptimizerErrors, Parameters) {
  const Group group = distributed::make_thread_groups(1)[0];
  const std::vector<Tensor> p = make_params();
  const optim::AdamWOptions options(0.1);
  EXPECT_THROWS(ZeroRedundancyOptimizer(std::vector<Tensor>{}, options, group), StateError, "parameter list is empty");
  EXPECT_THROWS(ZeroRedundancyOptimizer({p[0], Tensor()}, options, group), StateError, "parameter 1", "undefined");
  EXPECT_THROWS(ZeroRedundancyOptimizer({p[0], p[0]}, options, group), StateError, "list each parameter once");
  EXPECT_THROWS(ZeroRedundancyOptimizer(p, optim::AdamWOptions(-1), group), StateError, "AdamW: ", "lr");
  ZeroRedundancyOptimizer zero({p[0], p[1]}, options, group);
  EXPECT_THROWS(zero.add_param_group(OptimizerParamGroup({p[1]})), StateError, "already in this optimizer");
  EXPECT_THROWS(zero.add_param_group(OptimizerParamGroup({p[2]}, std::make_unique<optim::SGDOptions>(1))), StateError,
                "AdamWOptions");
  EXPECT_EQ(zero.param_groups().size(), 1u);
  zero.param_groups()[0].options().set_lr(-1);
  EXPECT_THROWS(zero.step(), StateError, "lr");
  zero.param_groups()[0].options().set_lr(1);
  zero.param_groups()[0].params()[0] = p[2];
  EXPECT_THROWS(zero.step(), StateError, "ZeroRedundancyOptimizer: ", "replaced", "add_param_group");
}

TEST(ZeroRedundancyOptimizerErrors, OptimizersThatCannotBeSharded) {
  const Group group = distributed::make_thread_groups(1)[0];
  const std::vector<OptimizerParamGroup> groups = {OptimizerParamGroup(make_params())};
  EXPECT_THROWS(ZeroRedundancyOptimizer(groups, optim::LBFGSOptions(), group), NotImplementedError, "LBFGS",
                "shard another one");
  struct OtherOptions : optim::OptimizerCloneableOptions<OtherOptions> {};
  EXPECT_THROWS(ZeroRedundancyOptimizer(groups, OtherOptions(), group), StateError, "pass a factory");
  const auto with = [&](optim::OptimizerFactory factory) {
    ZeroRedundancyOptimizer(groups, std::move(factory), group);
  };
  EXPECT_THROWS(with(nullptr), StateError, "the factory is empty");
  EXPECT_THROWS(with([](auto) { return nullptr; }), StateError, "returned null");
  EXPECT_THROWS(with([&](auto) { return std::make_unique<optim::SGD>(std::vector<Tensor>{make_params()[0]}, 0.1); }),
                StateError, "1 parameters for groups of 7");
  EXPECT_THROWS(with([](auto g) { return std::make_unique<Descent>(g); }), NotImplementedError,
                "step(const FusedUnscale&)", "overrides_step()");
}

TEST(ZeroRedundancyOptimizerErrors, DifferentParametersAreNamed) {
  on_threads(2, [](const Group& group) {
    const int64_t mine = group->rank() == 0 ? 3 : 4;
    const std::vector<Tensor> p = {zeros({2}), zeros({mine})};
    EXPECT_THROWS(ZeroRedundancyOptimizer(p, optim::SGDOptions(1), group), StateError,
                  "ZeroRedundancyOptimizer: ", "parameter 1", "ranks 0 and 1", group->rank() == 0 ? "[3]" : "[4]",
                  "same optimizer");
    ZeroRedundancyOptimizer zero({p[0]}, optim::SGDOptions(1), group);
    EXPECT_THROWS(zero.add_param_group(OptimizerParamGroup({p[1]})), StateError, "add_param_group: ", "of group 1:");
    EXPECT_EQ(zero.size(), 1u);
    zero.step();  // the failed call has changed nothing
  });
  on_threads(2, [](const Group& group) {
    const std::vector<Tensor> p(static_cast<size_t>(1 + group->rank()), zeros({2}));
    std::vector<Tensor> own;
    for (const Tensor& x : p) own.push_back(x.clone());
    EXPECT_THROWS(ZeroRedundancyOptimizer(own, optim::SGDOptions(1), group), StateError,
                  "the optimizer has 1 parameters on rank 0, but 2 on rank 1");
  });
}

TEST(ZeroRedundancyOptimizerErrors, AFailureOfOneRankReachesTheOthers) {
  on_threads(3, [](const Group& group) {
    const std::vector<Tensor> p = make_params();
    ZeroRedundancyOptimizer zero(
        {OptimizerParamGroup(p)},
        [&](std::vector<OptimizerParamGroup> groups) { return std::make_unique<Failing>(groups, group->rank() == 1); },
        group);
    loss_of(p, 0).backward();
    if (group->rank() == 1) {
      EXPECT_THROW(zero.step(), std::runtime_error);
      return;
    }
    const auto use_all = [&] {
      zero.step();
      for (const Tensor& x : p) x.sum();
    };
    EXPECT_THROWS(use_all(), StateError, "rank 1", "no memory is left");
    EXPECT_THROWS(zero.step(), StateError, "rank 1", "no memory is left");
  });
}

}  // namespace
}  // namespace tandem::testing
