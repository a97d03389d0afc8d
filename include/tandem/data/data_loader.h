#pragma once
// DataLoader: iterates over a dataset in batches, in the order of a sampler. Optionally, worker threads prepare the
// batches, and the batches are copied to a device ahead of the loop.
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "tandem/base/error.h"
#include "tandem/data/batch_tensors.h"
#include "tandem/data/data_loader_options.h"
#include "tandem/data/dataset.h"
#include "tandem/data/device_prefetch.h"
#include "tandem/data/loader_state.h"
#include "tandem/data/samplers.h"
#include "tandem/data/worker_pool.h"

#pragma GCC visibility push(default)
namespace tandem::data {

/// `for (auto& batch : *loader)`: each begin() starts a new epoch, for which the sampler chooses a new order, and drops
/// the rest of the last epoch. With enforce_ordering, batches and their order do not depend on the number of workers.
/// An exception of the dataset leaves begin() or ++ unchanged; the loader stays usable.
template <class Dataset, class Sampler>
class DataLoader {
 public:
  using BatchType = typename Dataset::BatchType;
  using BatchRequestType = typename Sampler::BatchRequestType;

  /// Throws StateError for a batch size of 0, a negative timeout, more workers or max_jobs than the options allow, more
  /// workers than the system can start threads, workers with a dataset that cannot be copied, and pin_memory or
  /// prefetch_to with a batch type whose tensors cannot be found. Throws DeviceError if there is no such device.
  DataLoader(Dataset dataset, Sampler sampler, DataLoaderOptions options)
      : options_(options), sampler_(std::move(sampler)), dataset_(std::move(dataset)) {
    detail::check_options(options_);
    if (!detail::has_tensors<BatchType>() && (options_.pin_memory() || options_.prefetch_to())) {
      throw StateError("DataLoader",
                       "pin_memory and prefetch_to must find the tensors of a batch; give the batch type a member "
                       "function void for_each_tensor(const data::TensorVisitor& visit)");
    }
    device_ = detail::DevicePrefetch::make(options_);
    if (options_.workers() == 0) return;
    if constexpr (std::is_copy_constructible_v<Dataset>) {
      pool_ = std::make_unique<detail::WorkerPool>(options_.enforce_ordering());
      for (size_t i = 0; i < options_.workers(); ++i) {
        pool_->add_worker([dataset = dataset_, device = device_.get()](void* request) mutable -> std::shared_ptr<void> {
          auto& indices = *static_cast<BatchRequestType*>(request);
          return std::make_shared<BatchType>(pinned(dataset.get_batch(std::move(indices)), device));
        });
      }
    } else {
      throw StateError("DataLoader",
                       "each worker needs its own copy of the dataset, which cannot be copied; use workers(0)");
    }
  }

  /// The loader's position in its epoch. All iterators of a loader share it and move together.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = BatchType;
    using difference_type = std::ptrdiff_t;
    using pointer = BatchType*;
    using reference = BatchType&;

    explicit Iterator(DataLoader* loader = nullptr) : loader_(loader) {}
    /// Throws StateError if there is no batch: at the end of the epoch, or after an exception.
    reference operator*() const {
      if (at_end()) throw StateError("DataLoader", "cannot dereference end(); begin() starts the next epoch");
      return *loader_->batch_;
    }
    pointer operator->() const { return &**this; }
    /// Advances to the next batch, also after an exception.
    Iterator& operator++() {
      if (!loader_) throw StateError("DataLoader", "cannot increment end(); begin() starts the next epoch");
      loader_->advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_end() == b.at_end(); }

   private:
    bool at_end() const { return !loader_ || !loader_->batch_; }
    DataLoader* loader_;
  };

  Iterator begin() {
    if (!resumed_) {
      drop_batches();
      sampler_.reset();
      if constexpr (samplers::StatefulSampler<Sampler>) epoch_start_ = sampler_.state_dict();
    }
    resumed_ = false;
    in_epoch_ = true;
    advance();
    return Iterator(this);
  }
  Iterator end() { return Iterator(); }

  const DataLoaderOptions& options() const { return options_; }

  /// Returns the position in the epoch, regardless of what workers have prepared ahead: the sampler's state at the
  /// start of the epoch ("sampler.order" and so on), and the number of batches that the loop has had, including the
  /// current one. Between epochs the state contains neither. A loop left by `break` is still in its epoch. Throws
  /// StateError in an epoch whose batches have no defined order (enforce_ordering(false) with workers).
  StateDict state_dict() const requires samplers::StatefulSampler<Sampler> {
    return detail::write_loader_state(options_, {in_epoch_, batches_taken()}, epoch_start_);
  }
  /// Restores that position: the next begin() continues with the batch after the saved one instead of starting an
  /// epoch. Throws StateError, and changes nothing, for a state with another batch_size, drop_last or number of items.
  void load_state_dict(const StateDict& state) requires samplers::StatefulSampler<Sampler> {
    prepare_load_state_dict(state)();
  }
  StateCommit prepare_load_state_dict(const StateDict& state) requires samplers::StatefulSampler<Sampler> {
    const detail::LoaderPosition position = detail::read_loader_state(options_, state);
    Sampler sampler = sampler_;
    if (position.in_epoch) {
      sampler.load_state_dict(state_below(state, "sampler"));
      for (uint64_t i = 0; i < position.batches; ++i) {
        if (!next_request(sampler)) detail::throw_position_past_end(i, position.batches);
      }
    }
    return [this, position, sampler, start = state_below(state, "sampler")] {
      drop_batches();
      sampler_ = sampler;
      epoch_start_ = start;
      requested_ = position.batches;
      in_epoch_ = resumed_ = position.in_epoch;
    };
  }

