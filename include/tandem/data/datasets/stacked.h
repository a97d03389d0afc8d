#pragma once
// StackedDataset: data and targets stored in two tensors; a batch is gathered in one operation.
#include <optional>

#include "tandem/data/dataset.h"

#pragma GCC visibility push(default)
namespace tandem::data::datasets {

/// Item i is (data[i], targets[i]). A batch is one Example, already stacked: it needs no Stack, and transforms such as
/// Normalize run once for the whole batch.
class StackedDataset : public BatchDataset<StackedDataset, Example<>> {
 public:
  /// Throws ShapeError unless both have the same first size, DeviceError unless both are on the same device, StateError
  /// for an undefined tensor.
  StackedDataset(Tensor data, Tensor targets);

  /// Returns copies of the rows at `indices`. Throws IndexError unless all indices are below size().
  Example<> get_batch(ArrayRef<size_t> indices) override;
  std::optional<size_t> size() const override;

  /// Returns views of one item, not stacked. Throws IndexError unless `index` is below size().
  Example<> row(size_t index) const;

  const Tensor& data() const { return data_; }
  const Tensor& targets() const { return targets_; }

 private:
  Tensor data_, targets_;
};

}  // namespace tandem::data::datasets
#pragma GCC visibility pop
