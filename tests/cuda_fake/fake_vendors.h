#pragma once
// cuBLASLt and cuDNN without a GPU: every call succeeds and is counted in Calls; nothing is computed.
#include "kernels/cuda/blas_driver.h"
#include "kernels/cuda/dnn_driver.h"

namespace tandem::cuda::testing {

const BlasDriver& fake_blas_driver();
const DnnDriver& fake_dnn_driver();

}  // namespace tandem::cuda::testing
