#pragma once
// What tests see and change of NCCL on the emulated devices.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda_emulated/device/nccl.h"

namespace tandem::cuda::emulated {

/// A call of NCCL that moves data.
struct Communication {
  std::string call;  ///< "ncclAllReduce"
  int rank;          ///< in the communicator
  int ranks;
  size_t bytes;
  cudaStream_t stream;
};

/// The calls of all ranks since the last clear_communications(), in the order in which they were made.
std::vector<Communication> communications();
void clear_communications();

/// Makes the communicators of this rank report an error, such as ncclRemoteError; ncclSuccess ends that.
void set_communication_error(int rank, ncclResult_t code);

/// Makes each group of calls of this rank stay in progress for so many looks of the host.
void set_communication_looks(int rank, int64_t count);

}  // namespace tandem::cuda::emulated
