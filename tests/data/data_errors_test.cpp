// Loaders, transforms and datasets refuse sizes, indices and files that they cannot use.
#include <vector>

#include "data/idx_files.h"
#include "support/bad_input.h"
#include "support/throws.h"
#include "tandem/data/data.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using data::datasets::MNIST;
using data::datasets::StackedDataset;
namespace transforms = data::transforms;

struct Numbers : data::datasets::Dataset<Numbers> {
  explicit Numbers(std::optional<size_t> count) : count(count) {}
  data::Example<> get(size_t i) override { return {scalar_tensor(static_cast<double>(i)), tensor(1)}; }
  std::optional<size_t> size() const override { return count; }
  std::optional<size_t> count;
};

struct MoveOnly : data::datasets::Dataset<MoveOnly> {
  MoveOnly() = default;
  MoveOnly(MoveOnly&&) = default;
  data::Example<> get(size_t) override { return {}; }
  std::optional<size_t> size() const override { return 1; }
};

TEST(DataErrors, Loaders) {
  using data::DataLoaderOptions;
  using data::make_data_loader;
  expect_refused({
      BAD_INPUT("data loader", make_data_loader(Numbers(3), 0), StateError, "batch_size is 0", "at least 1"),
      BAD_INPUT("data loader", make_data_loader(MoveOnly(), DataLoaderOptions(1).workers(2)), StateError,
                "cannot be copied", "workers(0)"),
      BAD_INPUT("make_data_loader", make_data_loader(Numbers(std::nullopt), 2), StateError, "size", "give a sampler"),
  });
}

TEST(DataErrors, Transforms) {
  using Items = std::vector<data::Example<>>;
  const Tensor none, x = ones({2, 3}), y = ones({5}), image = ones({2, 3, 8, 8}), t = tensor({1});
  const std::vector<double> two = {1, 2};
  const auto stacked = [](const Items& items) { return transforms::Stack<>().apply_batch(items); };
  const auto normalized = [=](const Tensor& input) { return transforms::Normalize<>(two, two)(input); };
  expect_refused({
      BAD_INPUT("stack", stacked({}), StateError, "empty"),
      BAD_INPUT("stack", transforms::Stack<data::TensorExample>().apply_batch({}), StateError, "empty"),
      BAD_INPUT("stack", stacked({{x, t}, {y, t}}), ShapeError, "tensor 1 is [5]", "[2, 3]", "same sizes"),
      BAD_INPUT("stack", stacked({{x, t}, {x, x}}), ShapeError, "tensor 1 is [2, 3]", "[1]", "same sizes"),
      UNDEFINED("stack", stacked({{x, t}, {none, t}})),
      UNDEFINED("stack", stacked({{x, t}, {x, none}})),
      BAD_INPUT("sub", normalized(image), ShapeError, "[2, 3, 8, 8]", "[2, 1, 1]", "equal or 1"),
      UNDEFINED("sub", normalized(none)),
      ON_TWO_DEVICES("sub", normalized(on_another_device({2, 8, 8}))),
  });
}

TEST(DataErrors, Datasets) {
  const Tensor x = ones({2, 3}), y = ones({5}), number = scalar_tensor(1);
  const TemporaryFolder folder;
  const std::string root = folder.path();
  const auto pick = [=](std::vector<size_t> indices) { return StackedDataset(x, tensor({0, 1})).get_batch(indices); };
  expect_refused({
      BAD_INPUT("StackedDataset", StackedDataset(x, y), ShapeError, "data is [2, 3]", "targets is [5]", "equal"),
      BAD_INPUT("StackedDataset", StackedDataset(number, y), ShapeError, "data is []", "targets is [5]"),
      BAD_INPUT("StackedDataset", StackedDataset(x, number), ShapeError, "data is [2, 3]", "targets is []"),
      BAD_INPUT("MNIST", MNIST(root), IoError, "train-images-idx3-ubyte", root, "dataset-fashion-mnist"),
      BAD_INPUT("MNIST", MNIST(root, MNIST::Mode::kTest), IoError, "t10k-images-idx3-ubyte", root, "fetch it"),
  });
  EXPECT_THROWS(pick({0, 6}), IndexError, "index 6", "size 2", "at most 1");
  EXPECT_THROWS(StackedDataset(Tensor(), y), StateError, "undefined tensor", "give it a value first");
  EXPECT_THROWS(StackedDataset(x, Tensor()), StateError, "undefined tensor", "give it a value first");
}

TEST(DataErrors, PicturesAreCounted) {
  const TemporaryFolder folder;
  folder.write("train-images-idx3-ubyte", idx_file({2, 28, 28}));
  folder.write("train-labels-idx1-ubyte", idx_file({2}));
  MNIST pictures(folder.path());
  expect_refused({bad_input<IndexError>("MNIST", "get(2)", [&] { pictures.get(2); }, {"index 2", "2 pictures"})});
}

}  // namespace
}  // namespace tandem::testing
