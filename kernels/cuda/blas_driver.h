#pragma once
// BlasDriver: the function table for all calls to cuBLASLt, as Driver is for the runtime. Tests replace it by a
// recording fake.
#include <cublasLt.h>

#include <string>

#include "kernels/cuda/call_table.h"

namespace tandem::cuda {

// The functions that tandem calls, with their parameters: X(name, (parameters)).
#define TANDEM_BLAS_CALLS(X)                                                                                          \
  X(cublasLtCreate, (cublasLtHandle_t*))                                                                              \
  X(cublasLtMatrixLayoutCreate, (cublasLtMatrixLayout_t*, cudaDataType, uint64_t, uint64_t, int64_t))                 \
  X(cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t))                                                            \
  X(cublasLtMatrixLayoutSetAttribute, (cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, const void*, size_t)) \
  X(cublasLtMatmulDescCreate, (cublasLtMatmulDesc_t*, cublasComputeType_t, cudaDataType_t))                           \
  X(cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t))                                                                \
  X(cublasLtMatmulDescSetAttribute, (cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void*, size_t))      \
  X(cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t*))                                                    \
  X(cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t))                                                    \
  X(cublasLtMatmulPreferenceSetAttribute,                                                                             \
    (cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void*, size_t))                          \
  X(cublasLtMatmulAlgoGetHeuristic,                                                                                   \
    (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,  \
     cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t*, int*))                \
  X(cublasLtMatmul, (cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*, cublasLtMatrixLayout_t,        \
                     const void*, cublasLtMatrixLayout_t, const void*, const void*, cublasLtMatrixLayout_t, void*,    \
                     cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t))

/// A table of these functions.
struct BlasDriver {
#define TANDEM_CALL(NAME, PARAMETERS) cublasStatus_t(*NAME) PARAMETERS = nullptr;
  TANDEM_BLAS_CALLS(TANDEM_CALL)
#undef TANDEM_CALL
};

template <>
const BlasDriver& library_table<BlasDriver>();
using BlasDriverGuard = TableGuard<BlasDriver>;
inline const BlasDriver& blas_driver() { return table_in_use<BlasDriver>(); }

/// Throws BackendError naming the running op, the call, the status and the operands.
[[noreturn]] void throw_blas_error(const char* call, cublasStatus_t status, const std::string& operands);

}  // namespace tandem::cuda

/// TANDEM_BLAS(operands, cublasLtMatmul, ...): calls through the table and checks the status. `operands` is a string
/// expression, evaluated only on failure.
#define TANDEM_BLAS(OPERANDS, NAME, ...)                                            \
  do {                                                                              \
    const cublasStatus_t status_ = ::tandem::cuda::blas_driver().NAME(__VA_ARGS__); \
    if (status_ != CUBLAS_STATUS_SUCCESS) [[unlikely]]                              \
      ::tandem::cuda::throw_blas_error(#NAME, status_, OPERANDS);                   \
  } while (false)
