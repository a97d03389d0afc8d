// A data loader that prefetches, with a loop that never waits: every batch is complete when the loop's kernels use it,
// and their results equal those of the host.
#include <gtest/gtest.h>

#include <optional>

#include "tandem/tandem.h"

namespace tandem::cuda::testing {
namespace {

using namespace tandem::data;

/// Item i: 1000 times the number i, and the target i.
struct Numbers : datasets::Dataset<Numbers> {
  Example<> get(size_t i) override { return {full({1000}, static_cast<double>(i)), tensor(static_cast<int>(i))}; }
  std::optional<size_t> size() const override { return 40; }
};

TEST(Prefetch, BatchesAreCompleteWhenUsed) {
  for (const size_t workers : {0, 1, 3}) {
    auto loader = make_data_loader<samplers::SequentialSampler>(
        Numbers().map(transforms::Stack<>()), DataLoaderOptions(4).workers(workers).prefetch_to(kCUDA));
    const Tensor sums = zeros({2}, TensorOptions(kDouble).device(kCUDA));
    double expected = 0, position = 0;
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (const Example<>& batch : *loader) {
        position += 1;
        sums[0].add_(batch.data.sum() * position);
        sums[1].add_(batch.target.to(kDouble).sum() * position);
        for (int i = 0; i < 4; ++i) expected += position * (static_cast<int>(position - 1) % 10 * 4 + i);
      }
    }
    EXPECT_EQ(sums[0].item<double>(), 1000 * expected) << workers << " workers";
    EXPECT_EQ(sums[1].item<double>(), expected) << workers << " workers";
  }
}

}  // namespace
}  // namespace tandem::cuda::testing
