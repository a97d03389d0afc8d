#pragma once
// check_nccl: NCCL's results as exceptions. Internal.
#include <nccl.h>

#include <string>

namespace tandem::distributed {

/// Throws BackendError with NCCL's message, unless `code` says that the call succeeded.
void check_nccl(ncclResult_t code, const char* call, ncclComm_t comm = nullptr);

/// "unhandled cuda error (run with NCCL_DEBUG=INFO for details): ..."
std::string nccl_message(ncclResult_t code, ncclComm_t comm);

}  // namespace tandem::distributed
