// PyTorch's AMP recipe in C++: the same network in default and in mixed precision, with time and peak memory.
// Source: "Automatic Mixed Precision", PyTorch tutorials (recipes/amp_recipe).
#include <chrono>
#include <cstdio>
#include <functional>

#include <tandem/tandem.h>
#include <CLI/CLI.hpp>

using namespace tandem;

namespace {

std::chrono::steady_clock::time_point start_time;

void start_timer(Device device) {
  if (device.is_cuda()) {
    cuda::empty_cache();
    cuda::reset_peak_memory_stats();
    cuda::synchronize();
  } else {
    cpu::empty_cache();
    cpu::reset_peak_memory_stats();
  }
  start_time = std::chrono::steady_clock::now();
}

void end_timer_and_print(const char* message, Device device) {
  if (device.is_cuda()) cuda::synchronize();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time).count();
  std::printf("\n%s\nTotal execution time = %.3f sec\nMax memory used by tensors = %lld bytes\n", message, seconds,
              static_cast<long long>(device.is_cuda() ? cuda::max_memory_allocated() : cpu::max_memory_allocated()));
}

nn::Sequential make_model(int64_t in_size, int64_t out_size, int64_t num_layers) {
  nn::Sequential layers;
  for (int64_t i = 0; i + 1 < num_layers; ++i) {
    layers->push_back(nn::Linear(in_size, in_size));
    layers->push_back(nn::ReLU());
  }
  layers->push_back(nn::Linear(in_size, out_size));
  return layers;
}

}  // namespace

int main(int argc, char** argv) {
  // These sizes keep a GPU's tensor cores busy; use smaller ones on a CPU.
  int64_t batch_size = 512, in_size = 4096, out_size = 4096, num_layers = 3, num_batches = 50, epochs = 3;
  std::string device_name = cuda::is_available() ? "cuda" : "cpu", precision;
  CLI::App app("PyTorch's AMP recipe: default against mixed precision");
  app.add_option("--batch-size", batch_size)->capture_default_str();
  app.add_option("--in-size", in_size)->capture_default_str();
  app.add_option("--out-size", out_size)->capture_default_str();
  app.add_option("--num-layers", num_layers)->capture_default_str();
  app.add_option("--num-batches", num_batches)->capture_default_str();
  app.add_option("--epochs", epochs)->capture_default_str();
  app.add_option("--device", device_name)->capture_default_str();
  app.add_option("--precision", precision, "f16 or bf16; default: f16 on CUDA, bf16 on the CPU")
      ->check(CLI::IsMember({"f16", "bf16"}));
  CLI11_PARSE(app, argc, argv);

  const Device device(device_name);
  DType low = device.is_cuda() ? kHalf : kBFloat16;
  if (!precision.empty()) low = precision == "f16" ? kHalf : kBFloat16;

  manual_seed(0);
  std::vector<Tensor> data, targets;
  for (int64_t i = 0; i < num_batches; ++i) {
    data.push_back(randn({batch_size, in_size}, device));
    targets.push_back(randn({batch_size, out_size}, device));
  }
  nn::MSELoss loss_fn;

  for (const bool use_amp : {false, true}) {
    manual_seed(1);
    nn::Sequential net = make_model(in_size, out_size, num_layers);
    net->to(device);
    optim::SGD opt(net->parameters(), optim::SGDOptions(0.001));
    amp::GradScaler scaler(amp::GradScalerOptions().enabled(use_amp));

    start_timer(device);
    Tensor loss;
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      for (size_t i = 0; i < data.size(); ++i) {
        {
          amp::AutocastGuard autocast(device.type(), low, use_amp);
          const Tensor output = net->forward(data[i]);
          loss = loss_fn(output, targets[i]);
        }
        scaler.scale(loss).backward();
        scaler.step(opt);
        scaler.update();
        opt.zero_grad();
      }
    }
    end_timer_and_print(use_amp ? "Mixed precision:" : "Default precision:", device);
    std::printf("Last loss = %.6f\n", loss.item<float>());
  }
}
