#include "src/distributed/combine.h"

#include <algorithm>

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/elementwise.h"
#include "tandem/tensor/factories.h"

namespace tandem::distributed {
namespace {

/// Elements that are combined before the next ones, so that a block stays in the cache from one part to the next.
constexpr int64_t kBlock = 32768;

void add_part(const Tensor& sum, const Tensor& part, ReduceOp op) {
  switch (op) {
    case ReduceOp::SUM:
    case ReduceOp::AVG:
      sum.add_(part);
      break;
    case ReduceOp::MAX:
      sum.copy_(maximum(sum, part));
      break;
    case ReduceOp::MIN:
      sum.copy_(minimum(sum, part));
      break;
    case ReduceOp::BOR:
      sum.copy_(bitwise_or(sum, part));
      break;
  }
}

}  // namespace

void combine(const Tensor& result, const std::vector<Tensor>& parts, ReduceOp op) {
  const NoGradGuard no_grad;
  const amp::AutocastOff no_autocast;
  if (parts.size() == 1) {
    if (parts[0].raw_bytes() != result.raw_bytes()) result.copy_(parts[0]);
    return;
  }
  const DType dtype = result.dtype();
  const bool adds = op == ReduceOp::SUM || op == ReduceOp::AVG;
  const DType wide = adds && is_reduced_floating_point(dtype) ? kFloat : dtype;
  const int64_t n = result.numel();
  const Tensor y = result.view({-1});
  std::vector<Tensor> x;
  for (const Tensor& part : parts) x.push_back(part.view({-1}));
  const Tensor buffer =
      empty({std::min(n, kBlock)}, result.options().dtype(wide));  // the result may be one of the parts
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = std::min(kBlock, n - at);
    const Tensor sum = buffer.narrow(0, 0, count);
    sum.copy_(x[0].narrow(0, at, count));
    for (size_t i = 1; i < x.size(); ++i) add_part(sum, x[i].narrow(0, at, count), op);
    if (op == ReduceOp::AVG) sum.div_(static_cast<double>(parts.size()));
    y.narrow(0, at, count).copy_(sum);
  }
}

}  // namespace tandem::distributed
