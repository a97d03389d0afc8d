// Training steps under DistributedDataParallel, on the processes that mpirun has started: the wide MLP and the big CNN
// of train_bench, with as many examples per process for any number of processes. scripts/bench_ddp.py runs it beside
// PyTorch (torch/ddp.py). Prints one line of JSON.
#include <chrono>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "command_line.h"
#include "models/big_cnn.h"
#include "statistics.h"
#include "tandem/distributed/distributed.h"
#include "tandem/nn/parallel/distributed_data_parallel.h"
#include "tandem/tandem.h"

namespace lib = tandem;
#include "train/models.h"

namespace bench {
namespace {

using namespace tandem;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string workload = "recipe", precision = "bf16", hook = "none";
  int warmup = 3, steps = 10;
  double bucket_cap_mb = 25;
};

struct BigCnnLoss : nn::Module {
  BigCnnLoss() { register_module("network", network); }
  Tensor loss(const Tensor& x, const Tensor& y) { return cross_entropy(network->forward(x).to(kFloat), y); }
  models::BigCnn network;
};

/// A model whose forward() computes the loss, as DistributedDataParallel calls it.
template <class Model>
struct Forward : Model {
  using Model::Model;
  Tensor forward(const Tensor& x, const Tensor& y) { return this->loss(x, y); }
};

template <class Model, class Optimizer>
nlohmann::json measure(const Options& options, Model& net, Optimizer optimizer, const Tensor& x, const Tensor& y) {
  const auto group = distributed::init();
  set_initial_values(net);
  nn::parallel::DistributedDataParallel model(net, nn::parallel::DistributedDataParallelOptions()
                                                       .bucket_cap_mb(options.bucket_cap_mb)
                                                       .gradient_as_bucket_view(true));
  if (options.hook == "bf16") model.register_comm_hook(nn::parallel::bf16_compress_hook);
  const bool low = options.precision != "f32";
  std::vector<double> milliseconds;
  auto before = group->statistics();
  Tensor loss;
  for (int step = 0; step < options.warmup + options.steps; ++step) {
    if (step == options.warmup) before = group->statistics();
    const auto start = Clock::now();
    optimizer.zero_grad();
    {
      const amp::AutocastGuard autocast(kCPU, kBFloat16, low);
      loss = model(x, y);
    }
    loss.backward();
    optimizer.step();
    if (step >= options.warmup) {
      milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
  }
  const auto after = group->statistics();
  const double steps = static_cast<double>(options.steps);
  return {{"ranks", group->size()},
          {"examples", x.size(0)},
          {"ms", quantile(milliseconds, 0.5)},
          {"bytes", static_cast<double>(after.bytes - before.bytes) / steps},
          {"communication_ms", 1e3 * (after.run_seconds - before.run_seconds) / steps},
          {"wait_ms", 1e3 * (after.wait_seconds - before.wait_seconds) / steps},
          {"loss", loss.item<double>()}};
}

nlohmann::json run(const Options& options) {
  const int rank = distributed::init()->rank();
  if (options.workload == "recipe") {
    Forward<Mlp> net(2048);
    return measure(options, net, optim::SGD(net.parameters(), optim::SGDOptions(1e-3)),
                   normal_tensor("x", rank, {512, 2048}), normal_tensor("y", rank, {512, 2048}));
  }
  Forward<BigCnnLoss> net;
  net.to(MemoryFormat::ChannelsLast);
  return measure(options, net, optim::Adam(net.parameters(), optim::AdamOptions(1e-3)),
                 normal_tensor("x", rank, {16, 1, 28, 28}), class_tensor("y", rank, {16}, 10));
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::CommandLine line("Measures training steps of DistributedDataParallel");
  bench::Options options;
  line.choice("--workload", options.workload, "The network", {"recipe", "big_cnn"});
  line.choice("--precision", options.precision, "Of the forward pass", {"f32", "bf16"});
  line.choice("--hook", options.hook, "Of the gradients' communication", {"none", "bf16"});
  line.number("--warmup", options.warmup, "Steps before the timed ones", 0);
  line.number("--steps", options.steps, "Timed steps", 1);
  line.number("--bucket-cap-mb", options.bucket_cap_mb, "Size of a bucket of gradients", 1e-3, 1e6);
  line.parse(argc, argv);
  try {
    const nlohmann::json result = bench::run(options);
    if (tandem::distributed::rank() == 0) std::printf("%s\n", result.dump().c_str());
  } catch (const tandem::Error& e) {
    std::fprintf(stderr, "ddp_bench: %s\n", e.what());
    return 1;
  }
  return 0;
}
