#include "kernels/cuda/blas_driver.h"

#include "tandem/base/check.h"

namespace tandem::cuda {

template <>
const BlasDriver& library_table<BlasDriver>() {
  static constexpr BlasDriver table = {
#define TANDEM_CALL(NAME, PARAMETERS) .NAME = static_cast<cublasStatus_t(*) PARAMETERS>(&::NAME),
      TANDEM_BLAS_CALLS(TANDEM_CALL)
#undef TANDEM_CALL
  };
  return table;
}

void throw_blas_error(const char* call, cublasStatus_t status, const std::string& operands) {
  TANDEM_CHECK(status != CUBLAS_STATUS_NOT_INITIALIZED && status != CUBLAS_STATUS_ALLOC_FAILED, BackendError,
               "{} failed: {} (operands: {}); free device memory, or check the device with nvidia-smi", call,
               ::cublasLtGetStatusString(status), operands);
  TANDEM_THROW(BackendError, "{} failed: {} (operands: {}); set CUBLASLT_LOG_LEVEL=2 for details", call,
               ::cublasLtGetStatusString(status), operands);
}

}  // namespace tandem::cuda
