#pragma once
// The modelled times of Winograd's convolutions.
#include "tandem/tensor/tensor.h"

namespace tandem::cpu::winograd {

/// Whether the transposed formula is faster for the gradient of a convolution's inputs. It needs fewer tiles if gy is
/// smaller than gx, as without padding, but adds 6 x 6 pixels per tile. It is used only for 16 images or more, since a
/// thread computes whole images unless there are more channels than tiles. The limit is fixed, so that results do not
/// depend on the number of threads; not measured with more than 16 of them.
bool transposed_is_faster(const Tensor& gx, const Tensor& gy, const Tensor& weight);

}  // namespace tandem::cpu::winograd
