// A run that is saved after any iteration and resumed with new objects continues bit for bit as if it had not stopped.
// Covers every optimizer in every mode, including those of other systems, with dropout, running statistics, a schedule,
// and a loader in the middle of its epoch.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "support/counter.h"
#include "support/device.h"
#include "support/state.h"
#include "support/temporary_folder.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/modes/auto_mixed_precision.h"
#include "tandem/amp/modes/booster.h"
#include "tandem/amp/modes/opt_level.h"
#include "tandem/data/data.h"
#include "tandem/io/checkpoint.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

constexpr int64_t kIterations = 14, kItems = 22;
constexpr size_t kBatch = 4;  // 6 batches, the last with 2 items: the run ends in its third epoch

/// Item i is made by the counter formula.
struct Items : data::datasets::Dataset<Items> {
  data::Example<> get(size_t index) override {
    const Tensor x = empty({6}, kCPU);
    for (int64_t i = 0; i < 6; ++i) {
      x.data_ptr<float>()[i] = static_cast<float>(counter_normal(index, static_cast<uint64_t>(i)));
    }
    return {x.to(device), tensor(counter_integer(9, index, 0, 3), device)};
  }
  std::optional<size_t> size() const override { return kItems; }
  Device device = get_default_device();  // worker threads have another default
};

struct Net : nn::Module {
  Net() {
    register_module("fc1", fc1);
    register_module("norm", norm);
    register_module("dropout", dropout);
    register_module("fc2", fc2);
  }
  Tensor forward(const Tensor& x) { return fc2(dropout(relu(norm(fc1(x))))); }
  nn::Linear fc1{6, 8}, fc2{8, 3};
  nn::BatchNorm1d norm{8};
  nn::Dropout dropout{0.3};
};

using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(std::vector<Tensor>)>;

struct Mode {
  std::string name;
  std::optional<DType> low;  ///< dtype of the autocast region; empty for f32
  amp::GradScalerOptions scaler = amp::GradScalerOptions().enabled(false);
  size_t workers = 0;
  /// For modes of other systems: prepares the network and the optimizer.
  std::function<void(nn::Module& net, optim::Optimizer& optimizer)> begin = {};
  std::function<void(const Tensor& loss, optim::Optimizer& optimizer)> backward = {};
  std::function<void()> end = {};
};

struct TrainingRun {
  TrainingRun(const MakeOptimizer& make_optimizer, const Mode& how)
      : mode(how), optimizer(make_optimizer(net.parameters())) {
    if (mode.begin) mode.begin(net, *optimizer);
    checkpoint.add("model", net)
        .add("optimizer", optimizer)
        .add("schedule", schedule)
        .add("scaler", scaler)
        .add("rng", default_generator())
        .add("loader", loader)
        .add("iteration", iteration);
  }

  /// Continues to the end and calls `after` after each iteration. Returns the losses.
  std::vector<float> train(const std::function<void()>& after = {}) {
    std::vector<float> losses;
    while (iteration < kIterations) {
      for (auto& batch : *loader) {
        optimizer->zero_grad();
        Tensor loss;
        {
          amp::AutocastGuard autocast(device_type(), mode.low.value_or(kBFloat16), mode.low.has_value());
          loss = nn::functional::cross_entropy(nn::call(net, batch.data), batch.target);
        }
        if (mode.backward) {
          mode.backward(loss, *optimizer);
        } else {
          scaler.scale(loss).backward();
        }
        scaler.step(*optimizer);
        scaler.update();
        schedule.step();
        ++iteration;
        losses.push_back(loss.item<float>());
        if (after) after();
        if (iteration == kIterations) break;
      }
    }
    return losses;
  }

  Mode mode;
  Net net;
  std::unique_ptr<optim::Optimizer> optimizer;
  optim::SequentialLR schedule{*optimizer,
                               {std::make_shared<optim::LinearLR>(*optimizer, 0.1, 1.0, 4),
                                std::make_shared<optim::CosineAnnealingLR>(*optimizer, 10)},
                               {4}};
  amp::GradScaler scaler{mode.scaler};
  std::unique_ptr<
      data::DataLoader<data::datasets::MapDataset<Items, data::transforms::Stack<>>, data::samplers::RandomSampler>>
      loader = data::make_data_loader(Items().map(data::transforms::Stack<>()),
                                      data::DataLoaderOptions(kBatch).workers(mode.workers));
  int64_t iteration = 0;
  io::Checkpoint checkpoint;
};

