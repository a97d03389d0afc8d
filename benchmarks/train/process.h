#pragma once
// Runs a program and reads its output.
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct ProcessResult {
  int status = -1;     ///< exit status; -1: not started, or killed by a signal
  std::string output;  ///< standard output
};

/// Runs `arguments` (first the program's path) with `environment` added to the environment of this process. Standard
/// error is inherited.
ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::vector<std::pair<std::string, std::string>>& environment);

/// Returns the path of the running program.
std::string own_path();

}  // namespace bench
