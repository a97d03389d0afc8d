// A data loader that prefetches to the device, with a fake driver: which copies run on which stream, which stream waits
// for which, and that in steady state an epoch neither waits on the host nor allocates memory from the driver.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "cuda_fake/fake_driver.h"
#include "tandem/tandem.h"
#include "tandem/tensor/accelerator.h"

namespace tandem::cuda::testing {
namespace {

using namespace tandem::data;
using samplers::SequentialSampler;

/// Item i: the number i three times, and the target i. Throws at item `faulty`.
struct Numbers : datasets::Dataset<Numbers> {
  explicit Numbers(size_t count, size_t faulty = SIZE_MAX) : count(count), faulty(faulty) {}
  Example<> get(size_t i) override {
    if (i == faulty) throw std::runtime_error("item " + std::to_string(i));
    return {full({3}, static_cast<float>(i)), tensor(static_cast<int>(i))};
  }
  std::optional<size_t> size() const override { return count; }
  size_t count, faulty;
};

auto stacked(size_t count, size_t faulty = SIZE_MAX) { return Numbers(count, faulty).map(transforms::Stack<>()); }

/// A user-defined batch type.
struct Named {
  Tensor values;
  std::string name;
  void for_each_tensor(const TensorVisitor& visit) { visit(values); }
};

TEST(FakeDataLoader, BatchesArriveInOrderOnTheDevice) {
  for (size_t workers : {0, 1, 3}) {
    auto loader =
        make_data_loader<SequentialSampler>(stacked(10), DataLoaderOptions(4).workers(workers).prefetch_to(kCUDA));
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::vector<int64_t> seen;
      for (Example<>& batch : *loader) {
        EXPECT_EQ(batch.data.device(), Device(kCUDA, 0));
        EXPECT_EQ(batch.target.device(), Device(kCUDA, 0));
        const Tensor data = batch.data.cpu(), target = batch.target.cpu();
        for (int64_t i = 0; i < target.numel(); ++i) {
          seen.push_back(target[i].item<int64_t>());
          EXPECT_EQ(data.index({i, 2}).item<int64_t>(), seen.back());
        }
      }
      std::vector<int64_t> expected(10);
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(seen, expected) << workers << " workers";
    }
  }
}

TEST(FakeDataLoader, NextBatchIsCopiedOnASeparateStream) {
  Calls& calls = Calls::instance();
  auto loader = make_data_loader<SequentialSampler>(stacked(12), DataLoaderOptions(4).prefetch_to(kCUDA));
  auto it = loader->begin();
  calls.reset();
  ++it;  // returns the second batch, and sends the third
  const std::vector<Queued>& queue = calls.queued();
  const void* const compute = current_stream().handle();
  // First the memory of the first batch is returned after the loop's work on it, and that work now waits for the copy
  // of the second batch. Then come the copies of the third batch, each with the event that guards its page-locked
  // block, and the event for which the loop will wait.
  std::vector<std::string> names;
  for (const Queued& q : queue) names.push_back(q.call);
  ASSERT_EQ(names,
            (std::vector<std::string>{"record", "record", "wait", "copy", "record", "copy", "record", "record"}));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(queue[i].stream, compute) << i;
  for (size_t i = 3; i < queue.size(); ++i) {
    EXPECT_NE(queue[i].stream, compute) << i;
    if (queue[i].call == "copy") {
      EXPECT_TRUE(accelerator().is_pinned(queue[i].from));
    }
  }
  const void* const copied = queue[2].event;
  EXPECT_EQ(queue.back().event, copied);
  calls.reset();
  ++it;
  EXPECT_EQ(calls.queued()[2].event, copied);
  EXPECT_EQ(calls.copies(), 0) << "there is no fourth batch";
}

TEST(FakeDataLoader, SteadyStateNeitherWaitsNorAllocates) {
  Calls& calls = Calls::instance();
  for (size_t workers : {0, 2}) {
    auto loader = make_data_loader(stacked(64), DataLoaderOptions(4).workers(workers).prefetch_to(kCUDA));
    const auto epoch = [&] {
      for (const Example<>& batch : *loader) batch.data + batch.data;
    };
    for (int i = 0; i < 6; ++i) epoch();
    calls.reset();
    epoch();
    EXPECT_EQ(calls.waits(), 0) << calls.str();
    EXPECT_EQ(calls["cudaMalloc"], 0) << calls.str();
    // How far workers run ahead varies, and so does the number of blocks in use; without workers it is constant.
    if (workers == 0) {
      EXPECT_EQ(calls["cudaHostAlloc"], 0) << calls.str();
    }
    EXPECT_EQ(calls.copies(), 2 * 16) << calls.str();
  }
}

TEST(FakeDataLoader, MemoryInUseIsNotReused) {
  auto loader = make_data_loader<SequentialSampler>(stacked(40), DataLoaderOptions(4).prefetch_to(kCUDA));
  std::vector<const void*> seen;
  set_events_done(false);  // the loop's kernels lag behind: no block may be reused
  for (const Example<>& batch : *loader) {
    const void* p = batch.data.raw_bytes();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), p), 0);
    seen.push_back(p);
  }
  set_events_done(true);
  EXPECT_EQ(seen.size(), 10U);
  seen.clear();
  for (const Example<>& batch : *loader) seen.push_back(batch.data.raw_bytes());
  std::sort(seen.begin(), seen.end());
  EXPECT_LT(std::unique(seen.begin(), seen.end()) - seen.begin(), 10) << "now blocks are reused";
}

