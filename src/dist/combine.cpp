#include "src/dist/combine.h"

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/elementwise.h"
#include "tandem/tensor/factories.h"

namespace tandem::distributed {
namespace {

/// Calls f(sum, part) for each part but the first. `sum` starts as the first part, in a copy of dtype `wide`, or in
/// `result` itself if no later part is in its memory.
template <class F>
Tensor fold(const Tensor& result, const std::vector<Tensor>& parts, DType wide, F f) {
  bool in_place = result.dtype() == wide;
  for (size_t i = 1; i < parts.size(); ++i) in_place &= parts[i].raw_bytes() != result.raw_bytes();
  Tensor sum = in_place ? result : empty_like(result, TensorOptions(wide));
  if (!in_place || parts[0].raw_bytes() != result.raw_bytes()) sum.copy_(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) f(sum, parts[i]);
  return sum;
}

}  // namespace

void combine(const Tensor& result, const std::vector<Tensor>& parts, ReduceOp op) {
  const NoGradGuard no_grad;
  const amp::AutocastOff no_autocast;
  const DType dtype = result.dtype();
  const bool adds = op == ReduceOp::SUM || op == ReduceOp::AVG;
  const DType wide = adds && is_reduced_floating_point(dtype) ? kFloat : dtype;
  const Tensor sum = fold(result, parts, wide, [op](const Tensor& sum, const Tensor& part) {
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
  });
  if (op == ReduceOp::AVG) sum.div_(static_cast<double>(parts.size()));
  if (!sum.is_same(result)) result.copy_(sum);
}

}  // namespace tandem::distributed
