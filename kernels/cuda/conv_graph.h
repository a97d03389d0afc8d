#pragma once
// The operation graph of a convolution, as cuDNN's backend API describes it.
#include <vector>

#include "kernels/cuda/conv_key.h"
#include "kernels/cuda/dnn_descriptor.h"

namespace tandem::cuda {

/// What the tensors of a graph are called.
enum ConvTensor : int64_t { kX = 1, kW, kY, kBias, kProduct, kSum };

/// The convolution, and behind it the addition of the bias and the ReLU, finalized. `parts` gets what it is made of.
/// Throws DnnRefusal.
Descriptor operation_graph(const ConvKey& key, cudnnHandle_t handle, std::vector<Descriptor>& parts);

}  // namespace tandem::cuda
