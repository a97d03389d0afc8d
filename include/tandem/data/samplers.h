#pragma once
// Samplers: the order in which a data loader asks for items.
#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/tensor/state_dict.h"
#include "tandem/tensor/tensor.h"

namespace tandem::data::samplers {

/// Base of samplers: an epoch's requests, one after the other.
template <class BatchRequest = std::vector<size_t>>
class Sampler {
 public:
  using BatchRequestType = BatchRequest;

  virtual ~Sampler() = default;
  /// Begins a new epoch, over `new_size` items from now on if given.
  virtual void reset(std::optional<size_t> new_size) = 0;
  void reset() { reset(std::nullopt); }
  /// The next request, of up to `batch_size` items; nullopt when the epoch is over. tandem's samplers throw
  /// OutOfMemoryError for one that does not fit into memory.
  virtual std::optional<BatchRequest> next(size_t batch_size) = 0;
};

/// A sampler whose position can be saved, and so that of its loader: `state_dict()`, and `load_state_dict(state)`,
/// which throws StateError, and changes nothing, for a state that does not fit. Copies must be independent of each
/// other.
template <class S>
concept StatefulSampler = std::copyable<S> && requires(S& sampler, const StateDict& state) {
  { std::as_const(sampler).state_dict() } -> std::same_as<StateDict>;
  sampler.load_state_dict(state);
};

/// 0, 1, 2, ...
class SequentialSampler : public Sampler<> {
 public:
  explicit SequentialSampler(size_t size) : size_(size) {}

  using Sampler<>::reset;
  void reset(std::optional<size_t> new_size) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  /// Items already given in this epoch.
  size_t index() const { return index_; }
  /// "size" and "index".
  StateDict state_dict() const;
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  StateCommit prepare_load_state_dict(const StateDict& state);

 private:
  size_t size_, index_ = 0;
};

/// A new random order in each epoch, drawn from the default generator: `manual_seed` makes it repeatable.
class RandomSampler : public Sampler<> {
 public:
  explicit RandomSampler(size_t size) : size_(size) {}

  using Sampler<>::reset;
  void reset(std::optional<size_t> new_size) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  size_t index() const { return index_; }
  /// "size", "index", and "order" once it is drawn.
  StateDict state_dict() const;
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  StateCommit prepare_load_state_dict(const StateDict& state);

 private:
  size_t size_, index_ = 0;
  Tensor order_;  ///< i64; drawn at the first reset() or next()
};

}  // namespace tandem::data::samplers
