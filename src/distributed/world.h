#pragma once
// The group that init() returns. Internal.
#include <memory>

#include "src/base/component.h"
#include "tandem/distributed/process_group.h"

namespace tandem::distributed {

struct World {
  std::shared_ptr<ProcessGroup> group;
  int local_rank = 0;
};

/// Makes the group of all processes with MPI; in the component tandem::distributed (src/distributed/mpi).
using MakeWorld = World(const ProcessGroupOptions& options);
TANDEM_FOR_COMPONENTS extern MakeWorld* make_mpi_world;

/// The number of processes that a launcher (mpirun, mpiexec, srun) has started, as it tells them by environment
/// variables; 0 if this process was started without a launcher.
TANDEM_FOR_COMPONENTS int launched_processes();

}  // namespace tandem::distributed
