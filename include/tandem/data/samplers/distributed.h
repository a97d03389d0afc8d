#pragma once
// Samplers that divide the items of a dataset among processes that train together.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/data/samplers.h"

#pragma GCC visibility push(default)
namespace tandem::data::samplers {

namespace detail {
/// Returns how many of `items` each process gets: rounded up if the first items may be repeated, otherwise down.
inline size_t items_per_process(size_t items, size_t num_replicas, bool allow_duplicates) {
  const size_t even = items / num_replicas;
  return allow_duplicates && items % num_replicas != 0 ? even + 1 : even;
}
}  // namespace detail

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
  size_t local_sample_count() const { return detail::items_per_process(size_, num_replicas_, allow_duplicates_); }

  size_t size_, num_replicas_, rank_, epoch_ = 0;
  bool allow_duplicates_;
};

namespace detail {

/// A division of items among processes, and how many of its items each process has requested.
struct Division {
  size_t num_replicas, requested;
  bool allow_duplicates;
};

/// A distributed sampler whose state is its position and the epoch that its order was drawn for.
class DistributedOrder : public DistributedSampler<> {
 public:
  using DistributedSampler<>::reset;
  void reset(std::optional<size_t> new_size) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  /// Returns the position in the order of all processes.
  size_t index() const noexcept;
  /// Entries: "size", "index" (the number of items that this process has requested of its part), "epoch",
  /// "num_replicas", "rank" and "allow_duplicates". The order follows from them. If the epoch was begun by other
  /// numbers of processes, also "past" [n, 3], i64: the num_replicas, index and allow_duplicates of each.
  StateDict state_dict() const;
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  /// Continues at the position of the state, which may be that of another rank: the ranks advance together, so that one
  /// file, saved by rank 0, serves all. For another number of processes, the items that none of the former ones has
  /// requested are divided among these: each item is requested in the epoch just as without a restart. Throws
  /// StateError for a sampler with another size.
  StateCommit prepare_load_state_dict(const StateDict& state);

 protected:
  /// Throws StateError unless rank < num_replicas.
  DistributedOrder(const char* name, bool shuffle, size_t size, size_t num_replicas, size_t rank,
                   bool allow_duplicates);

 private:
  void draw();
  /// The items to divide: all, or in an epoch that was begun by others, those that were left.
  size_t items() const { return order_.defined() ? static_cast<size_t>(order_.numel()) : size_; }
  size_t local_items() const { return items_per_process(items(), num_replicas_, allow_duplicates_); }

  const char* name_;
  bool shuffle_;
  size_t at_ = 0, drawn_epoch_ = 0;
  std::vector<Division> past_;  ///< of this epoch
  Tensor order_;                ///< i64, of all processes; undefined if it is that of the dataset
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
