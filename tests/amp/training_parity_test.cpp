// Whole runs against PyTorch: 200 steps of an MLP and a CNN in f32, bf16 AMP and f16 AMP with a GradScaler. Compares
// losses, the scale after every step, and the skipped steps. tests/golden/training.py made the PyTorch results.
#include <gtest/gtest.h>

#include "amp/training_support.h"
#include "support/device.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/grad_scaler.h"

namespace tandem::testing {
namespace {

struct Cnn : nn::Module {
  static std::vector<int64_t> inputs() { return {1, 8, 8}; }
  Cnn() {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("norm", norm);
    register_module("fc", fc);
  }
  Tensor forward(const Tensor& x) {
    const Tensor h = max_pool2d(relu(norm(conv1(x))), {2});
    return fc(avg_pool2d(relu(conv2(h)), {2}).flatten(1));
  }
  optim::AdamW optimizer() { return optim::AdamW(parameters(), optim::AdamWOptions(0.005)); }
  nn::Conv2d conv1{nn::Conv2dOptions(1, 4, 3).padding(1)}, conv2{nn::Conv2dOptions(4, 8, 3).padding(1)};
  nn::BatchNorm2d norm{4};
  nn::Linear fc{32, kClasses};
};

const nlohmann::json& golden_runs() {
  static const nlohmann::json g = read_traces("training");
  return g;
}

template <class Model>
Trace train(DType dtype, uint64_t seed) {
  Model model;
  set_weights(model, seed);
  auto optimizer = model.optimizer();
  amp::GradScaler scaler(amp::GradScalerOptions()
                             .init_scale(golden_runs().at("init_scale").get<double>())
                             .growth_interval(golden_runs().at("growth_interval").get<int64_t>())
                             .enabled(dtype == kHalf));
  Trace trace;
  for (uint64_t step = 0; step < golden_runs().at("steps").get<uint64_t>(); ++step) {
    const Batch batch = make_batch(Model::inputs(), golden_runs().at("batch").get<int64_t>(), seed + 1000 + step);
    optimizer.zero_grad();
    Tensor loss;
    {
      const bool enabled = dtype != kFloat;
      amp::AutocastGuard autocast(device_type(), enabled ? dtype : kBFloat16, enabled);
      loss = cross_entropy(model.forward(batch.inputs), batch.targets);
    }
    scaler.scale(loss).backward();
    const auto result = scaler.step(optimizer);
    scaler.update();
    trace.losses.push_back(loss.item<double>());
    trace.scales.push_back(scaler.get_scale());
    trace.skipped.push_back(result.skipped());
  }
  return trace;
}

/// Loss curves diverge because trajectories do: changing the weights by a thousandth changes losses by about 0.01
/// (training.py prints it). In f32 only the order of sums differs.
double loss_tolerance(DType dtype) { return dtype == kFloat ? 1e-4 : 0.03; }

template <class Model>
void expect_parity(const char* model, DType dtype) {
  AsPyTorch as_pytorch;
  const nlohmann::json& expected = golden_runs().at(model).at(std::string(name(dtype)));
  const Trace trace = train<Model>(dtype, golden_runs().at(model).at("seed").get<uint64_t>());
  const auto losses = expected.at("losses").get<std::vector<double>>();
  const double worst = largest_difference(trace.losses, losses);
  EXPECT_LE(worst, loss_tolerance(dtype));
  ::testing::Test::RecordProperty("largest_loss_difference", std::to_string(worst));
  if (dtype != kHalf) return;
  const auto skipped = expected.at("skipped").get<std::vector<int>>();
  EXPECT_EQ(trace.skipped, skipped);
  EXPECT_EQ(trace.scales, expected.at("scales").get<std::vector<double>>());
  // Otherwise the comparison would prove nothing.
  int skips = 0, growths = 0;
  for (size_t i = 0; i < skipped.size(); ++i) {
    skips += trace.skipped[i];
    growths += i > 0 && trace.scales[i] > trace.scales[i - 1];
  }
  EXPECT_GE(skips, 3);
  EXPECT_GE(growths, 3);
}

TEST(TrainingParity, MlpF32) { expect_parity<Mlp>("mlp", kFloat); }
TEST(TrainingParity, MlpBF16) { expect_parity<Mlp>("mlp", kBFloat16); }
TEST(TrainingParity, MlpF16) { expect_parity<Mlp>("mlp", kHalf); }
TEST(TrainingParity, CnnF32) { expect_parity<Cnn>("cnn", kFloat); }
TEST(TrainingParity, CnnBF16) { expect_parity<Cnn>("cnn", kBFloat16); }
TEST(TrainingParity, CnnF16) { expect_parity<Cnn>("cnn", kHalf); }

}  // namespace
}  // namespace tandem::testing
