// Loaders, transforms and datasets reject invalid sizes, indices and files.
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "data/idx_files.h"
#include "support/bad_input.h"
#include "support/ordinary_user.h"
#include "support/throws.h"
#include "tandem/data/data.h"
#include "tandem/ops/softmax.h"
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

/// Batches without tensors.
struct Indices : data::datasets::Dataset<Indices, size_t> {
  size_t get(size_t i) override { return i; }
  std::optional<size_t> size() const override { return 1; }
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
      BAD_INPUT("DataLoader", make_data_loader(Numbers(3), 0), StateError, "batch_size is 0", "at least 1"),
      BAD_INPUT("DataLoader", make_data_loader(MoveOnly(), DataLoaderOptions(1).workers(2)), StateError,
                "cannot be copied", "workers(0)"),
      BAD_INPUT("DataLoader", make_data_loader(Numbers(3), DataLoaderOptions(1).timeout(std::chrono::milliseconds(-5))),
                StateError, "timeout is -5 ms", "at least 0"),
      BAD_INPUT("DataLoader", make_data_loader(Numbers(3), DataLoaderOptions(1).timeout(std::chrono::hours::min())),
                StateError, "timeout is -9223372036854775808 ms", "at least 0"),
      BAD_INPUT("DataLoader", make_data_loader(Numbers(3), DataLoaderOptions(1).workers(100'000)), StateError,
                "workers is 100000", "at most 4096"),
      BAD_INPUT("DataLoader", make_data_loader(Numbers(3), DataLoaderOptions(1).workers(SIZE_MAX)), StateError,
                "workers is 18446744073709551615", "at most 4096"),
      BAD_INPUT("DataLoader", make_data_loader(Numbers(3), DataLoaderOptions(1).workers(1).max_jobs(SIZE_MAX)),
                StateError, "max_jobs is 18446744073709551615", "at most 1048576"),
      BAD_INPUT("SequentialSampler", data::samplers::SequentialSampler(SIZE_MAX).next(SIZE_MAX), OutOfMemoryError,
                "a batch of 18446744073709551615 items", "lower batch_size"),
      BAD_INPUT("RandomSampler", data::samplers::RandomSampler(SIZE_MAX).reset(), StateError, "n = -1"),
      BAD_INPUT("make_data_loader", make_data_loader(Numbers(std::nullopt), 2), StateError, "size", "pass a sampler"),
      BAD_INPUT("DataLoader", make_data_loader(Indices(), DataLoaderOptions(1).pin_memory(true)), StateError,
                "pin_memory and prefetch_to", "for_each_tensor"),
      BAD_INPUT("DataLoader", make_data_loader(Indices(), DataLoaderOptions(1).prefetch_to(kCPU)), StateError,
                "pin_memory and prefetch_to", "for_each_tensor"),
      BAD_INPUT("DataLoader", make_data_loader(Numbers(3), DataLoaderOptions(1).prefetch_to("cuda:99")), DeviceError,
                "prefetch_to is cuda:99", "device_count()"),
  });
}

TEST(DataErrors, WorkersThatCannotStart) {
  const OrdinaryUser user;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NPROC, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
  EXPECT_THROWS(data::make_data_loader(Numbers(3), data::DataLoaderOptions(1).workers(2)), StateError,
                "DataLoader: the system could start only 0 of the workers", "use fewer");
  EXPECT_EQ(setrlimit(RLIMIT_NPROC, &before), 0);
}

TEST(DataErrors, CodeOfTheUserIsNotNamedAfterItsCaller) {
  const auto faulty = [](data::Example<> e) { return data::Example<>(softmax(e.data, 5), e.target); };
  for (const size_t workers : {0, 1}) {
    const auto loader = data::make_data_loader(Numbers(3).map(faulty), data::DataLoaderOptions(1).workers(workers));
    EXPECT_EQ(mismatch<IndexError>([&] { loader->begin(); }, {"dimension 5"}, "softmax"), "");
  }
}

