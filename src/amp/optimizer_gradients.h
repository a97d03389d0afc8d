#pragma once
// The gradients of an optimizer, as GradScaler unscales and checks them.
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "tandem/optim/optimizer.h"

namespace tandem::amp {

/// The memory that a gradient occupies: storage, offset, number of elements and dtype. Gradients in the same place are
/// unscaled once, even if they are different tensors or views.
using GradientPlace = std::tuple<uintptr_t, int64_t, int64_t, DType>;
GradientPlace place_of(const Tensor& g);

/// Accepts the first gradient in each place and rejects later ones.
class FirstOfItsPlace {
 public:
  bool operator()(const Tensor& g);

 private:
  std::set<GradientPlace> seen_;
};

/// The optimizer's defined gradients, each once. `writes`: the caller unscales them in place, so f16 gradients are
/// refused. `device`: the scaler's device. Throws DTypeError, DeviceError or ShapeError for gradients that cannot be
/// unscaled.
std::vector<Tensor> gradients_of(const optim::Optimizer& optimizer, bool writes, Device device);

/// Whether unscale_() would round: it leaves values in the gradient's dtype, whereas a fused step multiplies in its
/// compute dtype. f16 gradients always take the fused step: unscale_() refuses them, or widens them if the parameters
/// have masters.
bool unscaling_rounds(const optim::Optimizer& optimizer);

/// Replaces f16 and bf16 gradients of parameters with f32 masters by f32 ones, which can be unscaled.
void widen_gradients(const optim::Optimizer& optimizer);

}  // namespace tandem::amp
