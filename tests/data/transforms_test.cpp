// Transforms of examples, and datasets with transforms.
#include "tandem/data/transforms.h"

#include <gtest/gtest.h>

#include "data/values.h"
#include "support/device.h"
#include "support/throws.h"
#include "tandem/data/dataset.h"
#include "tandem/data/datasets/stacked.h"
#include "tandem/ops/elementwise.h"
#include "tandem/tensor/factories.h"

namespace tandem::data {
namespace {

using namespace transforms;
using testing::floats;

Tensor filled(float first, IntArrayRef sizes) {
  const Tensor t = empty(sizes, kCPU);
  for (int64_t i = 0; i < t.numel(); ++i) t.raw<float>()[i] = first + static_cast<float>(i);
  return t;
}

/// Item i: data [2, 1, 1] with values 10 i and 10 i + 1, target i.
struct Tens : datasets::Dataset<Tens> {
  Example<> get(size_t i) override {
    return {filled(10.0f * static_cast<float>(i), {2, 1, 1}), scalar_tensor(static_cast<int64_t>(i), kLong)};
  }
  std::optional<size_t> size() const override { return 4; }
};

/// No targets, and unknown size.
struct Numbers : datasets::Dataset<Numbers, TensorExample> {
  TensorExample get(size_t i) override { return filled(static_cast<float>(i), {2}); }
  std::optional<size_t> size() const override { return std::nullopt; }
};

TEST(Transforms, NormalizeOneOrEveryChannel) {
  EXPECT_EQ(floats(Normalize<>(1, 2)(filled(1, {2, 1, 2}))), (std::vector<float>{0, 0.5f, 1, 1.5f}));
  EXPECT_EQ(floats(Normalize<>({1.0, 3.0}, {1.0, 0.5})(filled(1, {2, 1, 2}))), (std::vector<float>{0, 1, 0, 2}));
  // A stacked batch is normalised like its items.
  EXPECT_EQ(floats(Normalize<>({1.0, 3.0}, {1.0, 0.5})(filled(1, {2, 2, 1, 1}))), (std::vector<float>{0, -2, 2, 2}));
}

TEST(Transforms, MapsRunInOrder) {
  Tens tens;
  auto mapped = tens.map(Normalize<>(1, 2)).map(Stack<>());
  EXPECT_EQ(mapped.size(), 4U);
  const std::vector<size_t> indices = {3, 1};
  const Example<> batch = mapped.get_batch(indices);
  EXPECT_EQ(to_string(batch.data.sizes()), "[2, 2, 1, 1]");
  EXPECT_EQ(floats(batch.data), (std::vector<float>{14.5f, 15, 4.5f, 5}));
  EXPECT_EQ(to_string(batch.target.sizes()), "[2]");
  EXPECT_EQ(batch.target[0].item<int64_t>(), 3);
}

TEST(Transforms, LambdasOfItemsTensorsAndBatches) {
  const std::vector<size_t> indices = {0, 2};
  auto doubled = Tens().map(Lambda<Example<>>([](Example<> e) {
    e.target = filled(7, {1});
    return e;
  }));
  EXPECT_EQ(floats(doubled.get_batch(indices)[1].target), std::vector<float>{7});

  auto sizes = Tens().map(Lambda<Example<>, int>([](Example<> e) { return static_cast<int>(e.data.numel()); }));
  EXPECT_EQ(sizes.get_batch(indices), (std::vector<int>{2, 2}));

  auto tensors = Tens().map(TensorLambda<>([](Tensor x) { return sub(x, 5); }));
  EXPECT_EQ(floats(tensors.get_batch(indices)[1].data), (std::vector<float>{15, 16}));

  auto counted = Tens().map(Collate<Example<>, size_t>([](std::vector<Example<>> batch) { return batch.size(); }));
  EXPECT_EQ(counted.get_batch(indices), 2U);
}

TEST(Transforms, FunctionsOfItemsAndBatches) {
  const std::vector<size_t> indices = {0, 2};
  auto doubled = Tens().map([](Example<> e) {
    e.data = mul(e.data, 2);
    return e;
  });
  EXPECT_EQ(floats(doubled.get_batch(indices)[1].data), (std::vector<float>{40, 42}));
  EXPECT_EQ(doubled.map([](const auto& e) { return e.data.numel(); }).get_batch(indices), (std::vector<int64_t>{2, 2}));
  auto counted = doubled.map([](std::vector<Example<>> batch) { return batch.size(); });
  EXPECT_EQ(counted.get_batch(indices), 2U);
  auto stacked = Tens().map(Stack<>()).map([calls = 0.0](Example<> batch) mutable {
    batch.target = scalar_tensor(++calls);
    return batch;
  });
  stacked.get_batch(indices);
  EXPECT_EQ(stacked.get_batch(indices).target.item<double>(), 2);
  EXPECT_THROWS(Tens().map(std::function<int(Example<>)>()), StateError, "Lambda: the function is empty");
}

TEST(Transforms, ExamplesWithoutTargets) {
  Numbers numbers;
  EXPECT_EQ(numbers.size(), std::nullopt);
  const std::vector<size_t> indices = {4, 8};
  const Tensor batch = numbers.map(Stack<TensorExample>()).get_batch(indices);
  EXPECT_EQ(floats(batch), (std::vector<float>{4, 5, 8, 9}));
  auto normalised = numbers.map(Normalize<NoTarget>(0, 2)).map(Stack<TensorExample>()).get_batch(indices);
  EXPECT_EQ(floats(normalised.data), (std::vector<float>{2, 2.5f, 4, 4.5f}));
}

TEST(Transforms, ApplyToStackedDatasets) {
  TANDEM_TEST_ON_HOST();
  auto dataset = datasets::StackedDataset(filled(0, {4, 1, 1, 2}), arange(4)).map(Normalize<>(1, 0.5));
  const std::vector<size_t> indices = {3, 0};
  const Example<> batch = dataset.get_batch(indices);
  EXPECT_EQ(to_string(batch.data.sizes()), "[2, 1, 1, 2]");
  EXPECT_EQ(floats(batch.data), (std::vector<float>{10, 12, -2, 0}));
}

}  // namespace
}  // namespace tandem::data
