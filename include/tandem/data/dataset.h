#pragma once
// Base classes of datasets: a Dataset returns one item at a time, a BatchDataset a whole batch.
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/base/shape.h"
#include "tandem/data/example.h"

#pragma GCC visibility push(default)
namespace tandem::data::datasets {

namespace detail {
/// Defined in data/map.h.
template <class Source, class Transform>
auto map(Source source, Transform transform);

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// A StatefulDataset, or one with transforms.
template <class D>
concept IsStateful = is_optional<typename D::BatchType> && requires(D& dataset) {
  dataset.reset();
};
}  // namespace detail

/// A dataset that answers requests for batches. `Self` is the derived class. Each worker thread of a loader has its own
/// copy of the dataset; if `get_batch` changes state, copies must not share it.
template <class Self, class Batch = std::vector<Example<>>, class Request = ArrayRef<size_t>>
class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = Request;

  virtual ~BatchDataset() = default;
  /// Returns the requested items. A request is by default a list of indices below size().
  virtual Batch get_batch(Request request) = 0;
  /// Returns the number of items; nullopt if it is unknown.
  virtual std::optional<size_t> size() const = 0;
  /// Returns whether get_batch() draws from data::transform_generator(). Loaders then seed it for each batch. A dataset
  /// with random transforms is random.
  virtual bool is_random() const { return false; }

  /// Returns a MapDataset: this dataset with `transform` applied to its batches. `transform` is a transform
  /// (data/transforms.h), a function of an item, `dataset.map([](data::Example<> e) { ...; return e; })`, or a function
  /// of a whole batch.
  template <class Transform>
  auto map(Transform transform) & {
    return detail::map(static_cast<Self&>(*this), std::move(transform));
  }
  template <class Transform>
  auto map(Transform transform) && {
    return detail::map(std::move(static_cast<Self&>(*this)), std::move(transform));
  }
};

/// A dataset whose request is only the number of items: a stream without positions. It needs a StreamSampler; each
/// worker reads a stream of its own. StatefulDataset (data/datasets/stateful.h) is for streams with an end, or to be
/// resumed.
template <class Self, class Batch = std::vector<Example<>>>
using StreamDataset = BatchDataset<Self, Batch, size_t>;

/// A dataset that returns one item by its index; a batch is a vector of items.
template <class Self, class SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;

  /// Returns the item at an index below size().
  virtual ExampleType get(size_t index) = 0;

  std::vector<ExampleType> get_batch(ArrayRef<size_t> indices) override {
    std::vector<ExampleType> batch;
    batch.reserve(indices.size());
    for (size_t i : indices) batch.push_back(get(i));
    return batch;
  }
};

}  // namespace tandem::data::datasets

namespace tandem::data {
using datasets::BatchDataset;
using datasets::Dataset;
}  // namespace tandem::data
#pragma GCC visibility pop

#include "tandem/data/map.h"
