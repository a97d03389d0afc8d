#pragma once
// Datasets made of others: ConcatDataset, Subset and random_split. Names are those of torch.utils.data.
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/data/dataset.h"
#include "tandem/tensor/generator.h"

#pragma GCC visibility push(default)
namespace tandem::data::datasets {

namespace detail {
/// Returns the number of items in each of the parts, see random_split(). Throws StateError.
std::vector<size_t> part_sizes(size_t items, const std::vector<double>& lengths);
/// Returns the numbers from 0 to count - 1 in a random order.
std::vector<size_t> shuffled(size_t count, std::optional<Generator> generator);
/// Returns the size of a dataset. Throws StateError if it is unknown.
size_t known_size(const char* function, std::optional<size_t> size);
/// Throws IndexError unless all indices are below `size`.
void check_indices(const char* dataset, ArrayRef<size_t> indices, size_t size);
}  // namespace detail

/// The items of several datasets of the same type, one after another. Its batches are vectors of items: stack them
/// after concatenating, with `ConcatDataset(...).map(transforms::Stack<>())`.
template <class D>
class ConcatDataset : public BatchDataset<ConcatDataset<D>, typename D::BatchType> {
 public:
  using BatchType = typename D::BatchType;

  /// Throws StateError if the size of a dataset is unknown.
  explicit ConcatDataset(std::vector<D> datasets) : datasets_(std::move(datasets)) {
    size_t end = 0;
    for (const D& dataset : datasets_) {
      ends_.push_back(end += detail::known_size("ConcatDataset", dataset.size()));
      random_ = random_ || dataset.is_random();
    }
  }

  /// Throws IndexError unless all indices are below size().
  BatchType get_batch(ArrayRef<size_t> indices) override {
    detail::check_indices("ConcatDataset", indices, *size());
    BatchType batch;
    batch.reserve(indices.size());
    for (size_t i : indices) {
      size_t part = 0;
      while (i >= ends_[part]) ++part;
      const size_t within = part == 0 ? i : i - ends_[part - 1];
      for (auto& item : datasets_[part].get_batch(within)) batch.push_back(std::move(item));
    }
    return batch;
  }
  std::optional<size_t> size() const override { return ends_.empty() ? 0 : ends_.back(); }
  bool is_random() const override { return random_; }

  const std::vector<D>& datasets() const { return datasets_; }

 private:
  std::vector<D> datasets_;
  std::vector<size_t> ends_;  ///< the index after the last item of each dataset
  bool random_ = false;
};

/// The items of a dataset at the given indices: item i is dataset[indices[i]].
template <class D>
class Subset : public BatchDataset<Subset<D>, typename D::BatchType> {
 public:
  using BatchType = typename D::BatchType;

  /// Throws IndexError unless all indices are below the dataset's size, if it is known.
  Subset(D dataset, std::vector<size_t> indices) : dataset_(std::move(dataset)), indices_(std::move(indices)) {
    if (const std::optional<size_t> count = dataset_.size()) detail::check_indices("Subset", indices_, *count);
  }

  /// Throws IndexError unless all positions are below size().
  BatchType get_batch(ArrayRef<size_t> positions) override {
    detail::check_indices("Subset", positions, indices_.size());
    std::vector<size_t> indices;
    indices.reserve(positions.size());
    for (size_t i : positions) indices.push_back(indices_[i]);
    return dataset_.get_batch(indices);
  }
  std::optional<size_t> size() const override { return indices_.size(); }
  bool is_random() const override { return dataset_.is_random(); }

  const D& dataset() const { return dataset_; }
  const std::vector<size_t>& indices() const { return indices_; }

 private:
  D dataset_;
  std::vector<size_t> indices_;
};

/// Splits a dataset at random into parts without common items: `random_split(dataset, {50000, 10000})` or, in fractions
/// that add up to 1, `random_split(dataset, {0.9, 0.1})`; items that remain after rounding down go to the parts in
/// turn. Each part holds a copy of the dataset, which for tandem's datasets shares the data. The order is drawn from
/// `generator`, by default the default one. Throws StateError for numbers of items that do not add up to the size.
template <class D, class Number>
std::vector<Subset<D>> random_split(const D& dataset, const std::vector<Number>& lengths,
                                    std::optional<Generator> generator = {}) {
  const size_t count = detail::known_size("random_split", dataset.size());
  const std::vector<size_t> sizes = detail::part_sizes(count, std::vector<double>(lengths.begin(), lengths.end()));
  const std::vector<size_t> order = detail::shuffled(count, std::move(generator));
  std::vector<Subset<D>> parts;
  auto from = order.begin();
  for (size_t size : sizes) {
    const auto to = from + static_cast<std::ptrdiff_t>(size);
    parts.emplace_back(dataset, std::vector<size_t>(from, to));
    from = to;
  }
  return parts;
}
template <class D, class Number>
std::vector<Subset<D>> random_split(const D& dataset, std::initializer_list<Number> lengths,
                                    std::optional<Generator> generator = {}) {
  return random_split(dataset, std::vector<Number>(lengths), std::move(generator));
}

}  // namespace tandem::data::datasets
#pragma GCC visibility pop
