#pragma once
// Delayed scaling of the tensors in products: where the states are kept, and when they are updated. Internal.
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tandem/amp/fp8/fp8_tensor.h"
#include "tandem/dist/process_group.h"
#include "tandem/tensor/weight_float8.h"

namespace tandem::amp::detail {

/// Rounds x with a scale, f32 [1]. `amax`, if defined, becomes the larger of itself and max |x|; if that is inf or NaN,
/// so is the inverse scale.
Fp8Tensor quantize_delayed(const Tensor& x, DType dtype, const Tensor& scale, const Tensor& amax);

/// The update of rows [first, first + dtypes.size()) of these states.
DelayedScalesCall delayed_update(const DelayedScaling& recipe, std::vector<Tensor> states, int64_t first,
                                 const std::vector<DType>& dtypes);

/// What is kept with a weight, with a state for this recipe on the weight's device. A state with another history length
/// is adapted.
std::shared_ptr<WeightFloat8> with_delayed_state(const Tensor& weight, const DelayedScaling& recipe);

/// Weights whose histories have grown, to be updated together. Used by several threads.
class DelayedUpdates {
 public:
  using Weights = std::vector<std::shared_ptr<WeightFloat8>>;

  void add(const DelayedScaling& recipe, const std::shared_ptr<WeightFloat8>& weight);
  /// Computes the scales of these roles, which have adjacent rows, with one call for each recipe and device, and
  /// forgets the weights. The ranks of `group`, if there is one, agree on the largest magnitudes first.
  void run(const std::vector<Fp8Role>& roles, distributed::ProcessGroup* group);

 private:
  struct Batch {
    DelayedScaling recipe;
    Weights weights;
  };
  std::mutex mutex_;
  std::vector<Batch> batches_;
};

/// An outermost region of a thread.
class DelayedIteration {
 public:
  DelayedIteration(std::shared_ptr<DelayedUpdates> gradients, std::shared_ptr<distributed::ProcessGroup> group);

  /// Differs for all iterations of the process.
  uint64_t number() const { return number_; }
  /// The scales of a state in this iteration, [3]: recomputation after the region's end finds them unchanged.
  Tensor scales(const Tensor& state);
  /// Computes the scale of gradients that the loaded state of a weight left to this iteration.
  void continue_restored(const DelayedScaling& recipe, const std::shared_ptr<WeightFloat8>& weight);
  /// Whether the region still lasts: later, histories belong to other iterations.
  bool is_open() const { return open_.load(std::memory_order_relaxed); }
  DelayedUpdates& forward() { return forward_; }
  DelayedUpdates& gradients() { return *gradients_; }
  /// Computes the scales of inputs and weights.
  void end();

 private:
  const uint64_t number_;
  std::mutex mutex_;
  std::unordered_map<const TensorImpl*, std::pair<Tensor, Tensor>> scales_;  ///< by state: it, and its scales
  DelayedUpdates forward_;
  std::shared_ptr<DelayedUpdates> gradients_;
  std::shared_ptr<distributed::ProcessGroup> group_;
  std::atomic<bool> open_{true};
};

}  // namespace tandem::amp::detail
