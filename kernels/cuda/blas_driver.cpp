#include "kernels/cuda/blas_driver.h"

#include <atomic>

#include "tandem/base/check.h"

namespace tandem::cuda {
namespace {

const BlasDriver& library() {
  static constexpr BlasDriver table = {
#define TANDEM_CALL(NAME, PARAMETERS) .NAME = static_cast<cublasStatus_t(*) PARAMETERS>(&::NAME),
      TANDEM_BLAS_CALLS(TANDEM_CALL)
#undef TANDEM_CALL
  };
  return table;
}

std::atomic<const BlasDriver*>& current() {
  static std::atomic<const BlasDriver*> driver{&library()};
  return driver;
}

}  // namespace

const BlasDriver& blas_driver() { return *current().load(std::memory_order_relaxed); }

BlasDriverGuard::BlasDriverGuard(const BlasDriver& driver) : previous_(current().exchange(&driver)) {}
BlasDriverGuard::~BlasDriverGuard() { current().store(previous_); }

void throw_blas_error(const char* call, cublasStatus_t status, const std::string& operands) {
  TANDEM_CHECK(status != CUBLAS_STATUS_NOT_INITIALIZED && status != CUBLAS_STATUS_ALLOC_FAILED, BackendError,
               "{}: {} failed: {} (operands: {}); free device memory, or check the device with nvidia-smi",
               running_op(), call, ::cublasLtGetStatusString(status), operands);
  TANDEM_THROW(BackendError, "{}: {} failed: {} (operands: {}); CUBLASLT_LOG_LEVEL=2 in the environment says more",
               running_op(), call, ::cublasLtGetStatusString(status), operands);
}

}  // namespace tandem::cuda
