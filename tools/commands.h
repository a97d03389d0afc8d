#pragma once
// The subcommands of `tandem`, one per file, and their options. main.cpp alone includes CLI11, whose headers are slow
// to compile.
#include <cstdint>
#include <string>
#include <vector>

namespace tools {

struct InfoOptions {
  bool as_json = false;
};

struct InspectOptions {
  std::vector<std::string> files;
  bool stats = false, as_json = false;
};

struct ConvertOptions {
  std::string in, out, dtype;
  std::vector<std::string> tensors;
  bool force = false, allow_overflow = false;
};

struct BenchOptions {
  std::string layers = "784,1024,1024,10", conv, device = "cpu";
  int64_t batch = 128, classes = 10;
  int threads = 0;
  double seconds = 6;
  bool quick = false, as_json = false;
};

/// Each runs a subcommand and returns the exit status, or throws. run_inspect goes on after a file that cannot be read,
/// and then returns 1.
int run_info(const InfoOptions& options);
int run_inspect(const InspectOptions& options);
int run_convert(const ConvertOptions& options);
int run_bench(const BenchOptions& options);

}  // namespace tools
