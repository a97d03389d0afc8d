#pragma once
// What every executed plan must fulfil.
#include <gtest/gtest.h>

#include "cudnn_engines/described_devices.h"
#include "tandem/base/dtype.h"
#include "tandem/cuda/device.h"

namespace tandem::cuda::testing {

/// Whether the device multiplies matrices of this dtype.
inline bool multiplies(int device, DType dtype) {
  return dtype != kBFloat16 || get_device_properties(device).major >= 8;
}

/// With few channels per group an engine need not use tensor cores.
inline void expect_good(const Execution& e, bool few_channels) {
  EXPECT_FALSE(e.is_fallback) << e.tensors;
  EXPECT_LE(e.workspace_bytes, int64_t{1} << 30) << e.tensors;
  if (e.has_16_bit_operands && !few_channels) {
    EXPECT_TRUE(e.has_tensor_cores) << "engine " << e.engine << ", " << e.tensors;
  }
}

}  // namespace tandem::cuda::testing
