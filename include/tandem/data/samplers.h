#pragma once
// Samplers: choose the order in which a data loader requests items.
#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/tensor/state_dict.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::data::samplers {

/// Base class of samplers, which return the requests of an epoch one after another.
template <class BatchRequest = std::vector<size_t>>
class Sampler {
 public:
  using BatchRequestType = BatchRequest;

  virtual ~Sampler() = default;
  /// Begins a new epoch. If `new_size` is given, this and later epochs have that many items.
  virtual void reset(std::optional<size_t> new_size) = 0;
  void reset() { reset(std::nullopt); }
  /// Returns the next request, of up to `batch_size` items; nullopt at the end of the epoch. tandem's samplers throw
  /// OutOfMemoryError if a request does not fit into memory.
  virtual std::optional<BatchRequest> next(size_t batch_size) = 0;
};

/// A sampler whose position can be saved, so that its loader's can be saved too. It has `state_dict()` and
/// `load_state_dict(state)`, which throws StateError, and changes nothing, for a state that does not fit. Copies must
/// be independent of each other.
template <class S>
concept StatefulSampler = std::copyable<S> && requires(S& sampler, const StateDict& state) {
  { std::as_const(sampler).state_dict() } -> std::same_as<StateDict>;
  sampler.load_state_dict(state);
};

/// Requests the items in order: 0, 1, 2, ...
class SequentialSampler : public Sampler<> {
 public:
  explicit SequentialSampler(size_t size) : size_(size) {}

  using Sampler<>::reset;
  void reset(std::optional<size_t> new_size) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  /// Returns the number of items already requested in this epoch.
  size_t index() const { return index_; }
  /// Entries: "size" and "index".
  StateDict state_dict() const;
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  StateCommit prepare_load_state_dict(const StateDict& state);

 private:
  size_t size_, index_ = 0;
};

/// Requests the items in a new random order in each epoch, drawn from the default generator: `manual_seed` makes it
/// repeatable.
class RandomSampler : public Sampler<> {
 public:
  explicit RandomSampler(size_t size) : size_(size) {}

  using Sampler<>::reset;
  void reset(std::optional<size_t> new_size) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  size_t index() const { return index_; }
  /// Entries: "size", "index", and "order" once it has been drawn.
  StateDict state_dict() const;
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  StateCommit prepare_load_state_dict(const StateDict& state);

 private:
  size_t size_, index_ = 0;
  Tensor order_;  ///< i64; drawn at the first reset() or next()
};

}  // namespace tandem::data::samplers
#pragma GCC visibility pop
