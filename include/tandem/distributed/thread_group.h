#pragma once
// A process group whose ranks are threads of this process.
#include <memory>
#include <vector>

#include "tandem/distributed/process_group.h"

#pragma GCC visibility push(default)
namespace tandem::distributed {

/// Returns the groups of `size` ranks, one for each of `size` threads. For tests, for replicas of a model in one
/// process, and (with size 1) for programs that run without MPI. A group that an exception destroys is aborted. Throws
/// StateError unless size >= 1, and for a bad time limit.
std::vector<std::shared_ptr<ProcessGroup>> make_thread_groups(int size, const ProcessGroupOptions& options = {});

}  // namespace tandem::distributed
#pragma GCC visibility pop
