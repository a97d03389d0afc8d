#pragma once
// The bases of datasets, which a program derives from: Dataset gives one item at a time, BatchDataset a whole batch.
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/base/shape.h"
#include "tandem/data/example.h"

namespace tandem::data::datasets {

namespace detail {
/// Defined in data/map.h.
template <class Source, class Transform>
auto map(Source source, Transform transform);
}  // namespace detail

/// A dataset that answers requests for batches. `Self` is the deriving class. With worker threads, each has a copy of
/// the dataset, so copies must be independent of each other where `get_batch` changes something.
template <class Self, class Batch = std::vector<Example<>>, class Request = ArrayRef<size_t>>
class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = Request;

  virtual ~BatchDataset() = default;
  /// The items at `request`, by default indices below size().
  virtual Batch get_batch(Request request) = 0;
  /// Number of items; nullopt when there is no telling.
  virtual std::optional<size_t> size() const = 0;

  /// A MapDataset: this dataset with its batches changed by `transform`. That is a transform (data/transforms.h), or a
  /// function: of an item, `dataset.map([](data::Example<> e) { ...; return e; })`, or else of a whole batch.
  template <class Transform>
  auto map(Transform transform) & {
    return detail::map(static_cast<Self&>(*this), std::move(transform));
  }
  template <class Transform>
  auto map(Transform transform) && {
    return detail::map(std::move(static_cast<Self&>(*this)), std::move(transform));
  }
};

/// A dataset that gives one item by its index; a batch is a vector of them.
template <class Self, class SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;

  virtual ExampleType get(size_t index) = 0;

  std::vector<ExampleType> get_batch(ArrayRef<size_t> indices) override {
    std::vector<ExampleType> batch;
    batch.reserve(indices.size());
    for (size_t i : indices) batch.push_back(get(i));
    return batch;
  }
};

}  // namespace tandem::data::datasets

#include "tandem/data/map.h"
