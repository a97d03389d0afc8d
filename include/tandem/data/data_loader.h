#pragma once
// DataLoader: iterates over a dataset in batches, in the order of a sampler. Optionally, worker threads prepare the
// batches, and the batches are copied to a device ahead of the loop.
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "tandem/base/error.h"
#include "tandem/base/macros.h"
#include "tandem/data/data_loader_base.h"
#include "tandem/data/dataset.h"
#include "tandem/data/loader_state.h"
#include "tandem/data/samplers.h"
#include "tandem/data/worker_pool.h"

#pragma GCC visibility push(default)
namespace tandem::data {

/// `for (auto& batch : *loader)`: each begin() starts a new epoch, for which the sampler chooses a new order, and drops
/// the rest of the last epoch. With enforce_ordering, batches and their order do not depend on the number of workers:
/// for a dataset that is_random(), each epoch draws a seed from the default generator, and each batch has a stream of
/// random numbers of its own. An exception of the dataset leaves begin() or ++ unchanged; the loader stays usable.
template <class Dataset, class Sampler>
class DataLoader : public DataLoaderBase<typename Dataset::BatchType> {
  using Base = DataLoaderBase<typename Dataset::BatchType>;

 public:
  using BatchType = typename Dataset::BatchType;
  using BatchRequestType = typename Sampler::BatchRequestType;
  using Iterator = data::Iterator<BatchType>;
  /// Whether the position can be saved: the sampler has a state, and the dataset answers for positions.
  static constexpr bool kResumable =
      samplers::StatefulSampler<Sampler> && !std::is_same_v<typename Dataset::BatchRequestType, size_t>;

  /// Throws StateError for a batch size of 0, a negative timeout, more workers or max_jobs than the options allow, more
  /// workers than the system can start threads, workers with a dataset that cannot be copied, and pin_memory or
  /// prefetch_to with a batch type whose tensors cannot be found. Throws DeviceError if there is no such device.
  DataLoader(Dataset dataset, Sampler sampler, DataLoaderOptions options)
      : Base(options), sampler_(std::move(sampler)), dataset_(std::move(dataset)) {
    if (options.workers() == 0) return;
    if constexpr (std::is_copy_constructible_v<Dataset>) {
      pool_ = std::make_unique<detail::WorkerPool>(options.enforce_ordering());
      for (size_t i = 0; i < options.workers(); ++i) {
        pool_->add_worker(
            [dataset = dataset_, device = this->device()](void* request) mutable -> std::shared_ptr<void> {
              auto& job = *static_cast<Job*>(request);
              const detail::BatchSeed seed(job.epoch_seed, job.batch, /*in_worker=*/true);
              return std::make_shared<BatchType>(Base::pinned(dataset.get_batch(std::move(job.request)), device));
            });
      }
    } else {
      throw StateError("DataLoader",
                       "each worker needs its own copy of the dataset, which cannot be copied; use workers(0)");
    }
  }

  /// The sampler, for calls between epochs: `loader->sampler().set_epoch(epoch)`.
  Sampler& sampler() { return sampler_; }

  /// Returns the position in the epoch, regardless of what workers have prepared ahead: the sampler's state after the
  /// current batch ("sampler.order" and so on), the epoch's seed if the dataset is random, and the number of batches
  /// that the loop has had, including the current one. Between epochs the state contains none of these. A loop left by
  /// `break` is still in its epoch. Throws StateError in an epoch whose batches have no defined order
  /// (enforce_ordering(false) with workers).
  StateDict state_dict() const requires kResumable {
    return detail::write_loader_state(this->options(), {this->in_epoch(), batches_taken(), epoch_seed_}, "sampler",
                                      this->in_epoch() ? sampler_after_batches() : StateDict());
  }
  /// Restores that position: the next begin() continues with the item after the saved batch instead of starting an
  /// epoch, also with another batch size. Throws StateError, and changes nothing, for a state that the sampler refuses.
  void load_state_dict(const StateDict& state) requires kResumable { prepare_load_state_dict(state)(); }
  StateCommit prepare_load_state_dict(const StateDict& state) requires kResumable {
    const detail::LoaderPosition position = detail::read_loader_state(state, "sampler", dataset_.is_random());
    Sampler sampler = sampler_;
    if (position.in_epoch) sampler.load_state_dict(state_below(state, "sampler"));
    return [this, position, sampler] {
      drop_batches();
      sampler_ = sampler;
      start_ = sampler.state_dict();
      epoch_seed_ = position.seed;
      start_batches_ = requested_ = position.batches;
      this->resume(position.in_epoch);
    };
  }

