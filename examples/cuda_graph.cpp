// Trains SimpleCNN on Fashion-MNIST in mixed precision, with the whole training step in one CUDA graph: a single launch
// runs forward, backward, unscaling, optimizer step and scale update. Without a GPU, or with --eager, the same step
// runs op by op.
#include <chrono>
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "mnist/models.h"

using namespace tandem;

namespace {

struct Settings {
  std::string data = "/usr/share/datasets/fashion-mnist", device = cuda::is_available() ? "cuda" : "cpu";
  int64_t epochs = 1, batch = 64, steps = 0, seed = 0;
  double lr = 1e-3;
  bool eager = false;
};

void train(const Settings& settings) {
  constexpr int kWarmUp = 3;  // eager steps, which create the state of the optimizer, the scaler and the libraries
  const Device device(settings.device);
  const bool graphed = device.is_cuda() && !settings.eager;
  if (!graphed && !settings.eager) std::printf("Without a GPU the step runs op by op.\n");
  manual_seed(static_cast<uint64_t>(settings.seed));
  mnist::Cnn model;
  model->to(device);
  optim::Adam adam(model->parameters(), optim::AdamOptions(settings.lr));
  amp::GradScaler scaler;

  // Each replay reads its inputs from the same memory and writes the loss to the same place.
  Tensor x = zeros({settings.batch, 1, 28, 28}, device);
  Tensor y = zeros({settings.batch}, TensorOptions(kLong).device(device));
  Tensor loss;
  const auto step = [&] {
    adam.zero_grad();
    {
      amp::AutocastGuard autocast(device.type());
      loss = nn::functional::cross_entropy(model(x), y);
    }
    scaler.scale(loss).backward();
    scaler.step(adam);
    scaler.update();
  };

  cuda::CUDAGraph graph;
  auto images = data::datasets::MNIST(settings.data).map(data::transforms::Stack<>());
  auto loader = data::make_data_loader(std::move(images), data::DataLoaderOptions(settings.batch).drop_last(true));
  int64_t number = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t epoch = 0; epoch < settings.epochs; ++epoch) {
    adam.param_groups()[0].options().set_lr(settings.lr / static_cast<double>(epoch + 1));  // replays use the new rate
    for (auto& batch : *loader) {
      if (settings.steps > 0 && number == settings.steps) break;
      x.copy_(batch.data);
      y.copy_(batch.target);
      if (!graphed || number < kWarmUp) {
        step();
      } else {
        if (number == kWarmUp) graph.capture(step);  // recorded, not run
        graph.replay();
      }
      ++number;
    }
    std::printf("epoch %lld: loss %.4f, scale %g\n", static_cast<long long>(epoch + 1), double{loss.item<float>()},
                scaler.get_scale());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%lld steps in %.2f s\n", static_cast<long long>(number), seconds);
  if (graphed && number > kWarmUp) {
    std::printf("one launch per step, of a graph with %lld nodes\n", static_cast<long long>(graph.num_nodes()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Trains SimpleCNN with the whole training step in one CUDA graph");
  app.add_option("--device", settings.device, "cuda or cpu")->check(CLI::IsMember({"cuda", "cpu"}));
  app.add_option("--epochs", settings.epochs)->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_option("--batch", settings.batch, "images per step")->check(CLI::Range(1, 60000))->capture_default_str();
  app.add_option("--steps", settings.steps, "maximum number of steps; 0: no limit")->check(CLI::NonNegativeNumber);
  app.add_option("--lr", settings.lr)->check(CLI::Range(1e-9, 1e3))->capture_default_str();
  app.add_option("--seed", settings.seed, "seed of the initial weights")->capture_default_str();
  app.add_option("--data", settings.data, "folder with the IDX files, plain or .gz")->capture_default_str();
  app.add_flag("--eager", settings.eager, "run the step op by op, for comparison");
  app.add_flag_callback(
      "--quick", [&] { settings.steps = 10; }, "ten steps");
  CLI11_PARSE(app, argc, argv);
  try {
    train(settings);
  } catch (const Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
  return 0;
}
