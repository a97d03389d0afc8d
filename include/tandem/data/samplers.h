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
namespace tandem::serialize {
class InputArchive;
class OutputArchive;
}  // namespace tandem::serialize

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
  /// Write the position to an archive, and read it (io/archive.h). Throw NotImplementedError unless overridden.
  virtual void save(serialize::OutputArchive& /*archive*/) const {
    throw NotImplementedError("save", "this sampler has no save(); override it");
  }
  virtual void load(serialize::InputArchive& /*archive*/) {
    throw NotImplementedError("load", "this sampler has no load(); override it");
  }
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
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  size_t size_, index_ = 0;
};

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
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 protected:
  OrderSampler(const char* name, size_t size) : name_(name), size_(size) {}
  /// Sets the number of items, for constructors of derived classes.
  void set_size(size_t size) { size_ = size; }

 private:
  /// Returns the order of an epoch: i64 [size()], on the CPU.
  virtual Tensor draw() const = 0;
  /// Returns whether draw() could have returned this order.
  virtual bool can_draw(const Tensor& order) const = 0;

  const char* name_;
  size_t size_, index_ = 0;
  Tensor order_;  ///< drawn at the first reset() or next()
};

/// Requests the items in a new random order in each epoch: `manual_seed` makes it repeatable.
class RandomSampler : public OrderSampler {
 public:
  explicit RandomSampler(size_t size) : OrderSampler("RandomSampler", size) {}
  using OrderSampler::reset;
  void reset(std::optional<size_t> new_size) override;

 private:
  Tensor draw() const override;
  bool can_draw(const Tensor& order) const override;
};

}  // namespace tandem::data::samplers
#pragma GCC visibility pop
