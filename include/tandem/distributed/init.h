#pragma once
// init: the ranks of the job that this process belongs to.
#include <memory>

#include "tandem/distributed/process_group.h"

#pragma GCC visibility push(default)
namespace tandem::distributed {

/// Return true if the program is linked with tandem::distributed and that was built with MPI, and with NCCL.
bool is_mpi_available();
bool is_nccl_available();

/// Returns the group of all processes that `mpirun` or `srun` started, and makes it the default group. A program that
/// was started without them, or that has no MPI, gets a group of one rank. All processes must call it.
///
/// Tensors on the CPU are sent by MPI. If the program has initialised MPI itself, it must have asked for
/// MPI_THREAD_MULTIPLE, and finalizes MPI itself; otherwise MPI is finalized at the end of the process. Further calls
/// return the same group; their options must be the same. Throws StateError if MPI supports too few threads, or if
/// mpirun started several processes but is_mpi_available() is false; BackendError if MPI fails.
std::shared_ptr<ProcessGroup> init(const ProcessGroupOptions& options = {});

/// Returns whether init() was called.
bool is_initialized();
/// Returns the group that init() made. Throws StateError before init().
const std::shared_ptr<ProcessGroup>& world();
/// The rank of this process in the default group, and the number of ranks; 0 and 1 before init().
int rank();
int world_size();
/// The rank among the processes of this machine: the number of the GPU to use. 0 before init().
int local_rank();

}  // namespace tandem::distributed
#pragma GCC visibility pop
