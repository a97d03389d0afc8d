#include "src/distributed/world.h"

#include "tandem/base/check.h"
#include "tandem/distributed/init.h"
#include "tandem/distributed/thread_group.h"

namespace tandem::distributed {

bool is_mpi_available() { return false; }

World make_world(const ProcessGroupOptions& options) {
  TANDEM_CHECK(launched_processes() <= 1, StateError,
               "{} processes were started, but this tandem was built without MPI; install libopenmpi-dev (or another "
               "MPI) and build it again",
               launched_processes());
  return {make_thread_groups(1, options)[0]};
}

}  // namespace tandem::distributed
