#pragma once
// MapDataset: a dataset with a transform applied to its batches, as returned by dataset.map(transform).
#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/data/dataset.h"
#include "tandem/data/transforms.h"
#include "tandem/tensor/state_dict.h"

#pragma GCC visibility push(default)
namespace tandem::data::datasets {

namespace detail {

/// The batch that get_batch() returns, inside of std::optional for a StatefulDataset.
template <class Source>
struct BatchOf {
  using type = typename Source::BatchType;
};
template <IsStateful Source>
struct BatchOf<Source> {
  using type = typename Source::BatchType::value_type;
};

template <class Source, class Transform>
struct MappedBatch {
  using type = decltype(std::declval<Transform&>().apply_batch(std::declval<typename BatchOf<Source>::type>()));
};
template <IsStateful Source, class Transform>
struct MappedBatch<Source, Transform> {
  using type =
      std::optional<decltype(std::declval<Transform&>().apply_batch(std::declval<typename BatchOf<Source>::type>()))>;
};

}  // namespace detail

/// Batches of `Source` after `Transform::apply_batch`. It is random if the source is, or if the transform has a member
/// `bool is_random() const` that returns true.
template <class Source, class Transform>
class MapDataset
    : public BatchDataset<MapDataset<Source, Transform>, typename detail::MappedBatch<Source, Transform>::type,
                          typename Source::BatchRequestType> {
 public:
  using BatchType = typename detail::MappedBatch<Source, Transform>::type;
  using DatasetType = Source;
  using TransformType = Transform;

  MapDataset(Source dataset, Transform transform) : dataset_(std::move(dataset)), transform_(std::move(transform)) {}

  BatchType get_batch(typename Source::BatchRequestType request) override {
    if constexpr (detail::IsStateful<Source>) {
      typename Source::BatchType batch = dataset_.get_batch(std::move(request));
      if (!batch) return std::nullopt;
      return transform_.apply_batch(std::move(*batch));
    } else {
      return transform_.apply_batch(dataset_.get_batch(std::move(request)));
    }
  }
  std::optional<size_t> size() const override { return dataset_.size(); }
  bool is_random() const override {
    if constexpr (requires { transform_.is_random(); }) {
      return dataset_.is_random() || transform_.is_random();
    } else {
      return dataset_.is_random();
    }
  }

  /// Those of a StatefulDataset.
  void reset() requires detail::IsStateful<Source> { dataset_.reset(); }
  StateDict state_dict() const requires detail::IsStateful<Source> { return dataset_.state_dict(); }
  StateCommit prepare_load_state_dict(const StateDict& state) requires detail::IsStateful<Source> {
    return dataset_.prepare_load_state_dict(state);
  }

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
  using Batch = typename BatchOf<Source>::type;
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
