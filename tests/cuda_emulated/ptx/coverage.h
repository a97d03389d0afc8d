#pragma once
// Which PTX instructions each test executes: written at the program's end to the folder that TANDEM_PTX_COVERAGE names,
// for scripts/ptx_coverage.py.
#include <vector>

#include "ptx/machine.h"

namespace tandem::cuda::emulated {

/// Whether TANDEM_PTX_COVERAGE is set.
bool is_coverage_wanted();

/// Adds a launch's counts, one for each instruction of the kernel's code, and its time to the test that is running.
void add_coverage(const ptx::Kernel& kernel, const std::vector<ptx::Count>& counts, double seconds);

}  // namespace tandem::cuda::emulated
