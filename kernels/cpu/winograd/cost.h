#pragma once
// The modelled times of Winograd's convolutions.
#include "tandem/tensor/tensor.h"

namespace tandem::cpu::winograd {

/// Whether the transposed formula is faster for the gradient of a convolution's inputs. It has a tile per square of gy
/// and not of gx, which is larger without padding, but 6 x 6 sums per tile. Each thread computes whole images, so there
/// must be several; how many does not depend on the number of threads, nor do the results.
bool transposed_is_faster(const Tensor& gx, const Tensor& gy, const Tensor& weight);

}  // namespace tandem::cpu::winograd