 private:
  std::optional<BatchRequestType> next_request(Sampler& sampler) const {
    std::optional<BatchRequestType> request = sampler.next(options_.batch_size());
    if (request && options_.drop_last() && request->size() < options_.batch_size()) request.reset();
    return request;
  }
  std::optional<BatchRequestType> next_request() {
    std::optional<BatchRequestType> request = next_request(sampler_);
    if (request) ++requested_;
    return request;
  }

  uint64_t batches_taken() const {
    return requested_ - (pool_ ? pool_->outstanding() : 0) - (ahead_ && !ahead_->is_end() ? 1 : 0);
  }

  void drop_batches() {
    batch_.reset();
    ahead_.reset();
    if (pool_) pool_->reset();
    requested_ = 0;
  }

  void prefetch() {
    const size_t most = options_.max_jobs() > 0 ? options_.max_jobs() : 1;
    while (pool_->outstanding() < most) {
      std::optional<BatchRequestType> request = next_request();
      if (!request) return;
      pool_->push(std::make_shared<BatchRequestType>(std::move(*request)));
    }
  }

  static BatchType pinned(BatchType batch, const detail::DevicePrefetch* device) {
    if (device) detail::for_each_tensor(batch, [device](Tensor& t) { device->pin(t); });
    return batch;
  }

  /// Returns the next batch on the host; nullopt at the end of the epoch.
  std::optional<BatchType> load() {
    if (!pool_) {
      std::optional<BatchRequestType> request = next_request();
      if (!request) return std::nullopt;
      return pinned(dataset_.get_batch(std::move(*request)), device_.get());
    }
    prefetch();
    if (pool_->outstanding() == 0) return std::nullopt;
    std::optional<BatchType> batch = std::move(*static_cast<BatchType*>(pool_->pop(options_.timeout()).get()));
    prefetch();
    return batch;
  }

  /// A batch on its way to the device, the end of the epoch, or the exception that the dataset threw instead.
  struct Ahead {
    std::optional<BatchType> batch;
    std::exception_ptr error;
    bool is_end() const { return !batch && !error; }
  };
  Ahead send() {
    Ahead next;
    try {
      next.batch = load();
      if (!next.batch) return next;
      detail::for_each_tensor(*next.batch, [this](Tensor& t) { device_->send(t); });
      device_->sent();
    } catch (...) {
      next = {std::nullopt, std::current_exception()};
    }
    return next;
  }

  void advance() {
    batch_.reset();  // frees its memory for reuse by the next batch
    if (!device_ || !device_->copies()) {
      batch_ = load();
      in_epoch_ = batch_.has_value();
      return;
    }
    Ahead now = ahead_ ? std::move(*ahead_) : send();
    ahead_.reset();
    if (now.error) std::rethrow_exception(now.error);
    in_epoch_ = now.batch.has_value();
    if (!in_epoch_) return;
    device_->wait();
    detail::for_each_tensor(*now.batch, [this](Tensor& t) { device_->receive(t); });
    batch_ = std::move(now.batch);
    if (!pool_ || pool_->ready()) ahead_ = send();  // a late worker must not delay the current batch
  }

  DataLoaderOptions options_;
  Sampler sampler_;
  Dataset dataset_;
  std::optional<BatchType> batch_;
  std::unique_ptr<detail::DevicePrefetch> device_;  ///< null: batches stay as the dataset returns them
  std::optional<Ahead> ahead_;
  StateDict epoch_start_;                     // the sampler's state at the start of the epoch
  uint64_t requested_ = 0;                    // batches requested from the sampler in this epoch
  bool in_epoch_ = false;                     // an epoch has begun, and the loop has not reached its end
  bool resumed_ = false;                      // the epoch was begun by load_state_dict
  std::unique_ptr<detail::WorkerPool> pool_;  // last: its threads use the other members
};

/// Returns a loader with the given sampler.
template <class Dataset, class Sampler>
requires(!std::is_convertible_v<Sampler, DataLoaderOptions>)
    std::unique_ptr<DataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset, Sampler sampler,
                                                                   DataLoaderOptions options = {}) {
  return std::make_unique<DataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler), options);
}

/// Returns a loader whose sampler is made from the dataset's size: `make_data_loader(dataset, 64)` shuffles,
/// `make_data_loader<samplers::SequentialSampler>(dataset, 64)` does not. Throws StateError if the size is unknown.
template <class Sampler = samplers::RandomSampler, class Dataset>
std::unique_ptr<DataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset, DataLoaderOptions options = {}) {
  const std::optional<size_t> size = dataset.size();
  if (!size) throw StateError("make_data_loader", "the dataset has no size; pass a sampler");
  return make_data_loader(std::move(dataset), Sampler(*size), options);
}

}  // namespace tandem::data
#pragma GCC visibility pop
