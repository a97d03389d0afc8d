#pragma once
// The gradients of an optimizer, as GradScaler unscales and checks them.
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "tandem/autograd/loss_scale.h"
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

/// Gradients, each once.
struct SortedGradients {
  struct Group {
    autograd::LossScalePtr scale;
    std::vector<Tensor> grads;
  };
  std::vector<Group> scaled;     ///< those to divide, by their scale
  std::vector<Tensor> unscaled;  ///< those that must not be divided
};

/// State of a scaler by which gradients are sorted.
struct GradientContext {
  Device device;                             ///< of the scaler's state
  autograd::LossScalePtr current;            ///< the scale of gradients that the program has assigned
  bool is_one = false;                       ///< the scale is always 1
  bool is_unscaled = false;                  ///< unscale_() was called: only what came after it is scaled
  std::map<GradientPlace, uint64_t> places;  ///< the gradients unscaled in this iteration, with their versions
};

/// Sorts the gradients of an optimizer. `writes`: the caller unscales them in place, so f16 gradients are refused.
/// Throws DTypeError, DeviceError or ShapeError for gradients that cannot be unscaled, and StateError for those whose
/// scale is not known: of a loss that was not scaled, or a sum of different scales.
SortedGradients sort_gradients(const optim::Optimizer& optimizer, const GradientContext& context, bool writes);
/// Sorts gradients that need not be those of parameters.
SortedGradients sort_gradients(const std::vector<Tensor>& grads, const GradientContext& context);

/// Whether a gradient is scaled, or a sum that cannot be unscaled.
bool has_scaled(const optim::Optimizer& optimizer);

/// The defined gradients of an optimizer's parameters.
std::vector<Tensor> gradients_of(const optim::Optimizer& optimizer);

/// Notes that the optimizer's gradients are unscaled.
void note_unscaled(const optim::Optimizer& optimizer);

/// Whether unscale_() would round: it leaves values in the gradient's dtype, whereas a fused step multiplies in its
/// compute dtype. f16 gradients always take the fused step: unscale_() refuses them, or widens them if the parameters
/// have masters.
bool unscaling_rounds(const optim::Optimizer& optimizer);

/// Replaces f16 and bf16 gradients that the program has given to parameters with f32 masters by f32 ones, which can be
/// unscaled.
void widen_gradients(const optim::Optimizer& optimizer);

}  // namespace tandem::amp
