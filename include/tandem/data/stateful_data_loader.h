#pragma once
// StatefulDataLoader: iterates over a dataset that reads its items one after another, such as a stream.
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "tandem/data/data_loader_base.h"
#include "tandem/data/datasets/stateful.h"
#include "tandem/data/loader_state.h"
#include "tandem/data/worker_pool.h"

#pragma GCC visibility push(default)
namespace tandem::data {

/// `for (auto& batch : *loader)`: each begin() calls the dataset's reset(), which starts a new epoch; the epoch ends
/// when get_batch() returns nullopt. The batches come from one stream, so any number of workers is one thread, which
/// reads ahead; the dataset is neither copied nor called by two threads at a time. With drop_last, a container of fewer
/// than batch_size items ends the epoch.
template <class Dataset>
class StatefulDataLoader : public DataLoaderBase<typename Dataset::BatchType::value_type> {
  using Base = DataLoaderBase<typename Dataset::BatchType::value_type>;

 public:
  using BatchType = typename Dataset::BatchType::value_type;
  using BatchRequestType = typename Dataset::BatchRequestType;

  /// Throws as the constructor of DataLoader does.
  StatefulDataLoader(Dataset dataset, DataLoaderOptions options) : Base(options), dataset_(std::move(dataset)) {
    if (options.workers() == 0) return;
    pool_ = std::make_unique<detail::WorkerPool>(/*ordered=*/true);
    pool_->add_worker([this](void* request) -> std::shared_ptr<void> {
      const auto& job = *static_cast<Job*>(request);
      const std::lock_guard lock(mutex_);
      if (job.epoch != epoch_) return std::make_shared<Loaded>();  // the loop has left that epoch
      return std::make_shared<Loaded>(read(job.batch, /*in_worker=*/true));
    });
  }

  /// Returns the position in the epoch: the dataset's state after the current batch ("dataset.position" and so on), the
  /// epoch's seed if the dataset is random, and the number of batches. Between epochs the state contains none of these.
  StateDict state_dict() const {
    return detail::write_loader_state(this->options(), {this->in_epoch(), taken(), epoch_seed_}, "dataset",
                                      states_.empty() ? StateDict() : states_[states_.size() - 1 - this->sent_ahead()]);
  }
  /// Restores that position: the next begin() continues after the saved batch instead of starting an epoch, also with
  /// another batch size. Throws StateError, and changes nothing, for a state that the dataset refuses.
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  StateCommit prepare_load_state_dict(const StateDict& state) {
    const std::lock_guard lock(mutex_);
    const detail::LoaderPosition position = detail::read_loader_state(state, "dataset", dataset_.is_random());
    const StateDict part = state_below(state, "dataset");
    return [this, position, part, commit = position.in_epoch ? dataset_.prepare_load_state_dict(part) : StateCommit()] {
      drop_batches();
      const std::lock_guard commit_lock(mutex_);
      if (commit) commit();
      states_.assign(1, part);
      epoch_seed_ = position.seed;
      loaded_ = requested_ = position.batches;
      this->resume(position.in_epoch);
    };
  }

 private:
  struct Job {
    uint64_t epoch, batch;
  };
  struct Loaded {
    std::optional<BatchType> batch;
    StateDict after;
  };

  /// The mutex must be held.
  Loaded read(uint64_t number, bool in_worker) {
    const detail::BatchSeed seed(epoch_seed_, number, in_worker);
    Loaded loaded{dataset_.get_batch(this->options().batch_size()), {}};
    if constexpr (requires(const BatchType& b) { b.size(); }) {
      if (loaded.batch && this->options().drop_last() && loaded.batch->size() < this->options().batch_size()) {
        loaded.batch.reset();
      }
    }
    if (!loaded.batch) return loaded;
    loaded.after = dataset_.state_dict();
    loaded.batch = Base::pinned(std::move(*loaded.batch), this->device());
    return loaded;
  }

  uint64_t taken() const { return loaded_ - this->sent_ahead(); }

  void drop_batches() {
    if (pool_) pool_->reset();
    const std::lock_guard lock(mutex_);
    ++epoch_;
    loaded_ = requested_ = 0;
    ended_ = false;
    states_.clear();
  }

  void start_epoch() override {
    drop_batches();
    const std::lock_guard lock(mutex_);
    dataset_.reset();
    states_.assign(1, dataset_.state_dict());
    if (dataset_.is_random()) epoch_seed_ = detail::draw_epoch_seed();
  }

  void prefetch() {
    const size_t most = this->options().max_jobs() > 0 ? this->options().max_jobs() : 1;
    while (pool_->outstanding() < most) pool_->push(std::make_shared<Job>(Job{epoch_, ++requested_}));
  }

  std::optional<BatchType> load() override {
    if (ended_) return std::nullopt;
    Loaded next;
    try {
      next = next_loaded();
    } catch (...) {
      taken_at(states_.back());  // counts as a batch, after which the state is unchanged
      throw;
    }
    if (!next.batch) {
      ended_ = true;
      if (pool_) pool_->reset();
      return std::nullopt;
    }
    taken_at(std::move(next.after));
    if (pool_) prefetch();
    return std::move(next.batch);
  }
  Loaded next_loaded() {
    if (!pool_) {
      const std::lock_guard lock(mutex_);
      return read(++requested_, /*in_worker=*/false);
    }
    prefetch();
    return std::move(*static_cast<Loaded*>(pool_->pop(this->options().timeout()).get()));
  }
  void taken_at(StateDict state) {
    ++loaded_;
    states_.push_back(std::move(state));
    if (states_.size() > 2) states_.pop_front();
  }
  bool ready() const override { return !pool_ || pool_->ready(); }

  std::mutex mutex_;  // of the dataset, epoch_ and epoch_seed_
  Dataset dataset_;
  uint64_t epoch_ = 0;
  std::optional<uint64_t> epoch_seed_;
  uint64_t requested_ = 0, loaded_ = 0;       // batches of this epoch
  bool ended_ = false;                        // the dataset has returned nullopt
  std::deque<StateDict> states_;              // after the last two batches: one may have been loaded ahead of the loop
  std::unique_ptr<detail::WorkerPool> pool_;  // last: its thread uses the other members
};

/// Returns a loader of a dataset that derives from StatefulDataset, or of such a dataset with transforms.
template <class Dataset>
requires(datasets::detail::IsStateful<Dataset>) std::unique_ptr<StatefulDataLoader<Dataset>> make_data_loader(
    Dataset dataset, DataLoaderOptions options = {}) {
  return std::make_unique<StatefulDataLoader<Dataset>>(std::move(dataset), options);
}

}  // namespace tandem::data
#pragma GCC visibility pop
