#pragma once
// MapDataset: a dataset with a transform applied to its batches, as returned by dataset.map(transform).
#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/data/dataset.h"
#include "tandem/data/transforms.h"

#pragma GCC visibility push(default)
namespace tandem::data::datasets {

/// Batches of `Source` after `Transform::apply_batch`.
template <class Source, class Transform>
class MapDataset
    : public BatchDataset<MapDataset<Source, Transform>,
                          decltype(std::declval<Transform&>().apply_batch(std::declval<typename Source::BatchType>())),
                          typename Source::BatchRequestType> {
 public:
  using BatchType = decltype(std::declval<Transform&>().apply_batch(std::declval<typename Source::BatchType>()));
  using DatasetType = Source;
  using TransformType = Transform;

  MapDataset(Source dataset, Transform transform) : dataset_(std::move(dataset)), transform_(std::move(transform)) {}

  BatchType get_batch(typename Source::BatchRequestType request) override {
    return transform_.apply_batch(dataset_.get_batch(std::move(request)));
  }
  std::optional<size_t> size() const override { return dataset_.size(); }

  const Source& dataset() const { return dataset_; }
  const Transform& transform() const { return transform_; }

 private:
  Source dataset_;
  Transform transform_;
};

namespace detail {

template <class Batch>
struct ItemOf {
  using type = Batch;  // a stacked batch counts as one item
};
template <class Item>
struct ItemOf<std::vector<Item>> {
  using type = Item;
};

/// A function of an `Input` with a result, as opposed to a transform.
template <class F, class Input>
concept FunctionOf = std::invocable<F&, Input> && !std::is_void_v<std::invoke_result_t<F&, Input>> && !requires {
  typename F::InputType;
}
&&!requires { typename F::InputBatchType; };

template <class Source, class Transform>
auto map(Source source, Transform transform) {
  using Batch = typename Source::BatchType;
  using Item = typename ItemOf<Batch>::type;
  if constexpr (requires(Batch batch) { transform.apply_batch(std::move(batch)); }) {
    return MapDataset<Source, Transform>(std::move(source), std::move(transform));
  } else if constexpr (FunctionOf<Transform, Item>) {
    using Output = std::remove_cvref_t<std::invoke_result_t<Transform&, Item>>;
    return map(std::move(source), transforms::Lambda<Item, Output>(std::move(transform)));
  } else if constexpr (FunctionOf<Transform, Batch>) {
    using Output = std::remove_cvref_t<std::invoke_result_t<Transform&, Batch>>;
    return map(std::move(source), transforms::BatchLambda<Batch, Output>(std::move(transform)));
  } else {
    constexpr bool is_transform_or_function = !std::is_same_v<Source, Source>;
    static_assert(is_transform_or_function,
                  "dataset.map needs a transform of this dataset's batches, or a function that takes an item (or a "
                  "batch) by value or const reference and returns the new one; for a function of the data tensor "
                  "alone use transforms::TensorLambda");
  }
}

}  // namespace detail
}  // namespace tandem::data::datasets
#pragma GCC visibility pop
