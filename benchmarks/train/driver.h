#pragma once
// The comparison: tandem, libtorch with the default heap, libtorch with a cached heap, torch.compile, and for the MLPs
// a hand-written step. Each runs in a separate process, in turn.
#include <string>
#include <vector>

#include "train/options.h"

namespace bench {

struct DriverOptions {
  RunOptions run;                 ///< workload and precision unused
  std::vector<std::string> only;  ///< e.g. "tiny_mlp", "recipe/bf16"; empty: all
  int rounds = 3;
  int retries = 2;            ///< how often a disturbed measurement is repeated
  std::string peer;           ///< path of the libtorch program; empty: none
  std::string compiled_peer;  ///< path of the torch.compile program; empty: none
  std::string floor;          ///< path of step_floor; empty: none
  std::string json_file;      ///< empty: none
};

/// Measures, prints a table and writes the JSON file. Returns the exit status: 1 if a program failed or the two
/// programs computed different results.
int run_driver(const DriverOptions& options);

}  // namespace bench
