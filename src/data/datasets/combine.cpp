// Datasets made of others: sizes of parts, orders and checks.
#include "tandem/data/datasets/combine.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::data::datasets::detail {

std::vector<size_t> part_sizes(size_t items, const std::vector<double>& lengths) {
  const OpScope op("random_split");
  for (double v : lengths) {
    TANDEM_CHECK(std::isfinite(v) && v >= 0, StateError, "a length is {}; lengths must be finite and at least 0", v);
  }
  const double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  std::vector<size_t> sizes;
  if (std::abs(sum - 1) > 1e-6) {
    for (double v : lengths) {
      TANDEM_CHECK(v == std::floor(v), StateError,
                   "the lengths add up to {}; give whole numbers of items, or fractions that add up to 1", sum);
      sizes.push_back(static_cast<size_t>(v));
    }
    TANDEM_CHECK(sum == static_cast<double>(items), StateError,
                 "the lengths add up to {}, but the dataset has {} items; they must be equal", sum, items);
    return sizes;
  }
  size_t left = items;
  for (double v : lengths) {
    sizes.push_back(std::min(left, static_cast<size_t>(std::floor(static_cast<double>(items) * v))));
    left -= sizes.back();
  }
  for (size_t i = 0; left > 0; ++i, --left) ++sizes[i % sizes.size()];
  return sizes;
}

std::vector<size_t> shuffled(size_t count, std::optional<Generator> generator) {
  const OpScope op("random_split");
  const Tensor order = randperm(static_cast<int64_t>(count), std::move(generator), TensorOptions(kLong).device(kCPU));
  const int64_t* values = order.const_data_ptr<int64_t>();
  return std::vector<size_t>(values, values + count);
}

size_t known_size(const char* function, std::optional<size_t> size) {
  const OpScope op(function);
  TANDEM_CHECK(size, StateError, "the dataset has no size; it must be known here");
  return *size;
}

void check_indices(const char* dataset, ArrayRef<size_t> indices, size_t size) {
  const OpScope op(dataset);
  for (size_t i : indices) {
    TANDEM_CHECK(i < size, IndexError, "index {} is out of range for {} items; use a lower one", i, size);
  }
}

}  // namespace tandem::data::datasets::detail
