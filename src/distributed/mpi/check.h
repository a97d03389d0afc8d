#pragma once
// check_mpi: turns error codes of MPI into exceptions. Internal.
#include <mpi.h>

namespace tandem::distributed {

/// Throws BackendError with MPI's text unless `code`, the result of `call`, is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// Returns a communicator with the ranks of `comm`, which reports errors instead of ending the program.
MPI_Comm duplicate(MPI_Comm comm);

}  // namespace tandem::distributed
