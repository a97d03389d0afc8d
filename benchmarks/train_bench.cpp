// Training steps compared with PyTorch's. Without --workload it is the driver, which starts this program, the libtorch
// program and the torch.compile program in turn and prints the ratios of medians; with --workload it measures that
// workload in this process and prints one JSON object.
#include <tandem/tandem.h>

#include <exception>
#include <filesystem>

namespace lib = tandem;
#include "train/child.h"
#include "train/driver.h"
#include "train/process.h"

namespace {

struct Tandem {
  struct Region {
    Region(tandem::DeviceType device, tandem::DType dtype) : guard(device, dtype) {}
    tandem::amp::AutocastGuard guard;
  };
  using Scaler = tandem::amp::GradScaler;
  static std::string name() { return "tandem"; }
  static void set_num_threads(int threads) { tandem::set_num_threads(threads); }
  static void set_memory_format(tandem::nn::Module& model, tandem::MemoryFormat format) { model.to(format); }
  static int64_t system_allocations(const std::string& device) {
    return (device == "cpu" ? tandem::cpu::memory_stats() : tandem::cuda::memory_stats()).system_allocations;
  }
  static void reset_peak_bytes(const std::string& device) {
    device == "cpu" ? tandem::cpu::reset_peak_memory_stats() : tandem::cuda::reset_peak_memory_stats();
  }
  static int64_t peak_bytes(const std::string& device) {
    return device == "cpu" ? tandem::cpu::max_memory_allocated() : tandem::cuda::max_memory_allocated();
  }
  using TooLarge = tandem::Error;
  static void empty_cache() { tandem::cuda::empty_cache(); }
  static void synchronize(const std::string& device) {
    if (device != "cpu") tandem::cuda::synchronize();
  }
  static std::function<void()> capture(const std::function<void()>& step) {
    const auto graph = std::make_shared<tandem::cuda::CUDAGraph>();
    graph->capture(step);
    return [graph] { graph->replay(); };
  }
  static double scale_of(const Scaler& scaler) { return scaler.get_scale(); }
};

/// Returns the path of a program in this program's folder, where the build and scripts/bench.sh put it; "" if it does
/// not exist.
std::string beside(const char* name) {
  const std::filesystem::path path = std::filesystem::path(bench::own_path()).parent_path() / name;
  return std::filesystem::exists(path) ? path.string() : std::string();
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("Measures training steps of tandem and of libtorch, and prints the ratios of medians.");
  bench::DriverOptions options;
  options.run.add_flags(line);
  options.peer = beside("train_torch");
  options.compiled_peer = beside("train_compile");
  options.floor = beside("step_floor");
  bool no_peer = false;
  line.text("--json", options.json_file, "Write the results to this file");
  line.list("--only", options.only, "Compare only these: tiny_mlp, recipe/bf16, ...");
  line.number("--rounds", options.rounds, "Number of runs of each program", 1);
  line.number("--retries", options.retries, "Repetitions of a measurement that other processes disturbed", 0);
  line.existing_file("--peer", options.peer, "Path of the libtorch program");
  line.existing_file("--compiled-peer", options.compiled_peer, "Path of the torch.compile program");
  line.flag("--no-peer", no_peer, "Measure tandem only");
  line.parse(argc, argv);
  if (no_peer || options.run.small) options.peer = options.compiled_peer = "";
  if (options.run.small) options.floor = "";
  try {
    if (options.run.workload.empty()) return bench::run_driver(options);
    bench::run_child<Tandem>(options.run);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