std::vector<std::pair<std::string, MakeOptimizer>> optimizers() {
  using namespace optim;  // NOLINT(google-build-using-namespace)
  const auto make = []<class O, class Options>(std::type_identity<O>, Options options) {
    return [options](std::vector<Tensor> params) -> std::unique_ptr<Optimizer> {
      return std::make_unique<O>(std::move(params), options);
    };
  };
  return {{"SGD", make(std::type_identity<SGD>(), SGDOptions(0.1))},
          {"momentum", make(std::type_identity<SGD>(), SGDOptions(0.1).momentum(0.9).weight_decay(1e-3))},
          {"Nesterov", make(std::type_identity<SGD>(), SGDOptions(0.1).momentum(0.9).nesterov(true))},
          {"Adam", make(std::type_identity<Adam>(), AdamOptions(0.05))},
          {"AdamW", make(std::type_identity<AdamW>(), AdamWOptions(0.05))},
          {"Adam amsgrad", make(std::type_identity<Adam>(), AdamOptions(0.05).amsgrad(true))},
          {"AdamW amsgrad", make(std::type_identity<AdamW>(), AdamWOptions(0.05).amsgrad(true))}};
}

Mode opt_level(amp::OptLevel level) {
  Mode mode{"O" + std::to_string(static_cast<int>(level)), {}};
  mode.begin = [level](nn::Module& net, optim::Optimizer& optimizer) {
    amp::initialize(net, optimizer, level, amp::InitializeOptions().verbosity(0));
  };
  mode.backward = [](const Tensor& loss, optim::Optimizer& optimizer) { amp::scale_loss(loss, optimizer).backward(); };
  mode.end = [] { amp::set_autocast_enabled(device_type(), false); };
  return mode;
}

Mode boosted(std::shared_ptr<amp::MixedPrecision> precision) {
  Mode mode{"boosted " + precision->name(), {}};
  mode.begin = [precision](nn::Module& net, optim::Optimizer& optimizer) {
    amp::Booster(precision).boost(net, optimizer);
  };
  mode.backward = [precision](const Tensor& loss, optim::Optimizer& optimizer) {
    precision->backward(loss, optimizer, {});
  };
  return mode;
}

Mode environment_switch() {
  Mode mode{"environment switch", {}};
  mode.begin = [](nn::Module&, optim::Optimizer&) {
    amp::disable_auto_mixed_precision();
    amp::enable_auto_mixed_precision(amp::AutoMixedPrecisionOptions().dtype(kHalf));
  };
  mode.backward = [](const Tensor& loss, optim::Optimizer&) { loss.backward(); };
  mode.end = [] { amp::disable_auto_mixed_precision(); };
  return mode;
}

std::vector<Mode> modes() {
  // Scales that overflow f16 sometimes and grow quickly, so that saved states include skips and partly counted growth
  // and hysteresis intervals.
  const auto scaler = [](amp::Hysteresis rule, int64_t hysteresis) {
    return amp::GradScalerOptions().init_scale(0x1p24).growth_interval(3).hysteresis(hysteresis).hysteresis_rule(rule);
  };
  return {{"f32", {}},
          {"bf16", kBFloat16, amp::GradScalerOptions().enabled(false), 2},
          {"f16", kHalf, scaler(amp::Hysteresis::megatron, 1)},
          {"f16 megatron", kHalf, scaler(amp::Hysteresis::megatron, 3)},
          {"f16 colossal", kHalf, scaler(amp::Hysteresis::colossal, 2), 2},
          {"f16 paddle", kHalf, scaler(amp::Hysteresis::paddle, 2)},
          opt_level(amp::OptLevel::O0),
          opt_level(amp::OptLevel::O1),
          opt_level(amp::OptLevel::O2),
          opt_level(amp::OptLevel::O3),
          boosted(std::make_shared<amp::FP16TorchMixedPrecision>(scaler(amp::Hysteresis::megatron, 1))),
          boosted(std::make_shared<amp::FP16NaiveMixedPrecision>(
              amp::FP16NaiveOptions().initial_scale(0x1p24).growth_interval(3))),
          boosted(std::make_shared<amp::BF16MixedPrecision>()),
          environment_switch()};
}

