#pragma once
// cuDNN's own planning for GPUs that are not present: devices described by tests/cuda/devices/*.json, on which cuDNN
// chooses engines and nothing runs. cuDNN 9.8 and later plan for a description.
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/dnn_driver.h"
#include "kernels/cuda/driver.h"

namespace tandem::cuda::testing {

/// The names of the descriptions, in the order of the devices' indices. The first is one for which the tests' build has
/// code.
const std::vector<std::string>& described_devices();

/// A CUDA driver with these devices. Memory is reserved but never touched, and kernels do not run.
const Driver& described_driver();

/// The library's cuDNN, which is told a device's description where it would be given a handle. Executed plans are
/// recorded.
const DnnDriver& planning_driver();

/// A plan that was executed.
struct Execution {
  std::string tensors;  ///< dtype, sizes and strides of each tensor of the graph, for messages
  bool has_16_bit_operands = false;
  int64_t engine = 0;  ///< cuDNN's number
  bool is_fallback = false, has_tensor_cores = false;
  int64_t workspace_bytes = 0;
};
/// The plans executed since the list was cleared.
std::vector<Execution>& executions();

}  // namespace tandem::cuda::testing
