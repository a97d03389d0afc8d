#pragma once
// Elements of tensors as vectors, and a dataset without a size.
#include <cstdint>
#include <vector>

#include "tandem/data/dataset.h"
#include "tandem/tensor/tensor.h"

namespace tandem::testing {

inline std::vector<int64_t> integers(const Tensor& x) {
  const Tensor t = x.cpu().contiguous();
  return {t.const_data_ptr<int64_t>(), t.const_data_ptr<int64_t>() + t.numel()};
}
inline std::vector<float> floats(const Tensor& x) {
  const Tensor t = x.cpu().contiguous();
  return {t.const_data_ptr<float>(), t.const_data_ptr<float>() + t.numel()};
}

struct Sizeless : data::datasets::Dataset<Sizeless, int> {
  int get(size_t) override { return 1; }
  std::optional<size_t> size() const override { return std::nullopt; }
};

}  // namespace tandem::testing