TEST(DataErrors, Transforms) {
  using Items = std::vector<data::Example<>>;
  const Tensor none, x = ones({2, 3}), y = ones({5}), image = ones({2, 3, 8, 8}), t = tensor({1});
  const std::vector<double> two = {1, 2};
  const auto stacked = [](const Items& items) { return transforms::Stack<>().apply_batch(items); };
  const auto normalized = [=](const Tensor& input) { return transforms::Normalize<>(two, two)(input); };
  expect_refused({
      BAD_INPUT("Stack", stacked({}), StateError, "empty"),
      BAD_INPUT("Stack", transforms::Stack<data::TensorExample>().apply_batch({}), StateError, "empty"),
      BAD_INPUT("Stack", transforms::Stack<data::TensorExample>().apply_batch({x, y}), ShapeError, "tensor 1 is [5]",
                "[2, 3]", "same sizes"),
      BAD_INPUT("Stack", stacked({{x, t}, {y, t}}), ShapeError, "tensor 1 is [5]", "[2, 3]", "same sizes"),
      BAD_INPUT("Stack", stacked({{x, t}, {x, x}}), ShapeError, "tensor 1 is [2, 3]", "[1]", "same sizes"),
      UNDEFINED("Stack", stacked({{x, t}, {none, t}})),
      UNDEFINED("Stack", stacked({{x, t}, {x, none}})),
      BAD_INPUT("Normalize", normalized(image), ShapeError, "2 means", "[2, 3, 8, 8] f32", "one for each channel"),
      BAD_INPUT("Normalize", normalized(ones({1, 8, 8})), ShapeError, "2 means", "[1, 8, 8] f32", "[.., C, H, W]"),
      BAD_INPUT("Normalize", normalized(y), ShapeError, "2 means", "[5] f32", "[.., C, H, W]"),
      UNDEFINED("Normalize", normalized(none)),
      ON_TWO_DEVICES("Normalize", normalized(on_another_device({2, 8, 8}))),
      BAD_INPUT("Normalize", transforms::Normalize<>(0, 0), StateError, "stddev = 0", "above 0"),
      BAD_INPUT("Normalize", transforms::Normalize<>(0, -1), StateError, "stddev = -1", "above 0"),
      BAD_INPUT("Normalize", transforms::Normalize<>(0, std::nan("")), StateError, "stddev = nan", "above 0"),
      BAD_INPUT("Normalize", transforms::Normalize<>(INFINITY, 1), StateError, "mean = inf", "finite"),
      BAD_INPUT("Normalize", transforms::Normalize<>(two, {1.0, 2.0, 3.0}), ShapeError, "2 means", "3 stddevs"),
      BAD_INPUT("Normalize", transforms::Normalize<>(ArrayRef<double>(), ArrayRef<double>()), ShapeError, "0 means"),
      BAD_INPUT("Lambda", transforms::Lambda<int>(nullptr), StateError, "function is empty", "pass one"),
      BAD_INPUT("BatchLambda", transforms::BatchLambda<int>(nullptr), StateError, "function is empty", "pass one"),
      BAD_INPUT("BatchLambda", transforms::Collate<int>(nullptr), StateError, "function is empty", "pass one"),
      BAD_INPUT("TensorLambda", transforms::TensorLambda<>(nullptr), StateError, "function is empty", "pass one"),
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
      BAD_INPUT("StackedDataset", StackedDataset(Tensor(), y), StateError, "data is an undefined tensor", "give it"),
      BAD_INPUT("StackedDataset", StackedDataset(x, Tensor()), StateError, "targets is an undefined tensor", "give it"),
      BAD_INPUT("StackedDataset", StackedDataset(x, on_another_device({2})), DeviceError, "data is on cpu",
                "targets is on cuda", ".to(device)"),
      BAD_INPUT("StackedDataset", pick({0, 6}), IndexError, "index 6", "2 items", "below 2"),
      BAD_INPUT("StackedDataset", pick({SIZE_MAX}), IndexError, "2 items", "below 2"),
      BAD_INPUT("MNIST", MNIST(root), IoError, "train-images-idx3-ubyte", root, "dataset-fashion-mnist"),
      BAD_INPUT("MNIST", MNIST(root, MNIST::Mode::kTest), IoError, "t10k-images-idx3-ubyte", root, "fetch it"),
  });
}

TEST(DataErrors, PictureIndicesAndCounts) {
  const TemporaryFolder folder;
  folder.write("train-images-idx3-ubyte", idx_file({2, 28, 28}));
  folder.write("train-labels-idx1-ubyte", idx_file({2}));
  const std::string root = folder.path();
  MNIST pictures(root);
  expect_refused({bad_input<IndexError>("MNIST", "get(2)", [&] { pictures.get(2); },
                                        {"index 2", "2 pictures", "use a lower one"})});
  folder.write("train-labels-idx1-ubyte", idx_file({3}));
  expect_refused({BAD_INPUT("MNIST", MNIST(root), IoError, "3 labels", "2 pictures", "fetch both")});
  folder.write("train-labels-idx1-ubyte", {});
  expect_refused({BAD_INPUT("MNIST", MNIST(root), IoError, "idx1-ubyte: cut off", "fetch the file again")});
}

}  // namespace
}  // namespace tandem::testing
