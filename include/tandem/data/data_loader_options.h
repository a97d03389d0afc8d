#pragma once
// Options of a data loader.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "tandem/base/device.h"

namespace tandem::data {

/// `DataLoaderOptions().batch_size(64).workers(2)`; a bare batch size converts.
class DataLoaderOptions {
 public:
  /// The most workers, and the most batches prepared ahead, that a loader takes.
  static constexpr size_t kMaxWorkers = 4096, kMaxJobs = size_t{1} << 20;

  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}

  /// Items in a batch; the last one of an epoch may have fewer.
  DataLoaderOptions& batch_size(size_t value) { return batch_size_ = value, *this; }
  /// Threads that prepare batches ahead of the loop; 0: the loop's own thread does it when asked.
  DataLoaderOptions& workers(size_t value) { return workers_ = value, *this; }
  /// Batches prepared ahead; by default two for each worker.
  DataLoaderOptions& max_jobs(std::optional<size_t> value) { return max_jobs_ = value, *this; }
  /// How long to wait for a worker's batch before StateError; by default forever. A duration of <chrono> in whole
  /// milliseconds or coarser (the type is open because that header is a costly one). One of more than INT64_MAX
  /// milliseconds counts as that many: `std::chrono::hours::max()` is forever.
  template <class Duration>
  DataLoaderOptions& timeout(Duration value) {
    using Period = typename Duration::period;
    static_assert(1000 * Period::num % Period::den == 0, "give the timeout in milliseconds or a coarser unit");
    static_assert(std::is_integral_v<typename Duration::rep>, "give the timeout as a whole number of its unit");
    int64_t ms = 0;
    if (__builtin_mul_overflow(value.count(), static_cast<int64_t>(1000 * Period::num / Period::den), &ms)) {
      ms = value.count() < 0 ? INT64_MIN : INT64_MAX;
    }
    return timeout_ms_ = ms, *this;
  }
  DataLoaderOptions& timeout(std::nullopt_t) { return timeout_ms_.reset(), *this; }
  /// Whether batches come in the sampler's order; if not, in the order in which workers finish.
  DataLoaderOptions& enforce_ordering(bool value) { return enforce_ordering_ = value, *this; }
  /// Leaves out a last batch with fewer items.
  DataLoaderOptions& drop_last(bool value) { return drop_last_ = value, *this; }

  /// Batches lie in page-locked memory, from which `to(device, non_blocking)` runs beside the host's work. Does nothing
  /// where no CUDA device is. Needs a batch whose tensors can be found, see data/batch_tensors.h.
  DataLoaderOptions& pin_memory(bool value) { return pin_memory_ = value, *this; }
  /// Batches arrive on this device: while the loop works on one, the next is copied from page-locked memory on a stream
  /// of its own, and neither the host nor the stream of the loop's kernels waits for more than that copy. Batches and
  /// their order stay the same; without workers a dataset is asked for a batch one step ahead. Nothing happens for the
  /// CPU. Needs a batch as pin_memory does.
  DataLoaderOptions& prefetch_to(std::optional<Device> value) { return prefetch_to_ = value, *this; }
  DataLoaderOptions& prefetch_to(DeviceType value) { return prefetch_to(std::optional<Device>(Device(value))); }

  size_t batch_size() const { return batch_size_; }
  size_t workers() const { return workers_; }
  size_t max_jobs() const { return max_jobs_.value_or(2 * workers_); }
  /// In milliseconds.
  std::optional<int64_t> timeout() const { return timeout_ms_; }
  bool enforce_ordering() const { return enforce_ordering_; }
  bool drop_last() const { return drop_last_; }
  bool pin_memory() const { return pin_memory_; }
  std::optional<Device> prefetch_to() const { return prefetch_to_; }

 private:
  size_t batch_size_ = 1, workers_ = 0;
  std::optional<size_t> max_jobs_;
  std::optional<int64_t> timeout_ms_;
  std::optional<Device> prefetch_to_;
  bool enforce_ordering_ = true, drop_last_ = false, pin_memory_ = false;
};

namespace detail {
/// Throws StateError for options that no loader can have.
void check_options(const DataLoaderOptions& options);
}  // namespace detail

}  // namespace tandem::data
