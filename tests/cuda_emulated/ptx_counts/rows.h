#pragma once
// The rows of the tables: ops of training, and whole training steps.
#include "cuda_emulated/ptx_counts/report.h"
#include "tandem/tensor/tensor.h"

namespace tandem::ptx_counts {

/// Numbers of a normal distribution, on the emulated device.
Tensor random(IntArrayRef sizes, DType dtype);
/// Runs the backward pass of y alone, once for each call.
std::function<void()> backward(const Tensor& y, const std::vector<Tensor>& inputs);

void add_elementwise(Report& report);
void add_pools(Report& report);
void add_indices(Report& report);
void add_rows(Report& report);  ///< softmax, cross_entropy, layer_norm, sums
void add_batch_norm(Report& report);
void add_attention(Report& report);
void add_float8(Report& report);
void add_optimizers(Report& report);
void add_training_steps(Report& report);

}  // namespace tandem::ptx_counts
