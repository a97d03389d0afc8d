#pragma once
// The emulated device's memory as tensors of the CPU kernels, for the vendors' libraries.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "cuda_emulated/emulator.h"
#include "tandem/backend.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda::emulated {

inline Tensor device_tensor(const void* data, const Dims& sizes, const Dims& strides, DType dtype) {
  return from_blob(const_cast<void*>(data), sizes, strides, TensorOptions(dtype).device(kCPU));
}

/// Throws where a library would return an error, or a GPU would fault.
inline void require(bool good, const char* what) {
  if (!good) throw Misuse(std::string("emulated cuBLASLt or cuDNN: ") + what);
}

inline bool is_aligned(const void* data, uint64_t bytes) {
  return bytes == 0 || reinterpret_cast<uintptr_t>(data) % bytes == 0;
}

/// A copy whose mantissas are rounded to TF32's 10 bits, ties away from zero, as tensor cores round f32 factors.
inline Tensor rounded_to_tf32(const Tensor& x) {
  const Tensor y = empty(x.sizes(), TensorOptions(kFloat).device(kCPU));
  backend(kCPU).copy(y, x);
  for (int64_t i = 0; i < y.numel(); ++i) {
    float& value = y.raw<float>()[i];
    if (std::isfinite(value)) value = std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000u) & ~0x1fffu);
  }
  return y;
}

/// Fills with bits that are NaN in every floating dtype, as a kernel leaves undefined values in its workspace.
inline void scribble(void* workspace, size_t bytes) {
  if (workspace) std::memset(workspace, 0xff, bytes);
}

}  // namespace tandem::cuda::emulated
