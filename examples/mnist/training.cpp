#include "mnist/training.h"

#include <chrono>

#include "mnist/models.h"
#include "mnist/progress.h"
#include "mnist/report.h"

namespace mnist {

using namespace tandem;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

template <class Holder>
Example::Network network_of(Holder model) {
  return {model.ptr(), [model](const Tensor& images) mutable { return model->forward(images); }};
}

auto open_data(const Settings& settings, data::datasets::MNIST::Mode mode) {
  return data::datasets::MNIST(settings.data, mode)
      .map(data::transforms::Normalize<>(0.2860, 0.3530))  // mean and deviation of Fashion-MNIST's pixels
      .map(data::transforms::Stack<>());
}

/// Percentage of the test images whose class the network scores highest.
double test(const Example::Network& network, const Settings& settings, Device device, bool amp, DType low) {
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      open_data(settings, data::datasets::MNIST::Mode::kTest), data::DataLoaderOptions(512).prefetch_to(device));
  network.module->eval();
  NoGradGuard no_grad;
  int64_t correct = 0, total = 0;
  for (auto& batch : *loader) {
    amp::AutocastGuard autocast(device.type(), low, amp);
    const Tensor classes = network.forward(batch.data).argmax(1);
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
  const bool amp = precision != "f32";
  const DType low = precision == "f16" ? kHalf : kBFloat16;
  const int64_t epochs = settings.quick ? 1 : settings.epochs ? settings.epochs : example.epochs;

  auto train = open_data(settings, data::datasets::MNIST::Mode::kTrain);
  const int64_t images = static_cast<int64_t>(train.size().value());
  // The stored images weigh the same in every precision: what training needs is counted beside them.
  const int64_t stored = device.is_cuda() ? cuda::memory_allocated() : cpu::memory_allocated();
  device.is_cuda() ? cuda::reset_peak_memory_stats() : cpu::reset_peak_memory_stats();

  manual_seed(settings.seed);
  Example::Network network = example.make();
  network.module->to(device);
  auto loader = data::make_data_loader(std::move(train), data::DataLoaderOptions(static_cast<size_t>(settings.batch))
                                                             .workers(static_cast<size_t>(settings.workers))
                                                             .prefetch_to(device));
  const int64_t batches = (images + settings.batch - 1) / settings.batch;
  optim::Adam adam(network.module->parameters(), optim::AdamOptions(settings.lr));
  amp::GradScaler scaler(amp::GradScalerOptions().enabled(precision == "f16"));

  RunResult result{example.name, precision, device.is_cuda() ? "cuda" : "cpu", processor_name()};
  std::optional<amp::TrainLog> log;
  if (!settings.log.empty()) log.emplace(settings.log + "/" + example.name + "_" + precision + ".jsonl");
  Progress progress(example.name + " " + precision, epochs, batches, settings.batch);
  const auto start = Clock::now();
  int64_t step = 0;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    network.module->train();
    std::vector<amp::StepResult> steps;
    for (auto& batch : *loader) {
      // The rate falls to zero in a straight line.
      adam.param_groups()[0].options().set_lr(settings.lr *
                                              (1 - static_cast<double>(step) / static_cast<double>(epochs * batches)));
      adam.zero_grad();
      Tensor loss;
      {
        amp::AutocastGuard autocast(device.type(), low, amp);
        loss = cross_entropy(network.forward(batch.data), batch.target);
      }
      scaler.scale(loss).backward();
      steps.push_back(scaler.step(adam));
      if (log) {
        log->step({.loss = loss, .scaler = &scaler, .result = steps.back(), .samples = batch.target.numel()});
      }
      scaler.update();
      progress.show(epoch, step % batches, loss, scaler);
      ++step;
    }
    // Asked for once an epoch: a question to the device in every step would make every step wait.
    for (const amp::StepResult& s : steps) result.skipped_steps += s.skipped();
  }
  const double seconds = seconds_since(start);
  progress.clear();
  result.seconds_per_epoch = seconds / static_cast<double>(epochs);
  result.images_per_second = static_cast<double>(images * epochs) / seconds;
  result.peak_bytes = (device.is_cuda() ? cuda::max_memory_allocated() : cpu::max_memory_allocated()) - stored;
  result.final_scale = scaler.get_scale();
  result.test_accuracy = test(network, settings, device, amp, low);
  return result;
}

}  // namespace mnist
