#pragma once
// Options of a data loader.
#include <chrono>
#include <cstddef>
#include <optional>

namespace tandem::data {

/// `DataLoaderOptions().batch_size(64).workers(2)`; a bare batch size converts.
class DataLoaderOptions {
 public:
  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}

  /// Items in a batch; the last one of an epoch may have fewer.
  DataLoaderOptions& batch_size(size_t value) { return batch_size_ = value, *this; }
  /// Threads that prepare batches ahead of the loop; 0: the loop's own thread does it when asked.
  DataLoaderOptions& workers(size_t value) { return workers_ = value, *this; }
  /// Batches prepared ahead; by default two for each worker.
  DataLoaderOptions& max_jobs(std::optional<size_t> value) { return max_jobs_ = value, *this; }
  /// How long to wait for a worker's batch before StateError; by default forever.
  DataLoaderOptions& timeout(std::optional<std::chrono::milliseconds> value) { return timeout_ = value, *this; }
  /// Whether batches come in the sampler's order; if not, in the order in which workers finish.
  DataLoaderOptions& enforce_ordering(bool value) { return enforce_ordering_ = value, *this; }
  /// Leaves out a last batch with fewer items.
  DataLoaderOptions& drop_last(bool value) { return drop_last_ = value, *this; }

  size_t batch_size() const { return batch_size_; }
  size_t workers() const { return workers_; }
  size_t max_jobs() const { return max_jobs_.value_or(2 * workers_); }
  std::optional<std::chrono::milliseconds> timeout() const { return timeout_; }
  bool enforce_ordering() const { return enforce_ordering_; }
  bool drop_last() const { return drop_last_; }

 private:
  size_t batch_size_ = 1, workers_ = 0;
  std::optional<size_t> max_jobs_;
  std::optional<std::chrono::milliseconds> timeout_;
  bool enforce_ordering_ = true, drop_last_ = false;
};

}  // namespace tandem::data
