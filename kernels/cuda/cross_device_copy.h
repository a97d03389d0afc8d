#pragma once
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {

/// dst = src between two devices, at least one of them a GPU; equal sizes, not empty. Waits if dst is on the CPU.
void cross_device_copy(const Tensor& dst, const Tensor& src);

}  // namespace tandem::cuda
