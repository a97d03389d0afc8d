#pragma once
// BatchSampler: gives batches of its own size, whatever the loader asks for.
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/data/samplers.h"

#pragma GCC visibility push(default)
namespace tandem::data::samplers {

/// Batches of `batch_size` items in the order of another sampler. The batch_size and drop_last of the loader's options
/// then have no effect on the batches: leave them at their defaults. For batches of unequal sizes, derive from
/// Sampler<> and return any number of indices from next().
template <class S>
class BatchSampler : public Sampler<typename S::BatchRequestType> {
 public:
  /// Throws StateError for a batch size of 0.
  BatchSampler(S sampler, size_t batch_size, bool drop_last)
      : sampler_(std::move(sampler)), batch_size_(batch_size), drop_last_(drop_last) {
    if (batch_size == 0) throw StateError("BatchSampler", "batch_size is 0; it must be at least 1");
  }

  using Sampler<typename S::BatchRequestType>::reset;
  void reset(std::optional<size_t> new_size) override { sampler_.reset(new_size); }
  std::optional<typename S::BatchRequestType> next(size_t /*batch_size*/) override {
    auto request = sampler_.next(batch_size_);
    if (request && drop_last_ && request->size() < batch_size_) request.reset();
    return request;
  }
  /// The state of the other sampler.
  StateDict state_dict() const requires StatefulSampler<S> { return sampler_.state_dict(); }
  void load_state_dict(const StateDict& state) requires StatefulSampler<S> { sampler_.load_state_dict(state); }

 private:
  S sampler_;
  size_t batch_size_;
  bool drop_last_;
};

}  // namespace tandem::data::samplers
#pragma GCC visibility pop
