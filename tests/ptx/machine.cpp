#include "ptx/machine.h"

#include <fmt/format.h>

#include "ptx/block.h"

namespace tandem::ptx {

void Machine::launch(const Kernel& kernel, const Launch& launch, std::vector<Report>& reports,
                     std::vector<Count>* counts) {
  const uint64_t blocks = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (launch.parameters.size() != kernel.parameter_bytes) {
    throw std::invalid_argument(
        fmt::format("{} bytes of parameters for a kernel with {}", launch.parameters.size(), kernel.parameter_bytes));
  }
  if (counts) counts->resize(kernel.code.size());
  Grid grid{kernel, launch, memory_, reports, counts, {}, {}, {}};
  grid.registers.resize((threads + kLanes - 1) / kLanes, std::vector<Row>(kernel.values));
  for (uint64_t n = 0; n < blocks; ++n) Block(grid, launch.reverse ? blocks - 1 - n : n).run();
}

}  // namespace tandem::ptx
