#include "tandem/nn/utils/rnn.h"

#include <algorithm>
#include <numeric>

#include "tandem/base/check.h"
#include "tandem/base/op_scope.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/index.h"
#include "tandem/ops/join.h"
#include "tandem/ops/scatter.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn::utils::rnn {
namespace {

using Numbers = std::vector<int64_t>;

Numbers numbers_of(const char* which, const Tensor& x) {
  checks::index(which, x);
  TANDEM_CHECK(x.dim() == 1, ShapeError, "{} is {}, but must be of rank 1", which, checks::show(x));
  const Tensor host = contiguous(x.detach().to(kCPU).to(kLong));
  return {host.raw<int64_t>(), host.raw<int64_t>() + host.numel()};
}

Tensor tensor_of(const Numbers& values, Device device = kCPU) {
  return tensor(values, TensorOptions(kLong).device(kCPU)).to(device);
}

/// The sequences at each step, for lengths that do not increase.
Numbers batch_sizes_of(const Numbers& lengths) {
  Numbers sizes(static_cast<size_t>(lengths.empty() ? 0 : lengths.front()), 0);
  for (const int64_t length : lengths) {
    for (size_t t = 0; t < static_cast<size_t>(length); ++t) ++sizes[t];
  }
  return sizes;
}

/// Where the rows of a packed batch are in a padded one: element (t, order[k]) of [T, B] or [B, T].
Numbers padded_rows(const Numbers& batch_sizes, const Numbers& order, int64_t steps, bool batch_first) {
  Numbers rows;
  for (size_t t = 0; t < batch_sizes.size(); ++t) {
    for (size_t k = 0; k < static_cast<size_t>(batch_sizes[t]); ++k) {
      const int64_t step = static_cast<int64_t>(t), batch = static_cast<int64_t>(order.size());
      rows.push_back(batch_first ? order[k] * steps + step : step * batch + order[k]);
    }
  }
  return rows;
}

/// The sizes with the first `merged` ones replaced.
Dims with_front(const Tensor& x, size_t merged, IntArrayRef front) {
  Dims sizes(front);
  for (size_t d = merged; d < static_cast<size_t>(x.dim()); ++d) sizes.push_back(x.sizes()[d]);
  return sizes;
}

Numbers counted(size_t n) {
  Numbers order(n);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Numbers inverse_of(const Numbers& order) {
  Numbers inverse(order.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t to = order[i];
    TANDEM_CHECK(to >= 0 && static_cast<size_t>(to) < order.size(), IndexError,
                 "entry {} is {}, but must be in [0, {})", i, to, order.size());
    inverse[static_cast<size_t>(to)] = static_cast<int64_t>(i);
  }
  return inverse;
}

}  // namespace

PackedSequence::PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices, Tensor unsorted_indices)
    : data_(std::move(data)),
      batch_sizes_(std::move(batch_sizes)),
      sorted_indices_(std::move(sorted_indices)),
      unsorted_indices_(std::move(unsorted_indices)) {
  const OpScope op("PackedSequence");
  checks::defined("data", data_);
  checks::index("batch_sizes", batch_sizes_);
  TANDEM_CHECK(batch_sizes_.is_cpu(), StateError, "batch_sizes are on {}; they must be on the CPU",
               batch_sizes_.device().str());
  const Numbers sizes = numbers_of("batch_sizes", batch_sizes_);
  const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  TANDEM_CHECK(data_.dim() > 0 && total == data_.size(0), StateError, "batch_sizes sum to {}, but data is {}", total,
               checks::show(data_));
  if (sorted_indices_.defined() && !unsorted_indices_.defined()) {
    unsorted_indices_ = invert_permutation(sorted_indices_);
  } else if (unsorted_indices_.defined() && !sorted_indices_.defined()) {
    sorted_indices_ = invert_permutation(unsorted_indices_);
  }
}

PackedSequence PackedSequence::to(Device device, DType dtype, bool non_blocking) const {
  const auto moved = [&](const Tensor& x) { return x.defined() ? x.to(device, x.dtype(), non_blocking) : x; };
  return PackedSequence(data_.to(device, dtype, non_blocking), batch_sizes_, moved(sorted_indices_),
                        moved(unsorted_indices_));
}
PackedSequence PackedSequence::to(Device device, bool non_blocking) const {
  return to(device, data_.dtype(), non_blocking);
}
PackedSequence PackedSequence::to(DType dtype) const { return to(data_.device(), dtype); }

Tensor invert_permutation(const Tensor& permutation) {
  const OpScope op("invert_permutation");
  if (!permutation.defined()) return {};
  return tensor_of(inverse_of(numbers_of("permutation", permutation)), permutation.device());
}

PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first, bool enforce_sorted) {
  const OpScope op("pack_padded_sequence");
  checks::defined("input", input);
  const Numbers given = numbers_of("lengths", lengths);
  TANDEM_CHECK(input.dim() >= 2, ShapeError, "input is {}, but must be {}", checks::show(input),
               batch_first ? "[B, T, ...]" : "[T, B, ...]");
  const int64_t steps = input.size(batch_first ? 1 : 0), batch = input.size(batch_first ? 0 : 1);
  TANDEM_CHECK(static_cast<int64_t>(given.size()) == batch && batch > 0, ShapeError,
               "{} lengths for a batch of {}: input is {}; give one for each sequence, of which there must be one at "
               "least",
               given.size(), batch, checks::show(input));
  for (size_t i = 0; i < given.size(); ++i) {
    TANDEM_CHECK(given[i] > 0 && given[i] <= steps, StateError, "lengths[{}] = {}; it must be in [1, {}]: input is {}",
                 i, given[i], steps, checks::show(input));
    TANDEM_CHECK(!enforce_sorted || i == 0 || given[i] <= given[i - 1], StateError,
                 "lengths[{}] = {} after {}; with enforce_sorted, lengths must not increase; pass enforce_sorted = "
                 "false",
                 i, given[i], given[i - 1]);
  }
  Numbers order = counted(given.size());
  if (!enforce_sorted) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return given[static_cast<size_t>(a)] > given[static_cast<size_t>(b)];
    });
  }
  Numbers sorted;
  for (const int64_t i : order) sorted.push_back(given[static_cast<size_t>(i)]);
  const Numbers sizes = batch_sizes_of(sorted);
  const Tensor rows = tensor_of(padded_rows(sizes, order, steps, batch_first), input.device());
  const Tensor data = index_select(reshape(input, with_front(input, 2, {steps * batch})), 0, rows);
  if (enforce_sorted) return PackedSequence(data, tensor_of(sizes));
  return PackedSequence(data, tensor_of(sizes), tensor_of(order, input.device()),
                        tensor_of(inverse_of(order), input.device()));
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first, double padding_value,
                                               std::optional<int64_t> total_length) {
  const OpScope op("pad_packed_sequence");
  const Numbers sizes = numbers_of("batch_sizes", sequence.batch_sizes());
  TANDEM_CHECK(!sizes.empty(), StateError, "the sequences have no steps");
  const auto longest = static_cast<int64_t>(sizes.size()), steps = total_length.value_or(longest), batch = sizes[0];
  TANDEM_CHECK(steps >= longest, StateError, "total_length = {}, but the longest sequence has {} steps", steps,
               longest);
  const Numbers order = sequence.sorted_indices().defined() ? numbers_of("sorted_indices", sequence.sorted_indices())
                                                            : counted(static_cast<size_t>(batch));
  TANDEM_CHECK(static_cast<int64_t>(order.size()) == batch, StateError,
               "{} sorted_indices for a batch of {} sequences; give one for each", order.size(), batch);
  const Tensor& data = sequence.data();
  const Tensor rows = tensor_of(padded_rows(sizes, order, steps, batch_first), data.device());
  const Tensor padding = full(with_front(data, 1, {steps * batch}), padding_value, data.options());
  const Tensor filled = index_copy(padding, 0, rows, data);
  const Dims front = batch_first ? Dims{batch, steps} : Dims{steps, batch};
  Numbers lengths(order.size(), 0);
  for (const int64_t size : sizes) {
    for (size_t k = 0; k < static_cast<size_t>(size); ++k) ++lengths[static_cast<size_t>(order[k])];
  }
  return {view(filled, with_front(data, 1, front)), tensor_of(lengths)};
}

Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first, double padding_value, std::string_view padding_side) {
  const OpScope op("pad_sequence");
  TANDEM_CHECK(!sequences.empty(), StateError, "there are no sequences; give at least one");
  TANDEM_CHECK(padding_side == "right" || padding_side == "left", StateError,
               "padding_side = \"{}\"; it must be \"right\" or \"left\"", padding_side);
  int64_t steps = 0;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const Tensor& x = sequences[i];
    checks::defined_at(i, x);
    TANDEM_CHECK(x.dim() > 0 && with_front(x, 1, {}) == with_front(sequences[0], 1, {}), ShapeError,
                 "sequence {} is {}, sequence 0 is {}; all sizes but the first must be equal", i, checks::show(x),
                 checks::show(sequences[0]));
    steps = std::max(steps, x.size(0));
  }
  const auto batch = static_cast<int64_t>(sequences.size());
  Numbers rows;
  for (int64_t i = 0; i < batch; ++i) {
    const int64_t length = sequences[static_cast<size_t>(i)].size(0);
    const int64_t first = padding_side == "left" ? steps - length : 0;
    for (int64_t t = first; t < first + length; ++t) rows.push_back(batch_first ? i * steps + t : t * batch + i);
  }
  const Tensor data = cat(sequences, 0);
  const Tensor padding = full(with_front(data, 1, {steps * batch}), padding_value, data.options());
  const Dims front = batch_first ? Dims{batch, steps} : Dims{steps, batch};
  return view(index_copy(padding, 0, tensor_of(rows, data.device()), data), with_front(data, 1, front));
}

PackedSequence pack_sequence(ArrayRef<Tensor> sequences, bool enforce_sorted) {
  const OpScope op("pack_sequence");
  Numbers lengths;
  for (size_t i = 0; i < sequences.size(); ++i) {
    checks::defined_at(i, sequences[i]);
    TANDEM_CHECK(sequences[i].dim() > 0, ShapeError, "sequence {} is {}, but must be [steps, ...]", i,
                 checks::show(sequences[i]));
    lengths.push_back(sequences[i].size(0));
  }
  const Tensor padded = pad_sequence(sequences);
  return pack_padded_sequence(padded, tensor_of(lengths), false, enforce_sorted);
}

}  // namespace tandem::nn::utils::rnn
