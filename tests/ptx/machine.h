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

/// How often an instruction was executed, and what its accesses cost, summed over the executions by a warp. The least
/// costs are those of the same bytes side by side.
struct Count {
  uint64_t warps = 0, threads = 0;
  uint64_t sectors = 0, least_sectors = 0;        ///< of 32 bytes of global memory
  uint64_t wavefronts = 0, least_wavefronts = 0;  ///< passes over the 32 banks of shared memory
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
