// The tensors of a batch that a data loader finds, and loaders with prefetching that have nothing to prefetch.
#include "tandem/data/batch_tensors.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "support/device.h"
#include "tandem/cuda/device.h"
#include "tandem/data/data.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/reduce.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::data {
namespace {

/// A user-defined batch type with another one as a part.
struct Boxes {
  Tensor corners;
  void for_each_tensor(const TensorVisitor& visit) { visit(corners); }
};
struct NamedPicture {
  Tensor pixels;
  std::string name;
  Boxes boxes;
  void for_each_tensor(const TensorVisitor& visit) {
    visit(pixels);
    boxes.for_each_tensor(visit);
  }
};

static_assert(detail::has_tensors<Tensor>() && detail::has_tensors<Example<>>() && detail::has_tensors<NamedPicture>());
static_assert(detail::has_tensors<TensorExample>() && detail::has_tensors<std::vector<Example<>>>());
static_assert(detail::has_tensors<std::pair<int, Tensor>>() && detail::has_tensors<Example<Tensor, int64_t>>());
static_assert(!detail::has_tensors<int>() && !detail::has_tensors<std::vector<size_t>>());
static_assert(!detail::has_tensors<std::string>() && !detail::has_tensors<Example<int, NoTarget>>());

/// Adds 1 to all tensors in the batch and returns how many there are.
template <class Batch>
int raise(Batch& batch) {
  int count = 0;
  detail::for_each_tensor(batch, [&](Tensor& t) {
    t = t + 1;
    ++count;
  });
  return count;
}

TEST(BatchTensors, AreFoundInEveryBatchType) {
  const Tensor zero = zeros({2});
  Tensor one = zero;
  EXPECT_EQ(raise(one), 1);
  EXPECT_EQ(one.sum().item<int>(), 2);
  Example<> example{zero, zero};
  EXPECT_EQ(raise(example), 2);
  EXPECT_EQ((example.data + example.target).sum().item<int>(), 4);
  TensorExample alone{zero};
  EXPECT_EQ(raise(alone), 1);
  std::vector<Example<>> unstacked(3, Example<>{zero, Tensor()});
  EXPECT_EQ(raise(unstacked), 3) << "undefined targets are skipped";
  std::map<std::string, std::pair<Tensor, int>> named{{"a", {zero, 1}}, {"b", {zero, 2}}};
  EXPECT_EQ(raise(named), 2);
  EXPECT_EQ(named["b"].first.sum().item<int>(), 2);
  std::tuple<std::array<Tensor, 2>, std::string, std::vector<int>> mixed{{zero, zero}, "name", {1}};
  EXPECT_EQ(raise(mixed), 2);
  NamedPicture picture{zero, "name", {zero}};
  EXPECT_EQ(raise(picture), 2);
  EXPECT_EQ(picture.boxes.corners.sum().item<int>(), 2);
}

struct Squares : datasets::Dataset<Squares> {
  Example<> get(size_t i) override { return {scalar_tensor(static_cast<double>(i * i)), tensor(static_cast<int>(i))}; }
  std::optional<size_t> size() const override { return 10; }
};

template <class Loader>
std::vector<double> two_epochs(Loader& loader) {
  std::vector<double> all;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (auto& batch : *loader) {
      EXPECT_TRUE(batch.data.is_cpu());
      for (int64_t i = 0; i < batch.data.numel(); ++i) all.push_back(batch.data[i].template item<double>());
    }
  }
  return all;
}

TEST(DataLoader, PrefetchToTheCpuChangesNothing) {
  TANDEM_TEST_ON_HOST();
  std::vector<std::vector<double>> seen;
  for (size_t workers : {0, 2}) {
    const auto options = DataLoaderOptions(3).workers(workers);
    for (const auto& o : {options, DataLoaderOptions(options).prefetch_to(kCPU)}) {
      manual_seed(3);
      auto loader = make_data_loader(Squares().map(transforms::Stack<>()), o);
      seen.push_back(two_epochs(loader));
    }
  }
  ASSERT_EQ(seen[0].size(), 20U);
  for (const auto& s : seen) EXPECT_EQ(s, seen[0]);
}

TEST(DataLoader, PinMemoryNeedsNoDevice) {
  TANDEM_TEST_ON_HOST();
  for (size_t workers : {0, 2}) {
    auto loader = make_data_loader<samplers::SequentialSampler>(Squares().map(transforms::Stack<>()),
                                                                DataLoaderOptions(4).workers(workers).pin_memory(true));
    size_t count = 0;
    for (const Example<>& batch : *loader) {
      EXPECT_EQ(batch.data.is_pinned(), cuda::is_available());
      EXPECT_EQ(batch.target[0].item<size_t>(), count);
      count += static_cast<size_t>(batch.data.numel());
    }
    EXPECT_EQ(count, 10U);
  }
}

}  // namespace
}  // namespace tandem::data
