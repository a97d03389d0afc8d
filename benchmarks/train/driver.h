#pragma once
// The comparison: tandem, its peer with the default heap, its peer with a cached heap, and for the MLPs a step written
// by hand, each in a process of its own, started in turn.
#include <string>
#include <vector>

#include "train/options.h"

namespace bench {

struct DriverOptions {
  RunOptions run;                 ///< workload and precision unused
  std::vector<std::string> only;  ///< "tiny_mlp", "recipe/bf16"; empty: all
  int rounds = 3;
  int retries = 2;        ///< how often a disturbed measurement is repeated
  std::string peer;       ///< path of the libtorch program; empty: none
  std::string floor;      ///< path of step_floor; empty: none
  std::string json_file;  ///< empty: none
};

/// Measures, prints a table, writes the JSON file. Returns the exit status: 1 when a program failed or the two programs
/// computed different things.
int run_driver(const DriverOptions& options);

}  // namespace bench
