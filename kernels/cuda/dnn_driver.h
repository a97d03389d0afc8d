#pragma once
// DnnDriver: the function table for all calls to cuDNN, as Driver is for the runtime. Tests replace it by a recording
// fake.
#include <cudnn_graph.h>

#include <string>

#include "kernels/cuda/call_table.h"

namespace tandem::cuda {

// The functions that tandem calls, with their parameters: X(name, (parameters)).
#define TANDEM_DNN_CALLS(X)                                                                                         \
  X(cudnnCreate, (cudnnHandle_t*))                                                                                  \
  X(cudnnSetStream, (cudnnHandle_t, cudaStream_t))                                                                  \
  X(cudnnBackendCreateDescriptor, (cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t*))                        \
  X(cudnnBackendDestroyDescriptor, (cudnnBackendDescriptor_t))                                                      \
  X(cudnnBackendFinalize, (cudnnBackendDescriptor_t))                                                               \
  X(cudnnBackendSetAttribute,                                                                                       \
    (cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, const void*))     \
  X(cudnnBackendGetAttribute,                                                                                       \
    (cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, int64_t*, void*)) \
  X(cudnnBackendExecute, (cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t))

/// A table of these functions.
struct DnnDriver {
#define TANDEM_CALL(NAME, PARAMETERS) cudnnStatus_t(*NAME) PARAMETERS = nullptr;
  TANDEM_DNN_CALLS(TANDEM_CALL)
#undef TANDEM_CALL
};

template <>
const DnnDriver& library_table<DnnDriver>();
using DnnDriverGuard = TableGuard<DnnDriver>;
inline const DnnDriver& dnn_driver() { return table_in_use<DnnDriver>(); }

/// Throws BackendError naming the running op, the call, the status with cuDNN's message, and the operands.
[[noreturn]] void throw_dnn_error(const char* call, cudnnStatus_t status, const std::string& operands);

}  // namespace tandem::cuda

/// TANDEM_DNN(operands, cudnnSetStream, ...): calls through the table and checks the status. `operands` is a string
/// expression, evaluated only on failure.
#define TANDEM_DNN(OPERANDS, NAME, ...)                                           \
  do {                                                                            \
    const cudnnStatus_t status_ = ::tandem::cuda::dnn_driver().NAME(__VA_ARGS__); \
    if (status_ != CUDNN_STATUS_SUCCESS) [[unlikely]]                             \
      ::tandem::cuda::throw_dnn_error(#NAME, status_, OPERANDS);                  \
  } while (false)
