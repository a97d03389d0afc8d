#pragma once
// `device`: the backend whose kernels a test calls, as device::copy(dst, src). The CPU's; or the CUDA backend's on an
// emulated device (tests/cuda_emulated), whose memory is the CPU's too.
#include "kernels/cpu/kernels.h"
#if defined(TANDEM_EMULATED_CUDA)
#include "kernels/cuda/kernels.h"
#endif

namespace tandem::testing {

#if defined(TANDEM_EMULATED_CUDA)
namespace device = cuda;
inline constexpr bool kEmulated = true;
#else
namespace device = cpu;
inline constexpr bool kEmulated = false;
#endif

}  // namespace tandem::testing
