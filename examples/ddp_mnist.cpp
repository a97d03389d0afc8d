// Trains the CNN of mnist_cnn on Fashion-MNIST on several processes, each with a part of the images:
//
//   mpirun -np 2 build/release/examples/ddp_mnist --precision bf16
//
// The processes start with the same weights, and average their gradients in each step. Without mpirun it trains on one.
// On CUDA each process of a machine uses a device of its own.
#include <chrono>
#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <tandem/distributed/distributed.h>
#include <tandem/nn/parallel/distributed_data_parallel.h>
#include <CLI/CLI.hpp>

#include "mnist/data.h"
#include "mnist/mode.h"
#include "mnist/models.h"
#include "mnist/progress.h"
#include "mnist/settings.h"
#include "tandem/data/samplers/distributed.h"

using namespace tandem;
using Clock = std::chrono::steady_clock;
using Group = std::shared_ptr<distributed::ProcessGroup>;

namespace {

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// A CUDA device for each process if there are enough, or if the settings demand it; otherwise the CPU.
Device choose_device(const Group& group, const mnist::Settings& settings) {
  const int index = distributed::local_rank();
  const bool can_share = group->size() == 1 || distributed::is_nccl_available();
  const Tensor enough = full({1}, index < cuda::device_count() && can_share, kInt);
  group->all_reduce(enough, distributed::ReduceOp::MIN);
  const bool on_cuda = settings.device == "cuda" || (settings.device == "auto" && enough.item<int>() != 0);
  return on_cuda ? Device(kCUDA, index) : Device(kCPU);
}

/// Waits until the device has done all work.
void finish(Device device) {
  if (device.is_cuda()) cuda::synchronize();
}

/// Images per second of one process that trains alone, while the others wait.
double speed_alone(const Group& group, const mnist::Settings& settings, Device device) {
  constexpr int kWarmUp = 5, kSteps = 20;
  double speed = 0;
  if (group->rank() == 0) {
    mnist::Cnn net;
    net->to(device);
    optim::Adam adam(net->parameters(), optim::AdamOptions(settings.lr));
    const auto mode = mnist::make_mode(
        settings.precisions[0], net.ptr(), [&](const Tensor& x) { return net(x); }, adam, device);
    const Tensor images = randn({settings.batch, 1, 28, 28}, device);
    const Tensor labels = randint(0, 10, {settings.batch}, TensorOptions(kLong).device(device));
    for (int i = 0; i < kWarmUp; ++i) mode->step(images, labels, nullptr);
    finish(device);
    const auto start = Clock::now();
    for (int i = 0; i < kSteps; ++i) mode->step(images, labels, nullptr);
    finish(device);
    speed = kSteps * static_cast<double>(settings.batch) / seconds_since(start);
  }
  group->barrier();
  return speed;
}

/// The share of test images that the network classifies correctly. Each process tests a part.
double accuracy(const Group& group, mnist::Mode& mode, nn::Module& module, const mnist::Settings& settings,
                Device device) {
  auto data = mnist::open_data(settings.data, data::datasets::MNIST::Mode::kTest);
  const auto ranks = static_cast<size_t>(group->size()), rank = static_cast<size_t>(group->rank());
  data::samplers::DistributedSequentialSampler part(data.size().value(), ranks, rank, /*allow_duplicates=*/false);
  auto loader =
      data::make_data_loader(std::move(data), std::move(part), data::DataLoaderOptions(512).prefetch_to(device));
  module.eval();
  const NoGradGuard no_grad;
  const Tensor counts = zeros({2}, TensorOptions(kLong).device(device));  // correct, all
  for (auto& batch : *loader) {
    counts[0] += mode.forward(batch.data).argmax(1).eq(batch.target).sum();
    counts[1] += batch.target.numel();
  }
  group->all_reduce(counts);
  return counts[0].item<double>() / counts[1].item<double>();
}

void train(const Group& group, const mnist::Settings& settings) {
  const bool reports = group->rank() == 0;
  const std::string& precision = settings.precisions[0];
  const Device device = choose_device(group, settings);
  const DeviceGuard current(device);
  const double alone = group->size() > 1 ? speed_alone(group, settings, device) : 0;

  mnist::Cnn net;
  net->to(device);
  nn::parallel::DistributedDataParallel model(net, nn::parallel::DistributedDataParallelOptions().process_group(group));
  optim::Adam adam(net->parameters(), optim::AdamOptions(settings.lr));
  const auto mode = mnist::make_mode(
      precision, net.ptr(), [&](const Tensor& x) { return model(x); }, adam, device);

  auto data = mnist::open_data(settings.data, data::datasets::MNIST::Mode::kTrain);
  const auto ranks = static_cast<size_t>(group->size()), rank = static_cast<size_t>(group->rank());
  data::samplers::DistributedRandomSampler part(data.size().value(), ranks, rank);
  const int64_t images = static_cast<int64_t>(data.size().value() + ranks - 1) / static_cast<int64_t>(ranks);
  const int64_t batches = (images + settings.batch - 1) / settings.batch;
  const int64_t epochs = settings.quick ? 1 : settings.epochs ? settings.epochs : 3;
  const int64_t all = epochs * batches, steps = settings.steps > 0 ? std::min(settings.steps, all) : all;
  auto loader =
      data::make_data_loader(std::move(data), std::move(part),
                             data::DataLoaderOptions(static_cast<size_t>(settings.batch)).prefetch_to(device));

  std::optional<mnist::Progress> progress;
  if (reports) progress.emplace("ddp_mnist " + precision, steps, batches, settings.batch * group->size());
  const auto before = group->statistics();
  const auto start = Clock::now();
  int64_t step = 0;
  for (size_t epoch = 0; step < steps; ++epoch) {
    loader->sampler().set_epoch(epoch);
    net->train();
    for (auto& batch : *loader) {
      adam.param_groups()[0].options().set_lr(settings.lr * (1 - static_cast<double>(step) / static_cast<double>(all)));
      const Tensor loss = mode->step(batch.data, batch.target, nullptr);
      if (reports) progress->show(step, loss, *mode);
      if (++step == steps) break;
    }
  }
  finish(device);
  const double seconds = seconds_since(start);
  const auto after = group->statistics();
  const double right = accuracy(group, *mode, *net, settings, device);
  if (!reports) return;
  progress->clear();

  const double speed = static_cast<double>(step * settings.batch * group->size()) / seconds;
  const double run = after.run_seconds - before.run_seconds, wait = after.wait_seconds - before.wait_seconds;
  const auto row = [](const char* name, const std::string& value) { fmt::print("{:<32}{:>12}\n", name, value); };
  row("processes", fmt::format("{} ({})", group->size(), group->name()));
  row("device", device.str());
  row("precision", precision);
  row("test accuracy", fmt::format("{:.2f} %", 100 * right));
  row("images/s", fmt::format("{:.0f}", speed));
  if (group->size() == 1) return;
  row("images/s of one process alone", fmt::format("{:.0f}", alone));
  row("efficiency", fmt::format("{:.2f}", speed / (alone * group->size())));
  row("KiB of gradients in a step",
      fmt::format("{:.0f}", static_cast<double>(after.bytes - before.bytes) / 1024.0 / static_cast<double>(step)));
  if (device.is_cuda()) return;  // the host does not wait, so it does not know
  row("communication in a step", fmt::format("{:.2f} ms", 1e3 * run / static_cast<double>(step)));
  row("hidden behind computation", fmt::format("{:.0f} %", run > 0 ? 100 * std::max(0.0, 1 - wait / run) : 0.0));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains a CNN on Fashion-MNIST on several processes");
  mnist::Settings settings;
  settings.precisions = {"bf16"};
  mnist::add_flags(app, settings);
  CLI11_PARSE(app, argc, argv);
  try {
    manual_seed(settings.seed);
    train(distributed::init(), settings);
  } catch (const std::exception& e) {
    fmt::print(stderr, "rank {}: error: {}\n", distributed::rank(), e.what());
    if (distributed::is_initialized()) distributed::world()->abort(e.what());  // the others learn the reason
    return 1;
  }
  return 0;
}
