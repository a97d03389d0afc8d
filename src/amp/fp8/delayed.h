#pragma once
// Delayed scaling of the tensors in products: where the states are kept, and when they are updated. Internal.
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/amp/fp8/fp8_tensor.h"
#include "tandem/distributed/process_group.h"
#include "tandem/ops/weight_products.h"
#include "tandem/tensor/weight_float8.h"

namespace tandem::amp::detail {

/// Rounds x with a scale, f32 [1], or with one from its own largest magnitude if that does not fit x
/// (math::float8_scale_fits). `amax`, if defined, becomes the larger of itself and max |x|. If that, or x, has an inf
/// or NaN, the inverse scale is NaN.
Fp8Tensor quantize_delayed(const Tensor& x, DType dtype, const Tensor& scale, const Tensor& amax);

/// The update of rows [first, first + dtypes.size()) of these states.
DelayedScalesCall delayed_update(const DelayedScaling& recipe, std::vector<Tensor> states, int64_t first,
                                 const std::vector<DType>& dtypes);

using Weight = std::shared_ptr<WeightFloat8>;
using Group = std::shared_ptr<distributed::ProcessGroup>;

/// What is kept with a weight, with a state on the weight's device. If `adapts`, its histories have the recipe's
/// length.
Weight with_delayed_state(const Tensor& weight, const DelayedScaling& recipe, bool adapts);

/// Weights whose histories have grown, to be updated together. Used by several threads.
class DelayedUpdates {
 public:
  /// Replaces what was added for this weight before.
  void add(const DelayedScaling& recipe, const Weight& weight, const Group& group);
  /// Computes the scales of these roles, which have adjacent rows, with one call for each recipe and device, and
  /// forgets the weights. The ranks of `group` agree on the magnitudes of weights that were added with it. For
  /// gradients, weights whose gradient was not noted are left out. Of several errors, throws the first, after the other
  /// updates; magnitudes that were not used are dropped.
  void run(const std::vector<Fp8Role>& roles, const Group& group);
  /// Forgets the weights, and drops the magnitudes of these roles.
  void discard(const std::vector<Fp8Role>& roles);

 private:
  struct Entry {
    DelayedScaling recipe;
    Weight weight;
    std::weak_ptr<distributed::ProcessGroup> group;
  };
  std::vector<Entry> take();

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

/// An outermost region, with the regions inside.
class DelayedIteration final : public WeightProductsScope {
 public:
  /// `notes`: whether histories grow.
  DelayedIteration(std::shared_ptr<DelayedUpdates> gradients, Group group, bool notes);

  /// Unique in the process; never 0.
  uint64_t number() const { return number_; }
  /// All regions of an iteration have one DelayedScaling. Throws StateError for another.
  void check(const DelayedScaling& recipe);
  /// What is kept with a weight, with a state. If the history has a gradient of an earlier iteration from which the
  /// scale was not computed, computes it: the state was loaded, another thread noted it, or the backward of an earlier
  /// region ran inside this one.
  Weight begin(const Tensor& weight, const DelayedScaling& recipe);
  /// The scales of a state in this iteration, [3]: recomputation after the region's end finds them unchanged.
  Tensor scales(const Tensor& state);
  /// Whether the largest magnitudes of inputs and weights are noted: later, histories belong to other iterations.
  bool notes_forward() const { return notes_ && is_open(); }
  bool notes_gradients() const { return notes_; }
  /// To be called when the largest magnitude of a tensor with this role was noted.
  void noted(const DelayedScaling& recipe, const Weight& weight, Fp8Role role);
  bool is_open() const { return open_.load(std::memory_order_relaxed); }
  /// Computes the scales of inputs and weights.
  void end();
  /// Ends without computing scales, and drops the magnitudes.
  void abandon();

 private:
  const uint64_t number_;
  std::mutex mutex_;
  std::optional<DelayedScaling> recipe_;
  std::unordered_map<const TensorImpl*, std::pair<Tensor, Tensor>> scales_;  ///< by state: it, and its scales
  DelayedUpdates forward_;
  std::shared_ptr<DelayedUpdates> gradients_;
  Group group_;
  const bool notes_;
  std::atomic<bool> open_{true};
};

}  // namespace tandem::amp::detail
