#pragma once
// DataLoaderOptions: the options of a data loader.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "tandem/base/device.h"

#pragma GCC visibility push(default)
namespace tandem::data {

/// Options of a data loader, as in `DataLoaderOptions().batch_size(64).workers(2)`. Converts from a bare batch size.
class DataLoaderOptions {
 public:
  /// The maximum numbers of workers and of batches prepared ahead.
  static constexpr size_t kMaxWorkers = 4096, kMaxJobs = size_t{1} << 20;

  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}

  /// Number of items in a batch; the last batch of an epoch may have fewer.
  DataLoaderOptions& batch_size(size_t value) { return batch_size_ = value, *this; }
  /// Number of threads that prepare batches ahead of the loop; 0: the loop's own thread prepares each batch on demand.
  DataLoaderOptions& workers(size_t value) { return workers_ = value, *this; }
  /// Number of batches prepared ahead by workers; by default two per worker.
  DataLoaderOptions& max_jobs(std::optional<size_t> value) { return max_jobs_ = value, *this; }
  /// How long to wait for a worker's batch before StateError is thrown; by default forever. `value` is a <chrono>
  /// duration in whole milliseconds or a coarser unit; the type is a template parameter because <chrono> is slow to
  /// compile. A longer duration counts as INT64_MAX milliseconds: `std::chrono::hours::max()` means forever.
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
  /// Whether batches keep the sampler's order. If false, they come in the order in which workers finish.
  DataLoaderOptions& enforce_ordering(bool value) { return enforce_ordering_ = value, *this; }
  /// Whether to omit a last batch with fewer items.
  DataLoaderOptions& drop_last(bool value) { return drop_last_ = value, *this; }

  /// Whether to copy batches to page-locked memory, from which `to(device, non_blocking)` runs asynchronously to the
  /// host. Has no effect without a CUDA device. The batch type must give access to its tensors, see
  /// data/batch_tensors.h.
  DataLoaderOptions& pin_memory(bool value) { return pin_memory_ = value, *this; }
  /// The device to which batches are copied. While the loop works on one batch, the next is copied from page-locked
  /// memory on a separate stream; only the stream of the loop's kernels waits for that copy, the host does not. Batches
  /// and their order stay the same; without workers, the dataset is asked for each batch one step ahead. Has no effect
  /// for the CPU. The batch type must give access to its tensors, as for pin_memory.
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

/// All options as plain values, with max_jobs filled in.
struct FullDataLoaderOptions {
  explicit FullDataLoaderOptions(const DataLoaderOptions& options)
      : batch_size(options.batch_size()),
        workers(options.workers()),
        max_jobs(options.max_jobs()),
        timeout(options.timeout()),
        enforce_ordering(options.enforce_ordering()),
        drop_last(options.drop_last()) {}

  size_t batch_size, workers, max_jobs;
  std::optional<int64_t> timeout;  ///< in milliseconds
  bool enforce_ordering, drop_last;
};

namespace detail {
/// Throws StateError for invalid options.
void check_options(const DataLoaderOptions& options);
}  // namespace detail

}  // namespace tandem::data
#pragma GCC visibility pop
