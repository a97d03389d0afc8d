#include "src/distributed/mpi/check.h"

#include <string>

#include "tandem/base/check.h"

namespace tandem::distributed {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  TANDEM_THROW(BackendError, "{} failed: {}", call, std::string(text, static_cast<size_t>(length)));
}

MPI_Comm duplicate(MPI_Comm comm) {
  MPI_Comm copy;
  check_mpi(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return copy;
}

}  // namespace tandem::distributed
