#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/parallel/grad_bucket.h"
#include "tandem/ops/convert.h"

#include <fmt/format.h>

namespace tandem::nn::parallel {
namespace {

Reduction average(distributed::ProcessGroup& group, const GradBucket& bucket, const Tensor& gradients) {
  return {group.all_reduce_async(gradients, distributed::ReduceOp::AVG, fmt::format("bucket {}", bucket.index())),
          gradients};
}

Reduction compressed(distributed::ProcessGroup& group, const GradBucket& bucket, DType dtype) {
  const NoGradGuard no_grad;
  return average(group, bucket, to(bucket.buffer(), dtype));
}

}  // namespace

Reduction allreduce_hook(distributed::ProcessGroup& group, const GradBucket& bucket) {
  return average(group, bucket, bucket.buffer());
}

Reduction fp16_compress_hook(distributed::ProcessGroup& group, const GradBucket& bucket) {
  return compressed(group, bucket, kHalf);
}

Reduction bf16_compress_hook(distributed::ProcessGroup& group, const GradBucket& bucket) {
  return compressed(group, bucket, kBFloat16);
}

}  // namespace tandem::nn::parallel
