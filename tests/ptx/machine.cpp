#include "ptx/machine.h"

#include <fmt/format.h>

#include <algorithm>

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
  registers_.resize(std::max<size_t>(registers_.size(), (threads + kLanes - 1) / kLanes));
  for (std::vector<Row>& rows : registers_) rows.resize(std::max<size_t>(rows.size(), kernel.values));
  Grid grid{kernel, launch, memory_, reports, counts, registers_, {}, {}};
  for (uint64_t n = 0; n < blocks; ++n) Block(grid, launch.reverse ? blocks - 1 - n : n).run();
}

}  // namespace tandem::ptx
