#pragma once
// The emulated device's memory as the CPU's kernels know it, for the vendors' libraries.
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

/// What a library answers with errors, or a GPU with a fault.
inline void require(bool good, const char* what) {
  if (!good) throw Misuse(std::string("a vendor's library: ") + what);
}

inline bool is_aligned(const void* data, uint64_t bytes) {
  return bytes == 0 || reinterpret_cast<uintptr_t>(data) % bytes == 0;
}

/// Bits that stand for NaN in every dtype: what a kernel leaves in its workspace.
inline void scribble(void* workspace, size_t bytes) {
  if (workspace) std::memset(workspace, 0xff, bytes);
}

}  // namespace tandem::cuda::emulated
