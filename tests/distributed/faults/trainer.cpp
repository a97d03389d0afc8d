// Trains a small model on the ranks of an MPI job, with checkpoints, and fails in one of several ways if asked to:
//
//   trainer --steps N [--pause MS] [--checkpoint FILE] [--timeout MS] [--fault KIND --rank R --at STEP]
//
// KIND: throws, exits, hangs, mismatch (another collective), shape (a model with other sizes), calls (an additional
// collective), receive (a tensor of another dtype than was sent), exchange (an all_to_all of unequal sizes). Rank 0
// prints "step K" after each step, and at the end all print a checksum of the parameters.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include <CLI/CLI.hpp>

#include "tandem/distributed/distributed.h"
#include "tandem/nn/parallel/distributed_data_parallel.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

struct Settings {
  int64_t steps = 20, pause = 0, timeout = 60000, at = 5;
  std::string checkpoint, fault;
  int rank = 1;
};

/// Data of a step, the same in each run.
Tensor rows(int64_t step, int rank) {
  const Tensor x = arange(8 * 16, kFloat).view({8, 16});
  return sin(x * 0.37 + static_cast<double>(step * 101 + rank * 7));
}

void fail(const Settings& settings, const std::shared_ptr<distributed::ProcessGroup>& group) {
  if (settings.fault == "throws") throw std::runtime_error("a bug in the data");
  if (settings.fault == "exits") std::exit(3);
  if (settings.fault == "hangs") std::this_thread::sleep_for(std::chrono::seconds(30));
  if (settings.fault == "mismatch") group->broadcast(ones({7}), 0);
  if (settings.fault == "calls") group->barrier();
}

void fail_together(const Settings& settings, const std::shared_ptr<distributed::ProcessGroup>& group) {
  const bool faulty = group->rank() == settings.rank;
  if (settings.fault == "receive") {
    if (group->rank() == 0) group->send(ones({4}), settings.rank);
    if (faulty) group->recv(ones({4}, kInt), 0);
  }
  if (settings.fault == "exchange") {
    const std::vector<Tensor> inputs(static_cast<size_t>(group->size()), ones({4}));
    group->all_to_all(std::vector<Tensor>(inputs.size(), ones({faulty ? 5 : 4})), inputs);
  }
}

void train(const Settings& settings) {
  const auto group = distributed::init({.timeout = std::chrono::milliseconds(settings.timeout)});
  const bool faulty = group->rank() == settings.rank;
  manual_seed(group->rank());
  nn::Sequential net(nn::Linear(16, faulty && settings.fault == "shape" ? 33 : 32), nn::ReLU(),
                     nn::Linear(faulty && settings.fault == "shape" ? 33 : 32, 1));
  nn::parallel::DistributedDataParallel model(net);
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(1e-2));
  amp::GradScaler scaler(amp::GradScalerOptions().init_scale(1024).growth_interval(4));
  int64_t step = 0;
  io::Checkpoint run;
  run.add("model", net).add("optimizer", optimizer).add("scaler", scaler).add("step", step);
  if (!settings.checkpoint.empty() && std::filesystem::exists(settings.checkpoint)) {
    run.load(settings.checkpoint);
    if (group->rank() == 0) std::printf("resumed at step %ld\n", static_cast<long>(step));
  }
  group->barrier();  // all have read the file before rank 0 writes the next one
  while (step < settings.steps) {
    if (faulty && step == settings.at) fail(settings, group);
    if (step == settings.at) fail_together(settings, group);
    optimizer.zero_grad();
    Tensor loss;
    {
      const amp::AutocastGuard autocast(kCPU, kHalf);
      loss = model(rows(step, group->rank())).square().mean();
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
    ++step;
    if (settings.pause > 0) std::this_thread::sleep_for(std::chrono::milliseconds(settings.pause));
    if (group->rank() != 0) continue;
    if (!settings.checkpoint.empty() && step % 5 == 0) run.save(settings.checkpoint);
    std::printf("step %ld\n", static_cast<long>(step));
    std::fflush(stdout);
  }
  double sum = 0;
  for (const Tensor& p : net->parameters()) sum += p.detach().to(kDouble).square().sum().item<double>();
  std::printf("rank %d checksum %a\n", group->rank(), sum);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains a small model on several processes, and fails if asked to");
  Settings settings;
  app.add_option("--steps", settings.steps);
  app.add_option("--pause", settings.pause);
  app.add_option("--timeout", settings.timeout);
  app.add_option("--checkpoint", settings.checkpoint);
  app.add_option("--fault", settings.fault);
  app.add_option("--rank", settings.rank);
  app.add_option("--at", settings.at);
  CLI11_PARSE(app, argc, argv);
  try {
    train(settings);
  } catch (const Error& e) {
    std::fprintf(stderr, "rank %d: %s\n", distributed::rank(), e.what());
    if (distributed::is_initialized()) distributed::world()->abort(e.what());
    return 1;
  }
  return 0;
}
