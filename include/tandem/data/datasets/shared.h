#pragma once
// SharedBatchDataset: one dataset that all workers of a loader use.
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "tandem/data/dataset.h"

#pragma GCC visibility push(default)
namespace tandem::data::datasets {

/// Shares a dataset: copies refer to the same one, so that the workers of a loader do. Its get_batch() must be safe to
/// call from several threads at a time. Datasets of tandem share their tensors when they are copied, and need no
/// sharing.
template <class D>
class SharedBatchDataset
    : public BatchDataset<SharedBatchDataset<D>, typename D::BatchType, typename D::BatchRequestType> {
 public:
  using BatchType = typename D::BatchType;
  using BatchRequestType = typename D::BatchRequestType;

  explicit SharedBatchDataset(std::shared_ptr<D> dataset) : dataset_(std::move(dataset)) {}

  BatchType get_batch(BatchRequestType request) override { return dataset_->get_batch(std::move(request)); }
  std::optional<size_t> size() const override { return dataset_->size(); }
  bool is_random() const override { return dataset_->is_random(); }

  D& operator*() { return *dataset_; }
  const D& operator*() const { return *dataset_; }
  D* operator->() { return dataset_.get(); }
  const D* operator->() const { return dataset_.get(); }

  /// Those of a StatefulDataset.
  void reset() requires detail::IsStateful<D> { dataset_->reset(); }
  StateDict state_dict() const requires detail::IsStateful<D> { return dataset_->state_dict(); }
  StateCommit prepare_load_state_dict(const StateDict& state) requires detail::IsStateful<D> {
    return dataset_->prepare_load_state_dict(state);
  }

 private:
  std::shared_ptr<D> dataset_;
};

/// Returns a SharedBatchDataset of a `D` made from the arguments.
template <class D, class... Args>
SharedBatchDataset<D> make_shared_dataset(Args&&... args) {
  return SharedBatchDataset<D>(std::make_shared<D>(std::forward<Args>(args)...));
}

}  // namespace tandem::data::datasets
#pragma GCC visibility pop
