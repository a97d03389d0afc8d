#include "src/distributed/nccl/check.h"

#include "tandem/base/check.h"

namespace tandem::distributed {

std::string nccl_message(ncclResult_t code, ncclComm_t comm) {
  const std::string details = ncclGetLastError(comm);
  return ncclGetErrorString(code) + (details.empty() ? "" : ": " + details);
}

void check_nccl(ncclResult_t code, const char* call, ncclComm_t comm) {
  if (code == ncclSuccess) return;
  TANDEM_THROW(BackendError,
               "{} failed: {}. Each rank needs a GPU of its own, such as Device(kCUDA, distributed::local_rank()); set "
               "NCCL_DEBUG=INFO for details",
               call, nccl_message(code, comm));
}

}  // namespace tandem::distributed
