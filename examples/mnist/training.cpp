#include "mnist/training.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "common/processor.h"
#include "mnist/data.h"
#include "mnist/mode.h"
#include "mnist/models.h"
#include "mnist/progress.h"

namespace mnist {

using namespace tandem;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

template <class Holder>
Example::Network network_of(Holder model) {
  return {model.ptr(), [model](const Tensor& images) { return model(images); }};
}

/// Returns the percentage of test images that the network classifies correctly.
double test(Mode& mode, nn::Module& module, const Settings& settings, Device device) {
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      open_data(settings.data, data::datasets::MNIST::Mode::kTest), data::DataLoaderOptions(512).prefetch_to(device));
  module.eval();
  NoGradGuard no_grad;
  int64_t correct = 0, total = 0;
  for (auto& batch : *loader) {
    const Tensor classes = mode.forward(batch.data).argmax(1);
    correct += classes.eq(batch.target).sum().item<int64_t>();
    total += batch.target.numel();
  }
  return 100.0 * static_cast<double>(correct) / static_cast<double>(total);
}

}  // namespace

Example mlp() {
  return {"mlp", 6, [] { return network_of(Mlp()); }};
}
Example cnn() {
  return {"mnist_cnn", 6, [] { return network_of(Cnn()); }};
}

RunResult run(const Example& example, const std::string& precision, const Settings& settings) {
  const bool use_cuda = settings.device == "cuda" || (settings.device == "auto" && cuda::is_available());
  const Device device = use_cuda ? Device(kCUDA) : Device(kCPU);
  const int64_t epochs = settings.quick ? 1 : settings.epochs ? settings.epochs : example.epochs;

  auto train = open_data(settings.data, data::datasets::MNIST::Mode::kTrain);
  const int64_t images = static_cast<int64_t>(train.size().value());
  // The stored images take the same memory in every precision. Exclude them from the peak.
  const int64_t stored = device.is_cuda() ? cuda::memory_allocated() : cpu::memory_allocated();
  device.is_cuda() ? cuda::reset_peak_memory_stats() : cpu::reset_peak_memory_stats();

  manual_seed(settings.seed);
  Example::Network network = example.make();
  network.module->to(device);
  auto loader = data::make_data_loader(std::move(train), data::DataLoaderOptions(static_cast<size_t>(settings.batch))
                                                             .workers(static_cast<size_t>(settings.workers))
                                                             .prefetch_to(device));
  const int64_t batches = (images + settings.batch - 1) / settings.batch;
  optim::AdamOptions options(settings.lr);
  if (settings.moments != "f32") {
    options.exp_avg_dtype(settings.moments == "fp8" ? kFloat8_e4m3fn : kBFloat16).exp_avg_sq_dtype(kBFloat16);
  }
  optim::Adam adam(network.module->parameters(), options);
  const std::unique_ptr<Mode> mode = make_mode(precision, network.module, network.forward, adam, device);

  RunResult result{example.name, precision, device.is_cuda() ? "cuda" : "cpu", common::processor().name};
  const std::string log_file = settings.log + "/" + example.name + "_" + precision + ".jsonl";
  std::optional<amp::TrainLog> log;
  if (!settings.log.empty()) log.emplace(log_file);
  const int64_t all = epochs * batches, steps = settings.steps > 0 ? std::min(settings.steps, all) : all;
  Progress progress(example.name + " " + precision, steps, batches, settings.batch);
  const auto start = Clock::now();
  double test_seconds = 0;
  int64_t step = 0;
  while (step < steps) {
    network.module->train();
    for (auto& batch : *loader) {
      // The learning rate falls linearly to zero.
      adam.param_groups()[0].options().set_lr(settings.lr * (1 - static_cast<double>(step) / static_cast<double>(all)));
      const Tensor loss = mode->step(batch.data, batch.target, log ? &*log : nullptr);
      progress.show(step, loss, *mode);
      if (++step == steps) break;
    }
    const int64_t peak = device.is_cuda() ? cuda::max_memory_allocated() : cpu::max_memory_allocated();
    result.peak_bytes = std::max(result.peak_bytes, peak - stored);
    if (device.is_cuda()) cuda::synchronize();  // the test's time must not contain the last training steps
    const auto test_start = Clock::now();
    result.test_accuracy = test(*mode, *network.module, settings, device);
    if (log) {  // the accuracy belongs to the last step; the next one follows it
      log.emplace(log_file, amp::TrainLogOptions{.append = true, .first_step = step - 1});
      log->step({.values = {{"test_accuracy", result.test_accuracy}}});
    }
    test_seconds += seconds_since(test_start);
    device.is_cuda() ? cuda::reset_peak_memory_stats() : cpu::reset_peak_memory_stats();
  }
  // Adam's step count excludes skipped steps. Reading it waits for the device, so do it once, after the loop.
  const Tensor& first = adam.param_groups()[0].params()[0];
  const auto& state = static_cast<const optim::AdamParamState&>(*adam.state().at(&first.impl()));
  result.skipped_steps = step - static_cast<int64_t>(state.step().item<float>());
  const double seconds = seconds_since(start) - test_seconds;
  progress.clear();
  result.images_per_second = static_cast<double>(std::min(step * settings.batch, images * epochs)) / seconds;
  result.seconds_per_epoch = static_cast<double>(images) / result.images_per_second;
  result.final_scale = mode->scale();
  return result;
}

}  // namespace mnist
