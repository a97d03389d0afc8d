#pragma once
// Transforms: functions of items or batches, for dataset.map(). Names are libtorch's.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/base/op_scope.h"
#include "tandem/data/example.h"
#include "tandem/ops/shape.h"

#pragma GCC visibility push(default)
namespace tandem::data::transforms {

namespace detail {
/// Returns `function`. Throws StateError if it is empty.
template <class Function>
Function checked(const char* transform, Function function) {
  if (!function) throw StateError(transform, "the function is empty; pass one that transforms its input");
  return function;
}
/// Mean and standard deviation of Normalize, each [n, 1, 1].
struct MeanAndDeviation {
  MeanAndDeviation(ArrayRef<double> mean, ArrayRef<double> stddev);
  Tensor normalize(const Tensor& input) const;
  Tensor mean, stddev;
};
}  // namespace detail

/// Base class of transforms of a whole batch.
template <class Input, class Output>
class BatchTransform {
 public:
  using InputBatchType = Input;
  using OutputBatchType = Output;

  virtual ~BatchTransform() = default;
  /// Transforms a batch.
  virtual Output apply_batch(Input batch) = 0;
};

/// Base class of transforms of single items. A stacked batch, which is one Example, counts as one item.
template <class Input, class Output>
class Transform {
 public:
  using InputType = Input;
  using OutputType = Output;

  virtual ~Transform() = default;
  /// Transforms an item.
  virtual Output apply(Input input) = 0;

  /// Applies apply() to each item, or to a stacked batch.
  std::vector<Output> apply_batch(std::vector<Input> batch) {
    std::vector<Output> result;
    result.reserve(batch.size());
    for (Input& input : batch) result.push_back(apply(std::move(input)));
    return result;
  }
  Output apply_batch(Input stacked) { return apply(std::move(stacked)); }
};

/// Applies a function to each item: `Lambda<Example<>>([](Example<> e) { ...; return e; })`. The constructors of this
/// and of the other transforms made from functions throw StateError for an empty function.
template <class Input, class Output = Input>
class Lambda : public Transform<Input, Output> {
 public:
  using Function = std::function<Output(Input)>;
  explicit Lambda(Function function) : function_(detail::checked("Lambda", std::move(function))) {}
  Output apply(Input input) override { return function_(std::move(input)); }

 private:
  Function function_;
};

/// Applies a function to each batch.
template <class Input, class Output = Input>
class BatchLambda : public BatchTransform<Input, Output> {
 public:
  using Function = std::function<Output(Input)>;
  explicit BatchLambda(Function function) : function_(detail::checked("BatchLambda", std::move(function))) {}
  Output apply_batch(Input batch) override { return function_(std::move(batch)); }

 private:
  Function function_;
};

/// Base class of batch transforms that make one `Output` from a vector of items, as Stack does.
template <class Output, class Batch = std::vector<Output>>
using Collation = BatchTransform<Batch, Output>;

/// A BatchLambda that makes one `Output` from a vector of items.
template <class Item, class Output = Item>
using Collate = BatchLambda<std::vector<Item>, Output>;

/// Base class of transforms of the `data` tensor that leave the target unchanged.
template <class Target = Tensor>
class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  using E = Example<Tensor, Target>;
  virtual Tensor operator()(Tensor input) = 0;
  E apply(E input) override {
    input.data = (*this)(std::move(input.data));
    return input;
  }
};

/// Applies a function to the `data` tensor.
template <class Target = Tensor>
class TensorLambda : public TensorTransform<Target> {
 public:
  using Function = std::function<Tensor(Tensor)>;
  explicit TensorLambda(Function function) : function_(detail::checked("TensorLambda", std::move(function))) {}
  Tensor operator()(Tensor input) override { return function_(std::move(input)); }

 private:
  Function function_;
};

/// Replaces data by (data - mean) / stddev, for images [.., C, H, W]: one mean and stddev for all channels, or one for
/// each channel. Throws StateError unless the numbers are finite and stddev is above 0, ShapeError if their counts
/// differ or do not fit the channels.
template <class Target = Tensor>
class Normalize : public TensorTransform<Target> {
 public:
  Normalize(double mean, double stddev) : Normalize(ArrayRef<double>(&mean, 1), ArrayRef<double>(&stddev, 1)) {}
  Normalize(ArrayRef<double> mean, ArrayRef<double> stddev) : numbers_(mean, stddev) {}

  Tensor operator()(Tensor input) override { return numbers_.normalize(input); }

 private:
  detail::MeanAndDeviation numbers_;
};

/// Stacks the data and the targets, if any, of a batch's items along a new dimension 0. Throws ShapeError for items of
/// unequal sizes, StateError for an empty batch.
template <class E = Example<>>
struct Stack : BatchTransform<std::vector<E>, E> {
  E apply_batch(std::vector<E> examples) override {
    const OpScope op("Stack");
    std::vector<Tensor> data, targets;
    data.reserve(examples.size());
    targets.reserve(examples.size());
    for (E& e : examples) {
      data.push_back(std::move(e.data));
      targets.push_back(std::move(e.target));
    }
    return {stack(data, 0), stack(targets, 0)};
  }
};

template <>
struct Stack<TensorExample> : BatchTransform<std::vector<TensorExample>, TensorExample> {
  TensorExample apply_batch(std::vector<TensorExample> examples) override {
    const OpScope op("Stack");
    std::vector<Tensor> data;
    data.reserve(examples.size());
    for (TensorExample& e : examples) data.push_back(std::move(e.data));
    return stack(data, 0);
  }
};

}  // namespace tandem::data::transforms
#pragma GCC visibility pop
