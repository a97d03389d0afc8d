// The libtorch program for compare_bench. Built by scripts/bench.sh, not by the build.
#include <torch/torch.h>
#include <torch/version.h>

#include <exception>

namespace lib = torch;
#include "compare/child.h"

int main(int argc, char** argv) {
  bench::CommandLine line("Measures a function of libtorch and prints one JSON object.");
  bench::CompareOptions options;
  options.add_flags(line);
  line.require("--measure");
  line.parse(argc, argv);
  try {
    at::set_num_threads(options.threads);
    bench::run_workload(options, "libtorch " TORCH_VERSION);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compare_torch: %s\n", error.what());
    return 1;
  }
  return 0;
}
