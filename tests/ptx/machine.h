#pragma once
// Machine: executes kernels, and reports what is wrong with them.
#include <cstddef>
#include <span>
#include <vector>

#include "ptx/memory.h"
#include "ptx/report.h"

namespace tandem::ptx {

struct Launch {
  Dim grid{1, 1, 1}, block{1, 1, 1};
  std::span<const std::byte> parameters;
  bool reverse = false;  ///< warps and blocks run from the last to the first
};

/// How often an instruction was executed.
struct Count {
  uint64_t warps = 0, threads = 0;
};

class Machine {
 public:
  explicit Machine(GlobalMemory& memory) : memory_(memory) {}
  /// Runs the grid to its end and appends what it finds to `reports`: a fault of an instruction once for each launch.
  /// Adds to `counts`, one per instruction, unless it is null. Throws Stopped.
  void launch(const Kernel& kernel, const Launch& launch, std::vector<Report>& reports,
              std::vector<Count>* counts = nullptr);

 private:
  GlobalMemory& memory_;
  std::vector<std::vector<Row>> registers_;  ///< of each warp of a block; kept, because there are up to 10,000
};

}  // namespace tandem::ptx
