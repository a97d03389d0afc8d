#pragma once
// StackedDataset: data and targets that lie in two tensors; a batch is gathered in one go.
#include <optional>

#include "tandem/data/dataset.h"

namespace tandem::data::datasets {

/// Item i is (data[i], targets[i]); a batch is one Example, already stacked: no Stack needed, and Normalize and the
/// like run once for the whole batch.
class StackedDataset : public BatchDataset<StackedDataset, Example<>> {
 public:
  /// Throws ShapeError unless both have the same first size, DeviceError unless both are on one device, StateError for
  /// an undefined tensor.
  StackedDataset(Tensor data, Tensor targets);

  /// Copies of the rows at `indices`. Throws IndexError when one is not below size().
  Example<> get_batch(ArrayRef<size_t> indices) override;
  std::optional<size_t> size() const override;

  const Tensor& data() const { return data_; }
  const Tensor& targets() const { return targets_; }

 private:
  Tensor data_, targets_;
};

}  // namespace tandem::data::datasets
