// Calls between ranks on CUDA devices: what a step submits, what happens to memory, and what every rank learns of a
// failure. Values are tested by the tests of distributed/, which run on emulated devices too.
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <latch>
#include <map>
#include <string>
#include <thread>

#include "cuda_emulated/device/communications.h"
#include "cuda_emulated/device/device.h"
#include "distributed/joint_batch.h"
#include "support/throws.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/cuda/graph.h"
#include "tandem/optim/sgd.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/stream.h"

namespace tandem::testing {
namespace {

using cuda::emulated::Communication;
using distributed::ReduceOp;
using distributed::Work;
using nn::parallel::DistributedDataParallel;
using std::chrono::milliseconds;

class Nccl : public ::testing::Test {
 protected:
  void SetUp() override { cuda::emulated::clear_communications(); }
  void TearDown() override {
    accelerator().fail(nullptr);
    for (const int rank : {0, 1}) {
      cuda::emulated::set_communication_error(rank, ncclSuccess);
      cuda::emulated::set_communication_looks(rank, 0);
    }
  }

  /// Runs `rank(group)` on two threads, each with a device.
  static void on_two(const std::function<void(const Group&)>& rank,
                     const distributed::ProcessGroupOptions& options = {}) {
    const DefaultDeviceGuard on_cuda(kCUDA);
    on_threads(2, rank, options);
  }
};

/// Waits until the group has noticed a failure, and returns its message.
std::string failure() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    try {
      accelerator().synchronize_stream(current_stream(Device(kCUDA)));
    } catch (const Error& e) {
      return e.what();
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  return "";
}

TEST_F(Nccl, AStepReducesEachGradientOnceAndDoesNotWait) {
  std::atomic<int64_t> elements = 0;
  on_two([&](const Group& group) {
    MlpImpl net(0);
    DistributedDataParallel model(net, options_of(group).bucket_cap_mb(1e-6));  // a bucket for each parameter
    optim::SGD optimizer(net.parameters(), 0.1);
    amp::GradScaler scaler;
    const auto step = [&] {
      optimizer.zero_grad();
      const Tensor y = model(part_of(inputs(), group->rank(), group->size()));
      scaler.scale(mean_square(y, part_of(targets(), group->rank(), group->size()))).backward();
      scaler.step(optimizer);
      scaler.update();
    };
    scaler.set_process_group(group);
    for (int i = 0; i < 3; ++i) step();
    cuda::synchronize();
    group->barrier();
    if (group->rank() == 0) cuda::emulated::clear_communications();
    const int64_t waits = cuda::emulated::counts().waits;
    group->barrier();
    step();
    group->barrier();
    if (group->rank() == 0) {
      EXPECT_EQ(cuda::emulated::counts().waits, waits);
    }
    group->barrier();  // the parameters' values are read only now
    for (const Tensor& p : net.parameters()) {
      expect_same_on_all_ranks(group, p);
      if (group->rank() == 0) elements += p.numel();
    }
  });
  size_t gradients = 0, flags = 0;
  for (const Communication& c : cuda::emulated::communications()) {
    if (c.call != "ncclAllReduce" || c.rank != 0) continue;
    EXPECT_NE(c.stream, nullptr) << "beside the computation, on a stream of its own";
    (c.bytes > sizeof(float) ? gradients : flags) += c.bytes;
  }
  EXPECT_EQ(gradients, static_cast<size_t>(elements) * sizeof(double));
  EXPECT_EQ(flags, sizeof(float));
}

TEST_F(Nccl, MemoryIsNotReusedBeforeTheCallHasRead) {
  on_two([](const Group& group) {
    for (int i = 0; i < 3; ++i) {
      const Tensor y = zeros({1000}), z = zeros({1000});
      {
        const Tensor x = full({1000}, 1.0 + group->rank());
        const std::vector<Tensor> outputs{y, z};
        static_cast<void>(group->all_gather_async(outputs, x));
      }
      full({1000}, 7.0);  // would get the memory of x
      group->all_reduce(ones({1}));
      EXPECT_EQ(y.mean().item<float>(), 1);
      EXPECT_EQ(z.mean().item<float>(), 2);
    }
  });
}

// The parts of all ranks may follow each other in memory or not.
TEST_F(Nccl, GatheringAndScatteringAreOneCall) {
  on_two([](const Group& group) {
    const auto rank = group->rank();
    const Tensor block = zeros({2, 3}), apart = zeros({3}), mine = full({3}, 1.0 + rank);
    for (const std::vector<Tensor>& parts :
         {std::vector{block.select(0, 0), block.select(0, 1)}, std::vector{block.select(0, 1), apart}}) {
      for (const Tensor& part : parts) part.zero_();
      group->all_gather(parts, mine);
      EXPECT_EQ(parts[0].min().item<float>(), 1);
      EXPECT_EQ(parts[1].max().item<float>(), 2);
      group->reduce_scatter(mine, parts);
      EXPECT_EQ(mine.min().item<float>(), 2 * (1 + rank));
      mine.fill_(1 + rank);
    }
  });
  std::map<std::string, int> calls;
  for (const Communication& c : cuda::emulated::communications()) ++calls[c.call];
  EXPECT_EQ(calls, (std::map<std::string, int>{{"ncclAllGather", 4}, {"ncclReduceScatter", 4}}));
}

TEST_F(Nccl, CallsThatNcclStartsLaterAreWaitedFor) {
  for (const int rank : {0, 1}) cuda::emulated::set_communication_looks(rank, 3);
  on_two([](const Group& group) {
    const Tensor x = ones({5});
    for (int i = 0; i < 3; ++i) group->all_reduce(x);
    EXPECT_EQ(x.sum().item<float>(), 40);
  });
}

TEST_F(Nccl, ARankThatWaitsForNcclLearnsOfAFailure) {
  on_two([](const Group& group) {
    group->all_reduce(ones({1}));
    cuda::synchronize();
    group->barrier();
    static_cast<void>(group->send_async(ones({4}), 1 - group->rank()));  // nobody receives it
    group->barrier();
    if (group->rank() == 0) {
      cuda::emulated::set_communication_looks(0, int64_t{1} << 40);  // all but forever
      cuda::emulated::set_communication_error(0, ncclRemoteError);
      EXPECT_THROWS(group->all_reduce(ones({4})), StateError, "NCCL reports remote process exited");
    } else {
      EXPECT_NE(failure().find("NCCL reports remote process exited"), std::string::npos);
    }
  });
}

TEST_F(Nccl, WorkSubmittedBeforeACallIsSentAndWorkAfterWaitSeesTheResult) {
  on_two([](const Group& group) {
    const Tensor x = zeros({100});
    x.add_(1 + group->rank());
    const Work work = group->all_reduce_async(x);
    work.wait();
    x.mul_(2);
    EXPECT_EQ(x.max().item<float>(), 6);
    EXPECT_TRUE(work.is_completed());
    EXPECT_EQ(work.exception(), nullptr);
  });
}

TEST_F(Nccl, MessagesOfBothDirectionsPassEachOther) {
  on_two([](const Group& group) {
    const int other = 1 - group->rank();
    const Tensor received = zeros({50}), again = zeros({3}, kHalf);
    const Work sent = group->send_async(full({50}, 1.0 + group->rank()), other);
    const Work sent_again = group->send_async(full({3}, 5.0 + group->rank(), kHalf), other);
    group->recv(received, other);
    group->recv(again, other);
    EXPECT_EQ(received.max().item<float>(), 1 + other);
    EXPECT_EQ(again.max().item<float>(), 5 + other);
    sent.wait();
    sent_again.wait();
  });
}

TEST_F(Nccl, RanksLearnWhichCallsDiffer) {
  on_two([](const Group& group) {
    group->all_reduce(ones({1}));  // connects the ranks
    const Tensor x = ones({4 + group->rank()});
    group->all_reduce_async(x, ReduceOp::SUM, "bucket 3").wait();
    const std::string message = failure();
    EXPECT_NE(message.find("rank 0: all_reduce SUM [4] f32 (bucket 3), on GPUs"), std::string::npos) << message;
    EXPECT_NE(message.find("rank 1: all_reduce SUM [5] f32 (bucket 3), on GPUs"), std::string::npos) << message;
    EXPECT_THROWS(x.sum().item<float>(), StateError, "different calls");  // what it would read is undefined
    EXPECT_THROWS(group->all_reduce(x), StateError, "different calls");
    EXPECT_THROWS(group->barrier(), StateError, "different calls");
  });
}

TEST_F(Nccl, RanksLearnThatMessagesDiffer) {
  on_two([](const Group& group) {
    if (group->rank() == 0) {
      static_cast<void>(group->send_async(ones({4}), 1));
    } else {
      static_cast<void>(group->recv_async(ones({4}, kHalf), 0));
    }
    const std::string message = failure();
    EXPECT_NE(message.find("rank 0 sent f32 of these sizes"), std::string::npos) << message;
  });
}

TEST_F(Nccl, RanksLearnThatSizesOfAllToAllDiffer) {
  on_two([](const Group& group) {
    const std::vector<Tensor> inputs{ones({2}), ones({3})}, outputs{ones({2}), ones({2})};
    static_cast<void>(group->all_to_all_async(outputs, inputs));
    const std::string message = failure();
    EXPECT_NE(message.find("all_to_all"), std::string::npos) << message;
    EXPECT_NE(message.find("[2] f32"), std::string::npos) << message;
  });
}

TEST_F(Nccl, RanksLearnThatOneHasLeft) {
  on_two([](const Group& group) {
    group->all_reduce(ones({1}));
    cuda::synchronize();
    group->barrier();
    if (group->rank() == 1) return group->abort("out of data");
    const Tensor x = ones({4});
    try {
      group->all_reduce(x);
    } catch (const StateError& e) {  // it may be known already
      EXPECT_NE(std::string(e.what()).find("out of data"), std::string::npos) << e.what();
      return;
    }
    EXPECT_NE(failure().find("rank 1 left the group: out of data"), std::string::npos);
  });
}

TEST_F(Nccl, ARankThatHangsIsNamed) {
  on_two(
      [](const Group& group) {
        group->all_reduce(ones({1}));
        if (group->rank() == 0) group->all_reduce(ones({4}));
        const std::string message = failure();
        EXPECT_NE(message.find("rank 1 did not join all_reduce SUM [4] f32, on GPUs within 200 ms"), std::string::npos)
            << message;
      },
      {.timeout = milliseconds(200)});
}

TEST_F(Nccl, ErrorsOfTheNetworkAreReported) {
  on_two([](const Group& group) {
    group->all_reduce(ones({1}));
    cuda::synchronize();
    group->barrier();
    if (group->rank() == 0) {
      cuda::emulated::set_communication_error(0, ncclRemoteError);
      group->all_reduce(ones({4}));
    }
    const std::string message = failure();
    EXPECT_NE(message.find("NCCL reports remote process exited"), std::string::npos) << message;
    group->abort("the test ends");
  });
}

TEST_F(Nccl, TwoRanksCannotShareADevice) {
  std::barrier both_failed(2);
  on_two([&](const Group& group) {
    const Tensor x = ones({2}, Device(kCUDA, 0));
    EXPECT_THROWS(group->all_reduce(x), BackendError, "invalid usage", "distributed::local_rank()");
    both_failed.arrive_and_wait();
    group->abort("the test ends");
  });
}

TEST_F(Nccl, MemoryIsFreedWhileTheOtherDeviceReturnsItsOwn) {
  std::latch returns(1);
  on_two([&](const Group& group) {
    const Tensor x = ones({2});
    group->all_reduce(ones({1}));  // connects
    ones({1 << 20});               // stays in the cache
    if (group->rank() == 0) {
      group->all_reduce(x);
      returns.count_down();
      cuda::empty_cache();  // the driver waits for the sum
    } else {
      returns.wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      ones({3});
      group->all_reduce(x);
    }
    EXPECT_EQ(x.sum().item<float>(), 4);
  });
}

TEST_F(Nccl, RefusesWhatNcclCannotDo) {
  on_two([](const Group& group) {
    const Tensor x = ones({2}, kInt);
    EXPECT_THROWS(group->all_reduce(x, ReduceOp::BOR), DTypeError, "bitwise or", ".cpu()");
    EXPECT_THROWS(group->send(x, 1 - group->rank(), 3), StateError, "tag = 3", "no tags");
    EXPECT_THROWS(group->all_reduce(ones({2}, kShort)), DTypeError, "i16", ".to(kInt)");
    group->broadcast(ones({2}, kShort));  // copies have no such limit
    if (group->rank() == 0) {
      cuda::CUDAGraph graph;
      EXPECT_THROWS(graph.capture([&] { group->all_reduce(x); }), StateError, "between ranks", "before the capture");
    }
    group->all_reduce(x);  // the group still works
    EXPECT_EQ(x.sum().item<int32_t>(), 4);
  });
}

}  // namespace
}  // namespace tandem::testing
