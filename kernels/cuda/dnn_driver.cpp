#include "kernels/cuda/dnn_driver.h"

#include "tandem/base/check.h"

namespace tandem::cuda {

template <>
const DnnDriver& library_table<DnnDriver>() {
  static constexpr DnnDriver table = {
#define TANDEM_CALL(NAME, PARAMETERS) .NAME = static_cast<cudnnStatus_t(*) PARAMETERS>(&::NAME),
      TANDEM_DNN_CALLS(TANDEM_CALL)
#undef TANDEM_CALL
  };
  return table;
}

void throw_dnn_error(const char* call, cudnnStatus_t status, const std::string& operands) {
  char reason[1024] = "";
  ::cudnnGetLastErrorString(reason, sizeof(reason));
  TANDEM_THROW(BackendError,
               "{} failed: {} {} (operands: {}); set CUDNN_LOGLEVEL_DBG=1 and CUDNN_LOGDEST_DBG=stderr for details",
               call, ::cudnnGetErrorString(status), reason, operands);
}

}  // namespace tandem::cuda
