#pragma once
// StreamSampler: requests a number of items instead of positions, for StreamDataset.
#include <cstddef>
#include <optional>

#include "tandem/data/samplers.h"

#pragma GCC visibility push(default)
namespace tandem::data::samplers {

/// Base class of requests that are not lists of indices; a loader asks for their size.
struct CustomBatchRequest {
  CustomBatchRequest() = default;
  CustomBatchRequest(const CustomBatchRequest&) = default;
  CustomBatchRequest& operator=(const CustomBatchRequest&) = default;
  virtual ~CustomBatchRequest() = default;
  /// Returns the number of items requested.
  virtual size_t size() const = 0;
};

/// A number of items; converts to it.
struct BatchSize : CustomBatchRequest {
  explicit BatchSize(size_t count) : size_(count) {}
  size_t size() const noexcept override { return size_; }
  operator size_t() const noexcept { return size_; }
  size_t size_;
};

/// Requests `epoch_size` items per epoch, batch by batch.
class StreamSampler : public Sampler<BatchSize> {
 public:
  explicit StreamSampler(size_t epoch_size) : size_(epoch_size) {}

  using Sampler<BatchSize>::reset;
  void reset(std::optional<size_t> new_size) override;
  std::optional<BatchSize> next(size_t batch_size) override;
  /// Entries: "size" and "index", the number of items already requested in this epoch.
  StateDict state_dict() const;
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  StateCommit prepare_load_state_dict(const StateDict& state);

 private:
  size_t size_, index_ = 0;
};

}  // namespace tandem::data::samplers
#pragma GCC visibility pop
