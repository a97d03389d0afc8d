#pragma once
// The operation graph of a convolution in cuDNN's backend API.
#include <vector>

#include "kernels/cuda/conv_key.h"
#include "kernels/cuda/dnn_descriptor.h"

namespace tandem::cuda {

/// The unique ids of a graph's tensors.
enum ConvTensor : int64_t { kX = 1, kW, kY, kBias, kProduct };

/// Returns the finalized graph of the convolution, followed by the addition of a bias if there is one. `parts` receives
/// the descriptors that it consists of. Throws DnnRefusal.
Descriptor operation_graph(const ConvKey& key, cudnnHandle_t handle, std::vector<Descriptor>& parts);

}  // namespace tandem::cuda
