// Samplers: orders of items.
#include "tandem/data/samplers.h"

#include <algorithm>

#include "tandem/base/op_scope.h"
#include "tandem/tensor/factories.h"

namespace tandem::data::samplers {

void SequentialSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  index_ = 0;
}

std::optional<std::vector<size_t>> SequentialSampler::next(size_t batch_size) {
  const size_t count = std::min(batch_size, size_ - index_);
  if (count == 0) return std::nullopt;
  std::vector<size_t> request(count);
  for (size_t& i : request) i = index_++;
  return request;
}

void RandomSampler::reset(std::optional<size_t> new_size) {
  const WholeOpScope op("RandomSampler");
  size_ = new_size.value_or(size_);
  order_ = randperm(static_cast<int64_t>(size_));
  index_ = 0;
}

std::optional<std::vector<size_t>> RandomSampler::next(size_t batch_size) {
  if (!order_.defined()) reset();
  const size_t count = std::min(batch_size, size_ - index_);
  if (count == 0) return std::nullopt;
  const int64_t* first = order_.const_data_ptr<int64_t>() + index_;
  index_ += count;
  return std::vector<size_t>(first, first + count);
}

}  // namespace tandem::data::samplers
