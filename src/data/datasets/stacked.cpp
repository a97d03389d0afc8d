// StackedDataset: gathers batches.
#include "tandem/data/datasets/stacked.h"

#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/index.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem::data::datasets {

StackedDataset::StackedDataset(Tensor data, Tensor targets) : data_(std::move(data)), targets_(std::move(targets)) {
  const OpScope op("StackedDataset");
  checks::defined("data", data_);
  checks::defined("targets", targets_);
  TANDEM_CHECK(data_.dim() > 0 && targets_.dim() > 0 && data_.size(0) == targets_.size(0), ShapeError,
               "data is {}, targets is {}; their first sizes must be equal", checks::show(data_),
               checks::show(targets_));
  TANDEM_CHECK(data_.device() == targets_.device(), DeviceError,
               "data is on {}, targets is on {}; move one with .to(device)", data_.device().str(),
               targets_.device().str());
}

Example<> StackedDataset::get_batch(ArrayRef<size_t> indices) {
  const OpScope op("StackedDataset");
  for (size_t i : indices) {
    TANDEM_CHECK(i < *size(), IndexError, "index {} is out of range for {} items; use one below {}", i, *size(),
                 *size());
  }
  const Tensor index = empty({static_cast<int64_t>(indices.size())}, TensorOptions(kLong).device(kCPU));
  int64_t* p = index.data_ptr<int64_t>();
  for (size_t i : indices) *p++ = static_cast<int64_t>(i);
  const Tensor on_device = index.to(data_.device());
  return {index_select(data_, 0, on_device), index_select(targets_, 0, on_device)};
}

Example<> StackedDataset::row(size_t index) const {
  const OpScope op("StackedDataset");
  TANDEM_CHECK(index < *size(), IndexError, "index {} is out of range for {} items; use one below {}", index, *size(),
               *size());
  const auto i = static_cast<int64_t>(index);
  return {select(data_, 0, i), select(targets_, 0, i)};
}

std::optional<size_t> StackedDataset::size() const { return static_cast<size_t>(data_.size(0)); }

}  // namespace tandem::data::datasets
