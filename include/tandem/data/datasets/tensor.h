#pragma once
// TensorDataset: the rows of one tensor, without targets. StackedDataset has data and targets.
#include <cstddef>
#include <optional>
#include <vector>

#include "tandem/data/dataset.h"

#pragma GCC visibility push(default)
namespace tandem::data::datasets {

/// Item i is tensor[i], a view: clone it before changing it in place.
struct TensorDataset : Dataset<TensorDataset, TensorExample> {
  /// Stacks the tensors, which must have equal sizes: item i is a copy of tensors[i].
  explicit TensorDataset(const std::vector<Tensor>& tensors);
  /// Throws StateError for an undefined tensor, ShapeError for one of rank 0.
  explicit TensorDataset(Tensor tensor);

  /// Throws IndexError unless `index` is below size().
  TensorExample get(size_t index) override;
  std::optional<size_t> size() const override;

  Tensor tensor;
};

}  // namespace tandem::data::datasets
#pragma GCC visibility pop
