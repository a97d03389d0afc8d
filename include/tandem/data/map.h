#pragma once
// MapDataset: a dataset seen through a transform; what dataset.map(transform) makes.
#include <optional>
#include <type_traits>
#include <utility>

#include "tandem/data/dataset.h"

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

}  // namespace tandem::data::datasets
