#pragma once
// DataLoaderBase: what the data loaders share, which is the iterator and the copies to a device ahead of the loop.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "tandem/base/error.h"
#include "tandem/data/batch_tensors.h"
#include "tandem/data/data_loader_options.h"
#include "tandem/data/device_prefetch.h"
#include "tandem/data/random.h"

#pragma GCC visibility push(default)
namespace tandem::data {

template <class Batch>
class DataLoaderBase;

/// A data loader's position in its epoch. All iterators of a loader share it and move together.
template <class Batch>
class Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;
  using pointer = Batch*;
  using reference = Batch&;

  explicit Iterator(DataLoaderBase<Batch>* loader = nullptr) : loader_(loader) {}
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
  DataLoaderBase<Batch>* loader_;
};

/// `for (auto& batch : *loader)`: each begin() starts a new epoch, and drops the rest of the last one. An exception of
/// the dataset leaves begin() or ++ unchanged; the loader stays usable.
template <class Batch>
class DataLoaderBase {
 public:
  using BatchType = Batch;

  virtual ~DataLoaderBase() = default;
  DataLoaderBase(const DataLoaderBase&) = delete;
  DataLoaderBase& operator=(const DataLoaderBase&) = delete;

  Iterator<Batch> begin() {
    if (!resumed_) {
      batch_.reset();
      ahead_.reset();
      start_epoch();
    }
    resumed_ = false;
    in_epoch_ = true;
    advance();
    return Iterator<Batch>(this);
  }
  Iterator<Batch> end() { return Iterator<Batch>(); }

  const DataLoaderOptions& options() const { return options_; }

 protected:
  /// Throws StateError and DeviceError for invalid options.
  explicit DataLoaderBase(DataLoaderOptions options) : options_(options) {
    detail::check_options(options_);
    if (!detail::has_tensors<Batch>() && (options_.pin_memory() || options_.prefetch_to())) {
      throw StateError("DataLoader",
                       "pin_memory and prefetch_to must find the tensors of a batch; give the batch type a member "
                       "function void for_each_tensor(const data::TensorVisitor& visit)");
    }
    device_ = detail::DevicePrefetch::make(options_);
  }

  /// Starts an epoch. begin() calls it.
  virtual void start_epoch() = 0;
  /// Returns the next batch on the host; nullopt at the end of the epoch.
  virtual std::optional<Batch> load() = 0;

  /// The device to which batches are moved ahead of the loop; null if none.
  const detail::DevicePrefetch* device() const { return device_.get(); }
  /// Copies the batch to page-locked memory if there is such a device.
  static Batch pinned(Batch batch, const detail::DevicePrefetch* device) {
    if (device) detail::for_each_tensor(batch, [device](Tensor& t) { device->pin(t); });
    return batch;
  }

  /// Returns the number of batches that were loaded ahead of the loop.
  size_t sent_ahead() const { return ahead_ && !ahead_->is_end() ? 1 : 0; }
  bool in_epoch() const { return in_epoch_; }
  /// Drops the batches, and makes the next begin() continue an epoch (`in_epoch`) or start one.
  void resume(bool in_epoch) {
    batch_.reset();
    ahead_.reset();
    in_epoch_ = resumed_ = in_epoch;
  }

 private:
  friend class Iterator<Batch>;

  /// A batch on its way to the device, the end of the epoch, or the exception that the dataset threw instead.
  struct Ahead {
    std::optional<Batch> batch;
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

  /// Returns whether load() would not wait for a worker.
  virtual bool ready() const { return true; }

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
    if (ready()) ahead_ = send();  // a late worker must not delay the current batch
  }

  DataLoaderOptions options_;
  std::optional<Batch> batch_;
  std::unique_ptr<detail::DevicePrefetch> device_;  ///< null: batches stay as the dataset returns them
  std::optional<Ahead> ahead_;
  bool in_epoch_ = false;  // an epoch has begun, and the loop has not reached its end
  bool resumed_ = false;   // the epoch was begun by resume()
};

}  // namespace tandem::data
#pragma GCC visibility pop
