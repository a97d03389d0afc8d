#pragma once
// Runs a program and reads what it prints.
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct ProcessResult {
  int status = -1;     ///< exit status; -1: not started, or ended by a signal
  std::string output;  ///< standard output
};

/// Runs `arguments` (the first one is the program's path) with `environment` added to the environment of this process.
/// Standard error passes through.
ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::vector<std::pair<std::string, std::string>>& environment);

/// Path of the running program.
std::string own_path();

}  // namespace bench
