#pragma once
// make_world: the group that init() returns, implemented with MPI (src/distributed/mpi) or without
// (src/distributed/no_mpi). Internal.
#include <memory>

#include "tandem/distributed/process_group.h"

namespace tandem::distributed {

struct World {
  std::shared_ptr<ProcessGroup> group;
  int local_rank = 0;
};

World make_world(const ProcessGroupOptions& options);

/// The number of processes that a launcher (mpirun, mpiexec, srun) has started, as it tells them by environment
/// variables; 0 if this process was started without a launcher.
int launched_processes();

}  // namespace tandem::distributed
