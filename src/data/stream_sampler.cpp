// StreamSampler: counts items.
#include <algorithm>

#include "src/data/sampler_state.h"
#include "tandem/base/check.h"
#include "tandem/data/samplers/stream.h"

namespace tandem::data::samplers {

void StreamSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  index_ = 0;
}

std::optional<BatchSize> StreamSampler::next(size_t batch_size) {
  const size_t count = std::min(batch_size, size_ - index_);
  if (count == 0) return std::nullopt;
  index_ += count;
  return BatchSize(count);
}

StateDict StreamSampler::state_dict() const {
  StateDict state;
  write_position(state, size_, index_);
  return state;
}

StateCommit StreamSampler::prepare_load_state_dict(const StateDict& state) {
  const OpScope op("load_state_dict");
  StateReader reader(state);
  const size_t index = read_position(reader, size_, size_);
  reader.finish();
  return [this, index] { index_ = index; };
}

}  // namespace tandem::data::samplers
