#pragma once
// The emulated device's memory as tensors of the CPU kernels, for the vendors' libraries.
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

/// Fills with bits that are NaN in every floating dtype, as a kernel leaves undefined values in its workspace.
inline void scribble(void* workspace, size_t bytes) {
  if (workspace) std::memset(workspace, 0xff, bytes);
}

}  // namespace tandem::cuda::emulated
