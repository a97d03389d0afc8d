#pragma once
// PostponedUnscale: unscales gradients lazily, when their data is first accessed.
#include <memory>
#include <utility>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::amp::detail {

/// Whether one of the gradients should be unscaled before the step, which then need not multiply: it cannot be
/// postponed, and unscaling it after the step could fail. f16 gradients are never unscaled first, because that would
/// round them.
bool must_unscale_first(const std::vector<Tensor>& grads);

/// Multiplies gradients by `inverse_scale`, after a fused step that multiplied them only as it read them. The
/// multiplication is postponed until the data is first accessed, and omitted if the gradient is dropped before. A
/// gradient that requires grad, or whose memory is accessible in other ways, is unscaled at once.
class PostponedUnscale {
 public:
  /// To be called before the step: allocates what start() needs.
  PostponedUnscale(const std::vector<Tensor>& grads, const Tensor& inverse_scale);
  /// To be called after the step.
  void start();

 private:
  std::vector<std::pair<Tensor, std::unique_ptr<PendingWrite>>> later_;
  std::vector<Tensor> now_;
  Tensor inverse_scale_, ignored_;
};

}  // namespace tandem::amp::detail
#pragma GCC visibility pop
