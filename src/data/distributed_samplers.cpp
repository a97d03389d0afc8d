// Samplers of several processes: the order of all, and the part of one.
#include <algorithm>

#include "src/data/sampler_state.h"
#include "tandem/base/check.h"
#include "tandem/data/samplers/distributed.h"
#include "tandem/tensor/factories.h"

namespace tandem::data::samplers::detail {

DistributedOrder::DistributedOrder(const char* name, bool shuffle, size_t size, size_t num_replicas, size_t rank,
                                   bool allow_duplicates)
    : DistributedSampler<>(size, num_replicas, rank, allow_duplicates), name_(name), shuffle_(shuffle) {
  const OpScope op(name);
  TANDEM_CHECK(rank < num_replicas, StateError, "rank is {}, but num_replicas is {}; ranks are 0 to num_replicas - 1",
               rank, num_replicas);
}

void DistributedOrder::draw() {
  if (shuffle_) {
    order_ = randperm(static_cast<int64_t>(size_), Generator(epoch_), TensorOptions(kLong).device(kCPU));
  }
  drawn_epoch_ = epoch_;
}

void DistributedOrder::reset(std::optional<size_t> new_size) {
  const OpScope op(name_);
  size_ = new_size.value_or(size_);
  draw();
  at_ = 0;
}

std::optional<std::vector<size_t>> DistributedOrder::next(size_t batch_size) {
  const OpScope op(name_);
  if (shuffle_ && !order_.defined()) draw();
  const size_t local = local_sample_count(), count = std::min(batch_size, local - at_);
  if (count == 0) return std::nullopt;
  std::vector<size_t> request = request_of(count);
  for (size_t& i : request) {
    const size_t place = (rank_ * local + at_++) % size_;  // past the end: a duplicate of the first items
    i = shuffle_ ? static_cast<size_t>(order_.const_data_ptr<int64_t>()[place]) : place;
  }
  return request;
}

size_t DistributedOrder::index() const noexcept { return rank_ * local_sample_count() + at_; }

StateDict DistributedOrder::state_dict() const {
  StateDict state;
  write_position(state, size_, at_);
  StateWriter writer(state);
  auto epoch = static_cast<int64_t>(drawn_epoch_), replicas = static_cast<int64_t>(num_replicas_),
       rank = static_cast<int64_t>(rank_);
  bool duplicates = allow_duplicates_;
  writer.number("epoch", epoch);
  writer.number("num_replicas", replicas);
  writer.number("rank", rank);
  writer.number("allow_duplicates", duplicates);
  return state;
}

StateCommit DistributedOrder::prepare_load_state_dict(const StateDict& state) {
  const OpScope op("load_state_dict");
  StateReader reader(state);
  const size_t at = read_position(reader, size_, local_sample_count());
  int64_t epoch = 0;
  auto replicas = static_cast<int64_t>(num_replicas_), rank = static_cast<int64_t>(rank_);
  bool duplicates = allow_duplicates_;
  reader.number("epoch", epoch);
  reader.number("num_replicas", replicas);
  reader.number("rank", rank);  // of any rank: all have requested equally many items
  reader.number("allow_duplicates", duplicates);
  if (replicas != static_cast<int64_t>(num_replicas_) || duplicates != allow_duplicates_) {
    reader.add_fault(
        fmt::format("it was saved with {} replicas and allow_duplicates {}, but this sampler has {} and {}", replicas,
                    duplicates, num_replicas_, allow_duplicates_));
  }
  reader.finish();
  return [this, at, epoch] {
    epoch_ = static_cast<size_t>(epoch);
    draw();
    at_ = at;
  };
}

}  // namespace tandem::data::samplers::detail
