// Saving and loading of ZeroRedundancyOptimizer: one file for any number of ranks, or one for each rank.
#include "distributed/zero_support.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tandem/io/checkpoint.h"
#include "tandem/io/serialize.h"

namespace tandem::testing {
namespace {

using optim::MasterWeights;
using optim::Optimizer;
using optim::ZeroRedundancyOptimizer;

// Moments in fewer bits have more entries in a state.
const optim::AdamWOptions kOptions =
    optim::AdamWOptions(0.01).amsgrad(true).exp_avg_dtype(kFloat8_e4m3fn).exp_avg_sq_dtype(kBFloat16);

/// A run of the unsharded optimizer, or of a sharded one.
struct Training {
  explicit Training(DType dtype, const Group& group = nullptr) : params(make_params(dtype)), scaler(make_scaler()) {
    if (group) {
      auto own = std::make_unique<ZeroRedundancyOptimizer>(two_groups(params, kOptions), kOptions, group);
      zero = own.get();
      optimizer = std::move(own);
    } else {
      optimizer = std::make_unique<optim::AdamW>(two_groups(params, kOptions), kOptions);
    }
    if (dtype == kBFloat16) optimizer->keep_master_weights();
  }
  void keep_moments_in_f32() {
    for (optim::OptimizerParamGroup& g : optimizer->param_groups()) {
      static_cast<optim::AdamWOptions&>(g.options()).exp_avg_dtype(kFloat).exp_avg_sq_dtype(kFloat);
    }
  }
  void train(int first, int last) { testing::train(*optimizer, params, first, last, Way::scaled, scaler); }
  /// All of the run: the optimizer through its base class.
  io::Checkpoint checkpoint() {
    io::Checkpoint run;
    run.add("optimizer", optimizer).add("scaler", scaler);
    for (size_t i = 0; i < params.size(); ++i) run.add("p" + std::to_string(i), params[i]);
    return run;
  }

