#pragma once
// Example: one item of a dataset, or a batch of items stacked into one.
#include <utility>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::data {

/// The target of a dataset without targets.
struct NoTarget {};

/// Input and target of one item, or of a stacked batch.
template <class Data = Tensor, class Target = Tensor>
struct Example {
  using DataType = Data;
  using TargetType = Target;

  Example() = default;
  Example(Data data_, Target target_) : data(std::move(data_)), target(std::move(target_)) {}

  Data data;
  Target target;
};

/// An item without a target; converts from and to its data.
template <class Data>
struct Example<Data, NoTarget> {
  using DataType = Data;
  using TargetType = NoTarget;

  Example() = default;
  Example(Data data_) : data(std::move(data_)) {}
  operator const Data&() const { return data; }

  Data data;
  static constexpr NoTarget target{};
};

using TensorExample = Example<Tensor, NoTarget>;

}  // namespace tandem::data
#pragma GCC visibility pop