class Resume : public ::testing::TestWithParam<size_t> {};

TEST_P(Resume, EqualsTheUninterruptedRun) {
  const Mode mode = modes()[GetParam()];
  const TemporaryFolder folder;
  const auto file = [&](int64_t iteration) { return folder.path(std::to_string(iteration)); };
  for (const auto& [name, make_optimizer] : optimizers()) {
    manual_seed(1);
    TrainingRun whole(make_optimizer, mode);
    whole.checkpoint.save(file(0));
    std::set<std::tuple<int64_t, int64_t>> trackers;
    const std::vector<float> losses = whole.train([&] {
      whole.checkpoint.save(file(whole.iteration));
      if (!mode.scaler.enabled()) return;
      const auto state = whole.scaler.state_dict();
      trackers.emplace(state.at("_growth_tracker").to_int64(), state.at("hysteresis_tracker").to_int64());
    });
    const StateDict last = clone(whole.checkpoint.state_dict());
    if (mode.scaler.enabled()) {
      EXPECT_GT(trackers.size(), 2u) << "the run must pass through nontrivial states";
    }
    for (int64_t stop = 0; stop <= kIterations; ++stop) {
      manual_seed(1000 + static_cast<uint64_t>(stop));  // must not affect the resumed run
      TrainingRun resumed(make_optimizer, mode);
      resumed.checkpoint.load(file(stop));
      ASSERT_EQ(resumed.iteration, stop);
      const std::vector<float> rest = resumed.train();
      EXPECT_EQ(rest, std::vector<float>(losses.begin() + stop, losses.end())) << mode.name << ", " << name;
      EXPECT_EQ(difference(resumed.checkpoint.state_dict(), last), "") << mode.name << ", " << name << " at " << stop;
    }
    if (mode.end) mode.end();
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Resume, ::testing::Range(size_t{0}, modes().size()), [](const auto& info) {
  std::string name = modes()[info.param].name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST(ResumeHysteresis, EveryRuleResumesAtAnyStep) {
  // Overflows are set by the loss alone.
  for (const auto rule : {amp::Hysteresis::megatron, amp::Hysteresis::colossal, amp::Hysteresis::paddle}) {
    const auto options = amp::GradScalerOptions().init_scale(64).growth_interval(3).hysteresis(3).hysteresis_rule(rule);
    const std::vector<bool> overflows = {false, true,  true,  false, true, true, true,
                                         true,  false, false, false, true, true};
    const auto step = [&](amp::GradScaler& scaler, bool overflow) {
      const Tensor p = ones({1}).requires_grad_();
      optim::SGD sgd({p}, 0.1);
      scaler.scale((p * (overflow ? INFINITY : 1)).sum()).backward();
      scaler.step(sgd);
      scaler.update();
      return scaler.get_scale();
    };
    amp::GradScaler whole(options);
    std::vector<double> scales;
    std::vector<StateDict> states;
    io::Checkpoint all;
    all.add("scaler", whole);
    for (const bool overflow : overflows) {
      states.push_back(all.state_dict());
      scales.push_back(step(whole, overflow));
    }
    for (size_t stop = 0; stop < overflows.size(); ++stop) {
      amp::GradScaler resumed(options);
      io::Checkpoint one;
      one.add("scaler", resumed);
      one.load_state_dict(states[stop]);
      for (size_t i = stop; i < overflows.size(); ++i)
        EXPECT_EQ(step(resumed, overflows[i]), scales[i]) << stop << " " << i;
    }
  }
}

}  // namespace
}  // namespace tandem::testing
