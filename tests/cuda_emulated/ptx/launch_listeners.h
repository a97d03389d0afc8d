#pragma once
// Functions that receive how often each launch has executed each instruction of its kernel's PTX.
#include <functional>
#include <vector>

#include "ptx/machine.h"

namespace tandem::cuda::emulated {

/// `counts` has one for each instruction of the kernel's code; `seconds` is the time that the launch took.
using LaunchListener =
    std::function<void(const ptx::Kernel& kernel, const std::vector<ptx::Count>& counts, double seconds)>;

/// Called after each launch, in the thread that runs it. Counting takes time, so launches count only if there is one.
std::vector<LaunchListener>& launch_listeners();

}  // namespace tandem::cuda::emulated
