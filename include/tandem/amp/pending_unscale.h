#pragma once
// Gradients whose division by the scale is postponed until somebody looks at them.
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem::amp::detail {

/// After a fused step read `grads` as g times `inverse_scale` and wrote none of them: makes each stand for its unscaled
/// value. The multiplication happens when the data is first asked for, or never, when the gradient is dropped before.
/// A gradient with a graph, or one whose memory others can see, is unscaled at once.
void postpone_unscale(const std::vector<Tensor>& grads, const Tensor& inverse_scale);

}  // namespace tandem::amp::detail
