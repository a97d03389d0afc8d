// Samplers of several processes: the order of all, and the part of one.
#include <algorithm>

#include "src/data/sampler_state.h"
#include "tandem/base/check.h"
#include "tandem/data/samplers/distributed.h"
#include "tandem/tensor/factories.h"

namespace tandem::data::samplers::detail {
namespace {

/// Calls f(place) for the places in the order that a process gets. Past the end, the first items are repeated.
template <class F>
void each_place(size_t items, size_t local, size_t rank, size_t first, size_t last, const F& f) {
  for (size_t i = first; i < last; ++i) f((rank * local + i) % items);
}

size_t part_size(size_t items, const Division& d) {
  return items_per_process(items, d.num_replicas, d.allow_duplicates);
}

/// Returns for each place whether a process has requested it.
std::vector<bool> requested_places(size_t items, const Division& d) {
  std::vector<bool> requested(items);
  // Of more processes than items, the first ones get all places.
  for (size_t rank = 0; rank < std::min(items, d.num_replicas); ++rank) {
    each_place(items, part_size(items, d), rank, 0, d.requested, [&](size_t place) { requested[place] = true; });
  }
  return requested;
}

/// Returns the items that no process has requested, in their order.
Tensor remaining(const Tensor& order, const Division& past) {
  const auto items = static_cast<size_t>(order.numel());
  const std::vector<bool> requested = requested_places(items, past);
  const int64_t* values = order.const_data_ptr<int64_t>();
  std::vector<int64_t> rest;
  for (size_t i = 0; i < items; ++i) {
    if (!requested[i]) rest.push_back(values[i]);
  }
  return tensor(rest, order.options());
}

Tensor write_past(const std::vector<Division>& past) {
  std::vector<int64_t> numbers;
  for (const Division& d : past) {
    numbers.push_back(static_cast<int64_t>(d.num_replicas));
    numbers.push_back(static_cast<int64_t>(d.requested));
    numbers.push_back(d.allow_duplicates ? 1 : 0);
  }
  return tensor(numbers, TensorOptions(kLong).device(kCPU)).view({-1, 3});
}

/// Reads the rows of "past" as divisions of the items that the earlier rows leave, which it returns in `items`.
std::vector<Division> read_past(StateReader& reader, size_t& items) {
  std::vector<Division> past;
  const Tensor* numbers = reader.contains("past") ? reader.find("past") : nullptr;
  if (!numbers) return past;
  if (numbers->dtype() != kLong || numbers->dim() != 2 || numbers->size(1) != 3) {
    reader.add_fault("'past' is not a matrix of i64 with three columns");
    return past;
  }
  const Tensor rows = numbers->cpu().contiguous();
  const int64_t* row = rows.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < rows.size(0); ++i, row += 3) {
    const Division d{static_cast<size_t>(row[0]), static_cast<size_t>(row[1]), row[2] != 0};
    if (row[0] < 1 || row[1] < 0 || d.requested > part_size(items, d)) {
      reader.add_fault(fmt::format("row {} of 'past' is not a division of {} items: num_replicas {}, index {}", i,
                                   items, row[0], row[1]));
      return past;
    }
    past.push_back(d);
    items = static_cast<size_t>(std::ranges::count(requested_places(items, d), false));
  }
  return past;
}

}  // namespace

DistributedOrder::DistributedOrder(const char* name, bool shuffle, size_t size, size_t num_replicas, size_t rank,
                                   bool allow_duplicates)
    : DistributedSampler<>(size, num_replicas, rank, allow_duplicates), name_(name), shuffle_(shuffle) {
  const OpScope op(name);
  TANDEM_CHECK(rank < num_replicas, StateError, "rank is {}, but num_replicas is {}; ranks are 0 to num_replicas - 1",
               rank, num_replicas);
}

void DistributedOrder::draw() {
  const auto count = static_cast<int64_t>(size_);
  const TensorOptions options = TensorOptions(kLong).device(kCPU);
  if (shuffle_) {
    order_ = randperm(count, Generator(epoch_), options);
  } else {
    order_ = past_.empty() ? Tensor() : arange(count, options);
  }
  for (const Division& d : past_) order_ = remaining(order_, d);
  drawn_epoch_ = epoch_;
}

void DistributedOrder::reset(std::optional<size_t> new_size) {
  const OpScope op(name_);
  size_ = new_size.value_or(size_);
  past_.clear();
  draw();
  at_ = 0;
}

std::optional<std::vector<size_t>> DistributedOrder::next(size_t batch_size) {
  const OpScope op(name_);
  if (shuffle_ && !order_.defined()) draw();
  const size_t local = local_items(), count = std::min(batch_size, local - at_);
  if (count == 0) return std::nullopt;
  std::vector<size_t> request = request_of(count);
  auto item = request.begin();
  each_place(items(), local, rank_, at_, at_ + count, [&](size_t place) {
    *item++ = order_.defined() ? static_cast<size_t>(order_.const_data_ptr<int64_t>()[place]) : place;
  });
  at_ += count;
  return request;
}

size_t DistributedOrder::index() const noexcept { return rank_ * local_items() + at_; }

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
  if (!past_.empty()) state.insert("past", write_past(past_));
  return state;
}

StateCommit DistributedOrder::prepare_load_state_dict(const StateDict& state) {
  const OpScope op("load_state_dict");
  StateReader reader(state);
  int64_t epoch = 0, rank = 0, replicas = 1;
  bool duplicates = allow_duplicates_;
  reader.number("epoch", epoch);
  reader.number("num_replicas", replicas);
  reader.number("rank", rank);  // of any rank: all have requested equally many items
  reader.number("allow_duplicates", duplicates);
  if (replicas < 1) reader.add_fault(fmt::format("'num_replicas' is {}", replicas));
  size_t items = size_;
  std::vector<Division> past = read_past(reader, items);
  Division saved{static_cast<size_t>(std::max<int64_t>(1, replicas)), 0, duplicates};
  saved.requested = read_position(reader, size_, part_size(items, saved));
  reader.finish();
  if (saved.num_replicas != num_replicas_ || saved.allow_duplicates != allow_duplicates_) {
    if (saved.requested > 0) past.push_back(saved);
    saved.requested = 0;
  }
  return [this, epoch, past = std::move(past), at = saved.requested] {
    epoch_ = static_cast<size_t>(epoch);
    past_ = past;
    draw();
    at_ = at;
  };
}

}  // namespace tandem::data::samplers::detail