  std::vector<Tensor> params;
  amp::GradScaler scaler;
  std::unique_ptr<Optimizer> optimizer;
  ZeroRedundancyOptimizer* zero = nullptr;
};

TEST(ZeroRedundancyState, ConsolidatedIsThatOfTheUnshardedOptimizer) {
  on_ranks([](const Group& group) {
    for (const DType dtype : {kFloat, kBFloat16}) {
      Training sharded(dtype, group), alone(dtype);
      sharded.train(0, 5);
      alone.train(0, 5);
      for (int to = 0; to < group->size(); ++to) {
        sharded.zero->consolidate_state_dict(to);
        if (group->rank() == to) {
          const StateDict state = sharded.zero->state_dict(), expected = alone.optimizer->state_dict();
          EXPECT_EQ(difference(state, expected), "");
          for (size_t i = 0; i < state.size() && i < expected.size(); ++i) EXPECT_EQ(state[i].key(), expected[i].key());
        } else {
          EXPECT_THROWS(sharded.zero->state_dict(), StateError, "state_dict: ", "consolidate_state_dict(");
        }
      }
      sharded.train(5, 6);  // the copies are no longer those of the optimizer
      if (group->size() > 1) {
        EXPECT_THROWS(sharded.zero->state_dict(), StateError, "since the last step");
      }
    }
  });
}

TEST(ZeroRedundancyState, LoadsTheStateOfTheUnshardedOptimizer) {
  on_ranks([](const Group& group) {
    for (const DType dtype : {kFloat, kBFloat16}) {
      Training alone(dtype), sharded(dtype, group);
      alone.train(0, 3);
      sharded.train(0, 5);
      sharded.checkpoint().load_state_dict(alone.checkpoint().state_dict());
      EXPECT_EQ(sharded.optimizer->state().size(), sharded.zero->local_optimizer().size());
      alone.train(3, 8);
      sharded.train(3, 8);
      expect_same(sharded.params, alone.params);
    }
  });
}

TEST(ZeroRedundancyState, LoadsIntoTheDtypesOfChangedOptions) {
  on_ranks([](const Group& group) {
    Training alone(kFloat), sharded(kFloat, group);
    alone.keep_moments_in_f32();
    sharded.keep_moments_in_f32();
    alone.train(0, 3);
    sharded.checkpoint().load_state_dict(alone.checkpoint().state_dict());
    alone.train(3, 5);
    sharded.train(3, 5);
    expect_same(sharded.params, alone.params);
  });
}

TEST(ZeroRedundancyState, ResumesOnAnyNumberOfRanks) {
  for (const DType dtype : {kFloat, kBFloat16}) {
    Training uninterrupted(dtype);
    uninterrupted.train(0, 9);
    for (const int saving : {1, 2, 4}) {
      const TemporaryFolder folder;
      const std::string file = folder.path("run.safetensors");
      on_threads(saving, [&](const Group& group) {
        Training run(dtype, group);
        run.train(0, 5);
        run.zero->consolidate_state_dict();
        if (group->rank() == 0) run.checkpoint().save(file);
      });
      for (const int loading : {1, 2, 4}) {
        on_threads(loading, [&](const Group& group) {
          Training run(dtype, group);
          run.checkpoint().load(file);
          run.train(5, 9);
          expect_same(run.params, uninterrupted.params);
        });
      }
      Training alone(dtype);
      alone.checkpoint().load(file);
      alone.train(5, 9);
      expect_same(alone.params, uninterrupted.params);
    }
  }
}

/// Halves all gradients.
class Halving : public optim::StepScaler {
 public:
  void step(Optimizer& optimizer) override {
    optimizer.step(FusedUnscale{.inverse_scale = full({}, 0.5, kFloat), .found_inf = {}});
  }
  StateDict state_dict() override { return {{"factor", full({}, 0.5, kDouble)}}; }
};

TEST(ZeroRedundancyState, StepScalersOfModes) {
  on_ranks([](const Group& group) {
    Training sharded(kFloat, group), alone(kFloat);
    for (Training* run : {&sharded, &alone}) {
      run->optimizer->set_step_scaler(std::make_shared<Halving>());
      train(*run->optimizer, run->params, 0, 3);
    }
    expect_same(sharded.params, alone.params);
    sharded.zero->consolidate_state_dict();
    if (group->rank() == 0) {
      EXPECT_EQ(difference(sharded.zero->state_dict(), alone.optimizer->state_dict()), "");
    }
  });
}

TEST(ZeroRedundancyState, SavedAndLoadedByName) {
  const TemporaryFolder folder;
  const std::string file = folder.path("optimizer.pt");
  on_threads(2, [&](const Group& group) {
    Training run(kFloat, group), resumed(kFloat, group);
    run.keep_moments_in_f32();  // .pt files hold no float8
    resumed.keep_moments_in_f32();
    run.train(0, 3);
    run.zero->consolidate_state_dict(1);
    if (group->rank() == 1) save(*run.zero, file);
    group->barrier();
    load(*resumed.zero, file);
    EXPECT_EQ(difference(resumed.zero->local_state_dict(), run.zero->local_state_dict()), "");
  });
}

TEST(ZeroRedundancyState, LocalStates) {
  on_ranks([](const Group& group) {
    for (const DType dtype : {kFloat, kBFloat16}) {
      Training run(dtype, group), resumed(dtype, group);
      run.train(0, 3);
      const StateDict state = clone(run.zero->local_state_dict());
      resumed.zero->load_local_state_dict(state);
      EXPECT_EQ(difference(resumed.zero->local_state_dict(), state), "");
      for (size_t i = 0; i < run.params.size(); ++i) {
        NoGradGuard no_grad;
        resumed.params[i].copy_(run.params[i]);
      }
      resumed.scaler.load_state_dict(run.scaler.state_dict());
      run.train(3, 6);
      resumed.train(3, 6);
      expect_same(resumed.params, run.params);
    }
  });
}

TEST(ZeroRedundancyStateErrors, LocalStatesOfOthers) {
  std::vector<StateDict> states(2);
  on_threads(2, [&](const Group& group) {
    Training run(kFloat, group);
    run.train(0, 1);
    states[static_cast<size_t>(group->rank())] = run.zero->local_state_dict();
    group->barrier();
    const StateDict& other = states[static_cast<size_t>(1 - group->rank())];
    EXPECT_THROWS(run.zero->load_local_state_dict(other), StateError, "load_local_state_dict: ", "state of rank");
    EXPECT_THROWS(run.zero->load_state_dict(other), StateError, "load_state_dict: ", "load_local_state_dict()");
    EXPECT_THROWS(run.zero->load_local_state_dict({}), StateError, "load_state_dict()");
    group->barrier();
  });
  on_threads(3, [&](const Group& group) {
    Training run(kFloat, group);
    if (group->rank() > 1) return;
    EXPECT_THROWS(run.zero->load_local_state_dict(states[static_cast<size_t>(group->rank())]), StateError,
                  "in another way", "consolidate_state_dict");
  });
}

TEST(ZeroRedundancyStateErrors, AreFoundOnAllRanksAndChangeNothing) {
  on_ranks([](const Group& group) {
    Training alone(kFloat), sharded(kFloat, group);
    alone.train(0, 2);
    sharded.train(0, 2);
    const StateDict before = clone(sharded.zero->local_state_dict());
    StateDict bad = clone(alone.optimizer->state_dict());
    bad["state.4.exp_avg"] = ones({2});  // of a parameter that one rank owns
    EXPECT_THROWS(sharded.zero->load_state_dict(bad), StateError, "load_state_dict: ", "state.4.exp_avg");
    EXPECT_EQ(difference(sharded.zero->local_state_dict(), before), "");
    EXPECT_THROWS(sharded.zero->consolidate_state_dict(group->size()), IndexError,
                  "consolidate_state_dict: ", "does not exist");
  });
}

}  // namespace
}  // namespace tandem::testing