TEST(FakeDataLoader, ExceptionReplacesItsBatch) {
  for (size_t workers : {0, 2}) {
    auto loader =
        make_data_loader<SequentialSampler>(stacked(6, 3), DataLoaderOptions(1).workers(workers).prefetch_to(kCUDA));
    auto it = loader->begin();
    for (int i = 0; i < 3; ++i, i < 3 ? ++it : it) EXPECT_EQ(it->target.cpu().item<int>(), i);
    EXPECT_THROW(++it, std::runtime_error);
    ++it;
    EXPECT_EQ(it->target.cpu().item<int>(), 4);
    ++it;
    ++it;
    EXPECT_TRUE(it == loader->end());
  }
}

TEST(FakeDataLoader, PageLockedBatchesStayOnTheHost) {
  for (size_t workers : {0, 2}) {
    auto loader = make_data_loader(stacked(8), DataLoaderOptions(4).workers(workers).pin_memory(true));
    for (const Example<>& batch : *loader) EXPECT_TRUE(batch.data.is_pinned() && batch.target.is_pinned());
  }
}

TEST(FakeDataLoader, OtherBatchTypesAndDevices) {
  auto items = make_data_loader(Numbers(4), DataLoaderOptions(2).prefetch_to(Device(kCUDA, 1)));
  for (const std::vector<Example<>>& batch : *items) {
    EXPECT_EQ(batch[1].data.device(), Device(kCUDA, 1));
    EXPECT_EQ(current_device(), 0);
  }
  auto named = Numbers(4).map(transforms::Collate<Example<>, Named>([](std::vector<Example<>> items) {
    return Named{items[0].data, "first"};
  }));
  auto loader = make_data_loader(std::move(named), DataLoaderOptions(2).prefetch_to(kCUDA));
  for (const Named& batch : *loader) {
    EXPECT_TRUE(batch.values.is_cuda());
    EXPECT_EQ(batch.name, "first");
  }
}

TEST(FakeDataLoader, LoopOnAnotherStreamWaitsOnThatStream) {
  auto loader = make_data_loader(stacked(8), DataLoaderOptions(4).prefetch_to(kCUDA));
  const Stream ours = stream_from_pool();
  const StreamGuard on(ours);
  Calls& calls = Calls::instance();
  calls.reset();
  loader->begin();
  const auto& queue = calls.queued();
  const auto wait = std::find_if(queue.begin(), queue.end(), [](const Queued& q) { return q.call == "wait"; });
  ASSERT_NE(wait, queue.end());
  EXPECT_EQ(wait->stream, ours.handle());
}

}  // namespace
}  // namespace tandem::cuda::testing
