#pragma once
// Options of a training benchmark, shared by the tandem program, the libtorch program, and the driver that starts them.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "command_line.h"

namespace bench {

/// One workload; train/workloads.h makes it. The driver compares losses and parameters of the first warm-up steps.
struct Workload {
  const char* name;
  bool is_cnn;     ///< has images, so the memory format matters
  bool has_floor;  ///< step_floor has it
  /// Steps of one process. At least 3 for the warm-up: the optimizer's state is made in the first, lasting copies of
  /// the weights in the second, so the third is the first one with all lasting memory, and may still request more.
  int warmup, iterations;
  int quick_warmup, quick_iterations;  ///< with --quick
};

inline constexpr Workload kWorkloads[] = {
    {"recipe", false, true, 4, 8, 3, 3},             // MLP: batch 512, three Linear(4096), MSE, SGD
    {"big_cnn", true, false, 4, 6, 3, 3},            // 1 -> 420 -> 1000 channels 3x3 on 28x28, batch 16, Adam
    {"simple_cnn", true, false, 10, 80, 5, 20},      // 1 -> 32 -> 64 channels 5x5, 1024-128-10, batch 64, nll, Adam
    {"tiny_mlp", false, true, 300, 3000, 100, 500},  // MLP: batch 32, three Linear(64), MSE, SGD
    {"resnet18", true, false, 3, 6, 3, 3},           // 3x32x32, batch 32, Adam
    {"unet", true, false, 5, 20, 3, 6},              // widths 16 to 128 on 1x32x32, batch 50, Adam
    {"gpt", false, false, 3, 6, 3, 3},               // 6 layers of 384, 8 texts of 256 characters, AdamW
    {"gpt2_124m", false, false, 3, 4, 3, 2},         // 12 layers of 768, 4 texts of 64 tokens, AdamW
    {"bert", false, false, 3, 12, 3, 4},             // 4 layers of 192, 64 texts of 32 words of 4000, AdamW
    {"vit", true, false, 3, 20, 3, 6},               // 4 layers of 128, 49 patches, batch 64, AdamW
    {"lstm", false, false, 3, 20, 3, 6},             // 2 layers of 256, 32 texts of 64 characters, AdamW
    {"tabular", false, false, 100, 500, 50, 100},    // three embeddings, 30-256-256-1, batch 256, AdamW
};
inline constexpr const char* kPrecisions[] = {"f32", "bf16", "f16"};
/// Memory formats of images, and of the weights of convolutions.
inline constexpr const char* kMemoryFormats[] = {"contiguous", "channels_last"};

/// Number of steps, from equal initial weights, whose losses are compared; at most the warm-up of any workload.
inline constexpr int kComparedSteps = 2;

inline const Workload* find_workload(const std::string& name) {
  const auto* found =
      std::find_if(std::begin(kWorkloads), std::end(kWorkloads), [&](auto& w) { return w.name == name; });
  return found == std::end(kWorkloads) ? nullptr : found;
}

inline std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const Workload& w : kWorkloads) names.emplace_back(w.name);
  return names;
}

/// The arguments of one measurement.
struct RunOptions {
  std::string workload, precision = "f32", device = "cpu";
  int batch = 0;  ///< 0: the workload's default
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  int warmup = 0, iterations = 0;  ///< 0: the workload's default
  bool quick = false;
  bool small = false;  ///< small networks: checks that the workloads run, not their speed
  bool largest_batch = false;
  bool graph = false;  ///< repeat a CUDA graph of the step
  std::string memory_format = "auto";

  /// Adds the flags that both programs accept.
  void add_flags(CommandLine& line) {
    line.choice("--workload", workload, "Measure one workload here", workload_names());
    line.choice("--precision", precision, "Of the measured workload", {std::begin(kPrecisions), std::end(kPrecisions)});
    line.choice("--device", device, "The libtorch program supports only cpu", {"cpu", "cuda"});
    line.number("--batch", batch, "Examples per step", 1);
    line.number("--threads", threads, "Threads of each program", 1, 4096);
    line.number("--warmup", warmup, "Steps before the timed ones", kComparedSteps);
    line.number("--iterations", iterations, "Timed steps", 1);
    line.flag("--quick", quick, "Few steps");
    line.flag("--small", small, "Small networks and batches of 4: only checks that tandem runs them");
    line.flag("--largest-batch", largest_batch,
              "With --workload: find the largest batch that fits into a CUDA device's memory");
    line.flag("--graph", graph, "Run the step as a CUDA graph (tandem on cuda only)");
    line.choice("--memory-format", memory_format, "Of the CNNs; auto: tandem's faster one",
                {"contiguous", "channels_last", "auto"});
  }

  /// Sets the numbers of steps and the memory format, if they were not given.
  void complete() {
    const Workload& w = *find_workload(workload);
    if (warmup == 0) warmup = quick ? w.quick_warmup : w.warmup;
    if (iterations == 0) iterations = quick ? w.quick_iterations : w.iterations;
    if (memory_format == "auto") memory_format = faster_memory_format();
  }

  /// The memory format in which tandem trains the CNNs faster: on the CPU as measured (docs/benchmarks.md); on CUDA an
  /// assumption, since tensor cores work on channels-last operands of 16 bits.
  const char* faster_memory_format() const {
    return device == "cuda" && precision == "f32" ? "contiguous" : "channels_last";
  }
};

}  // namespace bench
