// Samplers: orders of items.
#include "tandem/data/samplers.h"

#include <algorithm>
#include <exception>

#include "src/data/sampler_state.h"
#include "tandem/base/check.h"
#include "tandem/io/archive.h"
#include "tandem/tensor/factories.h"

namespace tandem::data::samplers {

void write_position(StateDict& state, size_t size, size_t index) {
  StateWriter writer(state);
  auto count = static_cast<int64_t>(size), at = static_cast<int64_t>(index);
  writer.number("size", count);
  writer.number("index", at);
}

size_t read_position(StateReader& reader, size_t size, size_t limit) {
  auto count = static_cast<int64_t>(size);
  int64_t index = 0;
  reader.number("size", count);
  reader.number("index", index);
  if (count != static_cast<int64_t>(size)) {
    reader.add_fault(fmt::format("it was saved from a sampler of {} items, but this one has {}", count, size));
  } else if (index < 0 || static_cast<size_t>(index) > limit) {
    reader.add_fault(fmt::format("'index' is {}, but there are {} items", index, limit));
  }
  return static_cast<size_t>(index);
}

std::vector<size_t> request_of(size_t count) {
  try {
    return std::vector<size_t>(count);
  } catch (const std::exception&) {  // std::bad_alloc or std::length_error
    TANDEM_THROW(OutOfMemoryError, "the indices of a batch of {} items do not fit into memory; lower batch_size",
                 count);
  }
}

namespace {

bool is_permutation(const Tensor& order) {
  std::vector<bool> seen(static_cast<size_t>(order.numel()));
  const int64_t* values = order.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < order.numel(); ++i) {
    if (values[i] < 0 || values[i] >= order.numel() || seen[static_cast<size_t>(values[i])]) return false;
    seen[static_cast<size_t>(values[i])] = true;
  }
  return true;
}

}  // namespace

void SequentialSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  index_ = 0;
}

std::optional<std::vector<size_t>> SequentialSampler::next(size_t batch_size) {
  const OpScope op("SequentialSampler");
  const size_t count = std::min(batch_size, size_ - index_);
  if (count == 0) return std::nullopt;
  std::vector<size_t> request = request_of(count);
  for (size_t& i : request) i = index_++;
  return request;
}

StateDict SequentialSampler::state_dict() const {
  StateDict state;
  write_position(state, size_, index_);
  return state;
}

void SequentialSampler::save(serialize::OutputArchive& archive) const { archive.write(state_dict()); }
void SequentialSampler::load(serialize::InputArchive& archive) { archive.load_into(*this); }

StateCommit SequentialSampler::prepare_load_state_dict(const StateDict& state) {
  const OpScope op("load_state_dict");
  StateReader reader(state);
  const size_t index = read_position(reader, size_, size_);
  reader.finish();
  return [this, index] { index_ = index; };
}

void OrderSampler::reset(std::optional<size_t> new_size) {
  const OpScope op(name_);
  TANDEM_CHECK(new_size.value_or(size_) == size_, StateError,
               "reset to {} items, but this sampler has {}; make a new sampler", *new_size, size_);
  order_ = draw();
  index_ = 0;
}

std::optional<std::vector<size_t>> OrderSampler::next(size_t batch_size) {
  const OpScope op(name_);
  if (!order_.defined()) reset(std::nullopt);
  const size_t count = std::min(batch_size, size_ - index_);
  if (count == 0) return std::nullopt;
  std::vector<size_t> request = request_of(count);
  std::copy_n(order_.const_data_ptr<int64_t>() + index_, count, request.begin());
  index_ += count;
  return request;
}

StateDict OrderSampler::state_dict() const {
  StateDict state;
  write_position(state, size_, index_);
  if (order_.defined()) state.insert("order", order_);
  return state;
}

void OrderSampler::save(serialize::OutputArchive& archive) const { archive.write(state_dict()); }
void OrderSampler::load(serialize::InputArchive& archive) { archive.load_into(*this, {"order"}); }

StateCommit OrderSampler::prepare_load_state_dict(const StateDict& state) {
  const OpScope op("load_state_dict");
  StateReader reader(state);
  const size_t index = read_position(reader, size_, size_);
  Tensor order;
  reader.optional_tensor("order", order, empty({static_cast<int64_t>(size_)}, TensorOptions(kLong).device(kCPU)));
  if (!order.defined() && index > 0) reader.add_fault("'order' is missing");
  reader.finish();
  TANDEM_CHECK(
      !order.defined() || can_draw(order), StateError,
      "'order' is not an order that this {} can draw; nothing was changed; load it into the object that it was "
      "saved from",
      name_);
  return [this, index, order] {
    index_ = index;
    order_ = order;
  };
}

void RandomSampler::reset(std::optional<size_t> new_size) {
  set_size(new_size.value_or(size()));
  OrderSampler::reset(std::nullopt);
}

Tensor RandomSampler::draw() const { return randperm(static_cast<int64_t>(size()), kCPU); }

bool RandomSampler::can_draw(const Tensor& order) const { return is_permutation(order); }

}  // namespace tandem::data::samplers