 private:
  struct Job {
    BatchRequestType request;
    std::optional<uint64_t> epoch_seed;
    uint64_t batch;
  };

  std::optional<BatchRequestType> next_request(Sampler& sampler) const {
    std::optional<BatchRequestType> request = sampler.next(this->options().batch_size());
    if (request && this->options().drop_last() && request->size() < this->options().batch_size()) request.reset();
    return request;
  }
  std::optional<BatchRequestType> next_request() {
    std::optional<BatchRequestType> request = next_request(sampler_);
    if (request) ++requested_;
    return request;
  }

  StateDict sampler_after_batches() const {
    Sampler sampler = sampler_;
    sampler.load_state_dict(start_);
    for (uint64_t i = start_batches_; i < batches_taken(); ++i) next_request(sampler);
    return sampler.state_dict();
  }
  uint64_t batches_taken() const { return requested_ - (pool_ ? pool_->outstanding() : 0) - this->sent_ahead(); }

  void drop_batches() {
    if (pool_) pool_->reset();
    start_batches_ = requested_ = 0;
  }

  void start_epoch() override {
    drop_batches();
    sampler_.reset(std::nullopt);  // a program's sampler may hide reset()
    if constexpr (samplers::StatefulSampler<Sampler>) start_ = sampler_.state_dict();
    if (dataset_.is_random()) epoch_seed_ = detail::draw_epoch_seed();
  }

  void prefetch() {
    const size_t most = this->options().max_jobs() > 0 ? this->options().max_jobs() : 1;
    while (pool_->outstanding() < most) {
      std::optional<BatchRequestType> request = next_request();
      if (!request) return;
      pool_->push(std::make_shared<Job>(Job{std::move(*request), epoch_seed_, requested_}));
    }
  }

  std::optional<BatchType> load() override {
    if (!pool_) {
      std::optional<BatchRequestType> request = next_request();
      if (!request) return std::nullopt;
      const detail::BatchSeed seed(epoch_seed_, requested_, /*in_worker=*/false);
      return Base::pinned(dataset_.get_batch(std::move(*request)), this->device());
    }
    prefetch();
    if (pool_->outstanding() == 0) return std::nullopt;
    std::optional<BatchType> batch = std::move(*static_cast<BatchType*>(pool_->pop(this->options().timeout()).get()));
    prefetch();
    return batch;
  }
  bool ready() const override { return !pool_ || pool_->ready(); }

  Sampler sampler_;
  Dataset dataset_;
  StateDict start_;                           // the sampler's state when the epoch began or was resumed
  uint64_t start_batches_ = 0;                // batches of the epoch before that
  std::optional<uint64_t> epoch_seed_;        // of random datasets
  uint64_t requested_ = 0;                    // batches requested from the sampler in this epoch
  std::unique_ptr<detail::WorkerPool> pool_;  // last: its threads use the other members
};

/// For loops over the pointer that make_data_loader() returns, which do not compile.
template <class Dataset, class Sampler>
TANDEM_UNAVAILABLE("the loader is a pointer: write `for (auto& batch : *loader)`")
auto begin(const std::unique_ptr<DataLoader<Dataset, Sampler>>& loader) {
  return loader->begin();
}
template <class Dataset, class Sampler>
auto end(const std::unique_ptr<DataLoader<Dataset, Sampler>>& loader) {
  return loader->end();
}

/// libtorch's name for a loader that asks a sampler for its requests.
template <class Dataset, class Sampler>
using StatelessDataLoader = DataLoader<Dataset, Sampler>;

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
requires(!datasets::detail::IsStateful<Dataset>) std::unique_ptr<DataLoader<Dataset, Sampler>> make_data_loader(
    Dataset dataset, DataLoaderOptions options = {}) {
  const std::optional<size_t> size = dataset.size();
  if (!size) throw StateError("make_data_loader", "the dataset has no size; pass a sampler");
  return make_data_loader(std::move(dataset), Sampler(*size), options);
}

}  // namespace tandem::data
#pragma GCC visibility pop
