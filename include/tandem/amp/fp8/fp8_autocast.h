#pragma once
// Fp8AutocastGuard: an autocast region whose products with weights are computed in float8, like TransformerEngine's
// fp8_autocast.
#include <memory>
#include <string>
#include <vector>

#include "tandem/amp/autocast.h"
#include "tandem/amp/fp8/recipe.h"
#include "tandem/distributed/process_group.h"
#include "tandem/nn/module.h"
#include "tandem/ops/weight_products.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// A bf16 autocast region of this thread for device type `type`. In it, linear(), linear_relu() and, if one of two
/// matrices is a weight, mm(), matmul() and addmm(), if its input is a bias (rank 1, one value for each column; beta =
/// alpha = 1), round their operands to float8 as the recipe says, and multiply the rounded values with f32 sums.
/// Results are bf16, gradients of weights have the weights' dtype. A weight is a leaf that requires grad or is
/// registered with a module. An op whose policy is not Cast::lower, because of a PolicyGuard or set_policy(), is
/// computed as that policy says.
///
///   amp::Fp8AutocastGuard fp8(kCUDA, amp::MXFP8BlockScaling());
///   loss = cross_entropy(net->forward(x), y);
///
/// Open one region per iteration. Weights are rounded once per iteration (amp/cast_cache.h), activations and gradients
/// once for each dimension over which products with them sum: a recipe with one scale rounds once. The gradient of a
/// product is that of its rounded operands, with the gradient of the result rounded as well. It cannot be
/// differentiated again.
///
/// DelayedScaling keeps its scales with the weight: saved as `<name>._fp8` by modules, f32 [3, 1 + history length],
/// with a row for the input, the weight and the gradient of the result. The scales of inputs and weights are computed
/// when the thread's outermost region ends, those of gradients when its next outermost region that records begins. What
/// a thread computes in a region that it got through ThreadContext counts for that region. A region that begins without
/// recording (NoGradGuard), or within a backward pass (recomputation), uses the scales and leaves them as they are. If
/// an exception ends the region, its scales stay as they are. An error at the end of a region is thrown when the
/// thread's next outermost Fp8AutocastGuard begins. Until a region ends, an inf or NaN makes all products with the same
/// weight NaN. A scale that does not fit a tensor, because the history is empty or belongs to other values (a new,
/// loaded or replaced weight), is not used: the tensor is rounded with a scale from its own largest magnitude, as
/// Float8CurrentScaling does, without a wait for the device.
///
/// group: of the outermost region. Its ranks agree on the largest magnitudes of DelayedScaling; they must compute the
/// same products in the same order, and load the same state. `enabled` = false gives a plain bf16 region. With
/// `calibrating` as well, DelayedScaling notes the magnitudes of that region's inputs and weights, also without
/// recording: for scales before the first pass in float8. Inside the region, an AutocastGuard for the same device type
/// gives a plain region. A thread's guards must be destroyed in reverse order of their construction.
///
/// Throws StateError for options out of range, and for a DelayedScaling that differs from another one of the same
/// outermost region.
class Fp8AutocastGuard {
 public:
  [[nodiscard]] explicit Fp8AutocastGuard(DeviceType type, const Fp8Recipe& recipe = DelayedScaling(),
                                          bool enabled = true,
                                          const std::shared_ptr<distributed::ProcessGroup>& group = nullptr,
                                          bool calibrating = false);
  ~Fp8AutocastGuard();
  Fp8AutocastGuard(const Fp8AutocastGuard&) = delete;
  Fp8AutocastGuard& operator=(const Fp8AutocastGuard&) = delete;

 private:
  AutocastGuard autocast_;
  int exceptions_;                                  // in flight at the construction
  std::shared_ptr<WeightProductsScope> outermost_;  // null inside another region
  std::shared_ptr<WeightProductsScope> around_;     // the thread's scope before
};

/// Whether products with weights are computed in float8 on this thread, for this device type.
bool is_fp8_enabled(DeviceType type);

/// From now on, products with the parameters of `module` are computed in bf16 in regions of float8. Use it for layers
/// that lose accuracy, often the first and the last one. Not part of state_dict().
void exclude_from_fp8(const nn::Module& module);
/// The same for the submodules and parameters of `model` with these names, such as "head" or "head.weight". Throws
/// StateError for a name that `model` does not have.
void exclude_from_fp8(const nn::Module& model, const std::vector<std::string>& names);
/// Undoes exclude_from_fp8 for the parameters of `module`.
void include_in_fp8(const nn::Module& module);

template <class Contained>
void exclude_from_fp8(const nn::ModuleHolder<Contained>& module) {
  exclude_from_fp8(*module);
}
template <class Contained>
void exclude_from_fp8(const nn::ModuleHolder<Contained>& model, const std::vector<std::string>& names) {
  exclude_from_fp8(*model, names);
}
template <class Contained>
void include_in_fp8(const nn::ModuleHolder<Contained>& module) {
  include_in_fp8(*module);
}

}  // namespace tandem::amp
#pragma GCC visibility pop
