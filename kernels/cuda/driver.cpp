#include "kernels/cuda/driver.h"

#include "tandem/base/check.h"

namespace tandem::cuda {

template <>
const Driver& library_table<Driver>() {
  static constexpr Driver table = {
#define TANDEM_CALL(NAME, PARAMETERS) .NAME = static_cast<cudaError_t(*) PARAMETERS>(&::NAME),
      TANDEM_CUDA_CALLS(TANDEM_CALL)
#undef TANDEM_CALL
          .least_architecture = TANDEM_LEAST_ARCHITECTURE,
  };
  return table;
}

namespace {

/// Errors after which every later call of the process also fails.
bool is_sticky(cudaError_t code) {
  switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
#if CUDART_VERSION >= 12080
    case cudaErrorContained:
#endif
      return true;
    default:
      return false;
  }
}

/// Errors of calls that are not allowed during a capture.
bool is_of_capture(cudaError_t code) {
  return code >= cudaErrorStreamCaptureUnsupported && code <= cudaErrorStreamCaptureWrongThread;
}

}  // namespace

void throw_cuda_error(const char* call, cudaError_t code) {
  driver().cudaGetLastError();  // clears the error, which the next call would report otherwise
  const char* name = ::cudaGetErrorName(code);
  const char* text = ::cudaGetErrorString(code);
  TANDEM_CHECK(!is_sticky(code), BackendError,
               "{} failed: {} ({}). This process can no longer use the device. The faulty kernel may have been "
               "launched earlier: set TANDEM_SYNC=1 to find it, or run under compute-sanitizer with TANDEM_NO_CACHE=1",
               call, name, text);
  TANDEM_CHECK(!is_of_capture(code), StateError,
               "{} failed: {} ({}): the call is not allowed while a CUDA graph is being captured, or work of the "
               "capture was not joined to its stream; move it out of the capture",
               call, name, text);
  TANDEM_THROW(BackendError, "{} failed: {} ({}); check the device with nvidia-smi", call, name, text);
}

}  // namespace tandem::cuda
