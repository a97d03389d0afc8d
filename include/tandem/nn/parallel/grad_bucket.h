#pragma once
// GradBucket: gradients that DistributedDataParallel reduces together. CommHook: replaces their reduction.
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "tandem/distributed/process_group.h"

#pragma GCC visibility push(default)
namespace tandem::nn::parallel {

/// The gradients of some parameters in one flat tensor, ready to be reduced. All ranks have the same buckets.
class GradBucket {
 public:
  GradBucket(size_t index, bool is_last, Tensor buffer, std::vector<Tensor> gradients, std::vector<Tensor> parameters)
      : index_(index),
        is_last_(is_last),
        buffer_(std::move(buffer)),
        gradients_(std::move(gradients)),
        parameters_(std::move(parameters)) {}

  size_t index() const { return index_; }
  /// Whether no bucket of this iteration follows.
  bool is_last() const { return is_last_; }
  /// This rank's gradients, [n], contiguous.
  const Tensor& buffer() const { return buffer_; }
  /// Views of the buffer with the sizes of the parameters.
  const std::vector<Tensor>& gradients() const { return gradients_; }
  const std::vector<Tensor>& parameters() const { return parameters_; }

 private:
  size_t index_;
  bool is_last_;
  Tensor buffer_;
  std::vector<Tensor> gradients_, parameters_;
};

/// A reduction that a CommHook has started.
struct Reduction {
  distributed::Work work;  ///< the communication, after which `result` is complete
  Tensor result;           ///< [n], of any floating dtype: the averaged gradients, the same on all ranks
};

/// Starts the reduction of a bucket, in place of all_reduce with AVG. Called in the order of the buckets, on all ranks.
using CommHook = std::function<Reduction(distributed::ProcessGroup& group, const GradBucket& bucket)>;

/// The default: averages the gradients in their own dtype.
Reduction allreduce_hook(distributed::ProcessGroup& group, const GradBucket& bucket);
/// Rounds the gradients to f16 or bf16 before they are sent, which halves the bytes. Sums are in f32 where the process
/// group has f32 sums (see ReduceOp); the average is rounded once. An f32 gradient beyond 65504 becomes inf in f16, so
/// a GradScaler skips the step.
Reduction fp16_compress_hook(distributed::ProcessGroup& group, const GradBucket& bucket);
Reduction bf16_compress_hook(distributed::ProcessGroup& group, const GradBucket& bucket);

}  // namespace tandem::nn::parallel
#pragma GCC visibility pop
