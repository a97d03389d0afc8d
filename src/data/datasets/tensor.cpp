// TensorDataset: the rows of a tensor.
#include "tandem/data/datasets/tensor.h"

#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/shape.h"

namespace tandem::data::datasets {

TensorDataset::TensorDataset(const std::vector<Tensor>& tensors) {
  const OpScope op("TensorDataset");
  tensor = stack(tensors, 0);
}

TensorDataset::TensorDataset(Tensor rows) : tensor(std::move(rows)) {
  const OpScope op("TensorDataset");
  checks::defined("the tensor", tensor);
  TANDEM_CHECK(tensor.dim() > 0, ShapeError,
               "the tensor is {}; it must have a first dimension, whose rows are the items", checks::show(tensor));
}

TensorExample TensorDataset::get(size_t index) {
  const OpScope op("TensorDataset");
  TANDEM_CHECK(index < *size(), IndexError, "index {} is out of range for {} items; use a lower one", index, *size());
  return select(tensor, 0, static_cast<int64_t>(index));
}

std::optional<size_t> TensorDataset::size() const { return static_cast<size_t>(tensor.size(0)); }

}  // namespace tandem::data::datasets
