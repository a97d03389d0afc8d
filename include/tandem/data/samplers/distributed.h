#pragma once
// Samplers that divide the items of a dataset among processes that train together.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/data/samplers.h"

#pragma GCC visibility push(default)
namespace tandem::data::samplers {

/// Base class of samplers that give each of `num_replicas` processes an equal number of items. With allow_duplicates,
/// the first items of the order are repeated until they divide evenly; otherwise the last items of the order, fewer
/// than num_replicas, are left out.
template <class BatchRequest = std::vector<size_t>>
class DistributedSampler : public Sampler<BatchRequest> {
 public:
  DistributedSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true)
      : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {}

  /// Sets the number of the epoch, from which the order is drawn. Call it before the loader's begin(), with the same
  /// number in all processes; otherwise all epochs have the same order.
  void set_epoch(size_t epoch) { epoch_ = epoch; }
  size_t epoch() const { return epoch_; }

 protected:
  /// Returns the number of items of each process.
  size_t local_sample_count() const {
    const size_t even = size_ / num_replicas_;
    return allow_duplicates_ && size_ % num_replicas_ != 0 ? even + 1 : even;
  }

  size_t size_, num_replicas_, rank_, epoch_ = 0;
  bool allow_duplicates_;
};

namespace detail {

/// A distributed sampler whose state is its position and the epoch that its order was drawn for.
class DistributedOrder : public DistributedSampler<> {
 public:
  using DistributedSampler<>::reset;
  void reset(std::optional<size_t> new_size) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  /// Returns the position in the order of all processes.
  size_t index() const noexcept;
  /// Entries: "size", "index" (the number of items that this process has requested in this epoch), "epoch",
  /// "num_replicas", "rank" and "allow_duplicates". The order follows from them.
  StateDict state_dict() const;
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  /// Continues at the position of the state, which may be that of another rank: the ranks advance together, so that one
  /// file, saved by rank 0, serves all. Throws StateError for a sampler with another size or number of replicas.
  StateCommit prepare_load_state_dict(const StateDict& state);

 protected:
  /// Throws StateError unless rank < num_replicas.
  DistributedOrder(const char* name, bool shuffle, size_t size, size_t num_replicas, size_t rank,
                   bool allow_duplicates);

 private:
  void draw();

  const char* name_;
  bool shuffle_;
  size_t at_ = 0, drawn_epoch_ = 0;
  Tensor order_;  ///< i64, of all processes; undefined if not shuffled
};

}  // namespace detail

/// Requests this process's part of the items in an order that depends only on the epoch's number, see set_epoch(). The
/// numbers drawn differ from libtorch's.
class DistributedRandomSampler : public detail::DistributedOrder {
 public:
  DistributedRandomSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true)
      : DistributedOrder("DistributedRandomSampler", true, size, num_replicas, rank, allow_duplicates) {}
};

/// Requests this process's part of the items in order: the first process has the first items, and so on.
class DistributedSequentialSampler : public detail::DistributedOrder {
 public:
  DistributedSequentialSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true)
      : DistributedOrder("DistributedSequentialSampler", false, size, num_replicas, rank, allow_duplicates) {}
};

}  // namespace tandem::data::samplers
#pragma GCC visibility pop
