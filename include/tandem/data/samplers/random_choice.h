#pragma once
// Samplers that draw an order of their own for each epoch: WeightedRandomSampler and SubsetRandomSampler.
#include <cstddef>
#include <optional>
#include <vector>

#include "tandem/data/samplers.h"

#pragma GCC visibility push(default)
namespace tandem::data::samplers {

/// Requests `num_samples` items per epoch, item i with a probability proportional to weights[i]. With replacement, an
/// item may come more than once per epoch: rare classes can be made as frequent as others.
class WeightedRandomSampler : public OrderSampler {
 public:
  /// Throws StateError unless the weights are finite and at least 0, and one is positive, for 0 samples, and for more
  /// samples than positive weights without replacement.
  WeightedRandomSampler(ArrayRef<double> weights, size_t num_samples, bool replacement = true);

 private:
  Tensor draw() const override;
  bool can_draw(const Tensor& order) const override;

  Tensor weights_;  ///< f64
  bool replacement_;
};

/// Requests the given items in a new random order in each epoch.
class SubsetRandomSampler : public OrderSampler {
 public:
  explicit SubsetRandomSampler(ArrayRef<size_t> indices);

 private:
  Tensor draw() const override;
  bool can_draw(const Tensor& order) const override;

  Tensor indices_;  ///< i64
};

}  // namespace tandem::data::samplers
#pragma GCC visibility pop
