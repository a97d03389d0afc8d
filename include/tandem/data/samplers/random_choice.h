#pragma once
// Samplers that draw an order of their own for each epoch: WeightedRandomSampler and SubsetRandomSampler.
#include <cstddef>
#include <optional>
#include <vector>

#include "tandem/data/samplers.h"

#pragma GCC visibility push(default)
namespace tandem::data::samplers {

/// Base class of samplers that draw the order of a whole epoch at its beginning, from the default generator.
class OrderSampler : public Sampler<> {
 public:
  using Sampler<>::reset;
  /// Draws a new order. Throws StateError for a `new_size` that differs from size(): it is fixed by the constructor.
  void reset(std::optional<size_t> new_size) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  /// Returns the number of items in an epoch.
  size_t size() const { return size_; }
  /// Returns the number of items already requested in this epoch.
  size_t index() const { return index_; }
  /// Entries: "size", "index", and "order" once it has been drawn.
  StateDict state_dict() const;
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  StateCommit prepare_load_state_dict(const StateDict& state);

 protected:
  OrderSampler(const char* name, size_t size) : name_(name), size_(size) {}

 private:
  /// Returns the order of an epoch: i64 [size()], on the CPU.
  virtual Tensor draw() const = 0;
  /// Returns whether draw() could have returned this order.
  virtual bool can_draw(const Tensor& order) const = 0;

  const char* name_;
  size_t size_, index_ = 0;
  Tensor order_;  ///< drawn at the first reset() or next()
};

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
