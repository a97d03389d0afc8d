// Collectives against plain loops, for all dtypes, numbers of ranks and sizes around those of chunks.
#include "tandem/distributed/process_group.h"

#include "distributed/ranks.h"
#include "support/throws.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using distributed::ProcessGroup;
using distributed::ReduceOp;
using distributed::Work;

constexpr int64_t kSizes[] = {0, 1, 5, 1024, 1025, 4099};  // the last are sent in chunks

/// Element i of the tensor of a rank: small numbers of both signs, exact in every dtype.
double element(int rank, int64_t i) { return static_cast<double>((i * 7 + rank * 5) % 13) - 6; }

/// Numbers whose sums round in 16 bits.
double fraction(int rank, int64_t i) { return 1 + static_cast<double>((i * 37 + rank * 101) % 997) / 997; }

Tensor filled(int64_t n, DType dtype, int rank, double (*value)(int, int64_t) = element) {
  const Tensor x = empty({n}, TensorOptions(kDouble).device(kCPU));
  for (int64_t i = 0; i < n; ++i) x.data_ptr<double>()[i] = value(rank, i);
  return x.to(get_default_device(), dtype);
}

void expect_equal(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.sizes(), expected.sizes());
  EXPECT_TRUE(equal(actual, expected));
}

TEST(Collectives, AllReduce) {
  on_ranks([](const Group& group) {
    const double n = group->size();
    for (const DType dtype : {kFloat, kDouble, kHalf, kBFloat16, kInt, kLong, kByte}) {
      for (const int64_t size : kSizes) {
        const bool is_unsigned = dtype == kByte;
        const auto value = is_unsigned ? [](int rank, int64_t i) { return element(rank, i) + 6; } : element;
        const auto fold = [&](auto f) {
          Tensor result = filled(size, kDouble, 0, value);
          for (int r = 1; r < group->size(); ++r) result = f(result, filled(size, kDouble, r, value));
          return result;
        };
        const auto reduced = [&](ReduceOp op) {
          const Tensor x = filled(size, dtype, group->rank(), value);
          group->all_reduce(x, op);
          return x;
        };
        const Tensor sum = fold([](const Tensor& a, const Tensor& b) { return a + b; });
        expect_equal(reduced(ReduceOp::SUM), sum.to(dtype));
        expect_equal(reduced(ReduceOp::MAX),
                     fold([](const Tensor& a, const Tensor& b) { return maximum(a, b); }).to(dtype));
        expect_equal(reduced(ReduceOp::MIN),
                     fold([](const Tensor& a, const Tensor& b) { return minimum(a, b); }).to(dtype));
        if (is_floating_point(dtype)) expect_equal(reduced(ReduceOp::AVG), (sum / n).to(dtype));
      }
    }
  });
}

TEST(Collectives, SumsOf16BitsAreRoundedOnce) {
  SKIP_ON_CUDA("NCCL rounds when it sends");
  on_ranks([](const Group& group) {
    for (const DType dtype : {kHalf, kBFloat16}) {
      for (const int64_t size : {int64_t{100}, int64_t{5000}}) {
        Tensor sum = filled(size, dtype, 0, fraction).to(kFloat);
        for (int r = 1; r < group->size(); ++r) sum = sum + filled(size, dtype, r, fraction).to(kFloat);
        const Tensor x = filled(size, dtype, group->rank(), fraction);
        group->all_reduce(x, ReduceOp::SUM);
        expect_equal(x, sum.to(dtype));
        const Tensor y = filled(size, dtype, group->rank(), fraction);
        group->all_reduce(y, ReduceOp::AVG);
        expect_equal(y, (sum / static_cast<double>(group->size())).to(dtype));
      }
    }
  });
}

TEST(Collectives, AnAverageDoesNotOverflow) {
  on_ranks([](const Group& group) {
    const Tensor x = full({3}, 60000.0, kHalf);
    group->all_reduce(x, ReduceOp::AVG);
    EXPECT_TRUE(equal(x, full({3}, 60000.0, kHalf)));
  });
}

TEST(Collectives, NanOfOneRankReachesAll) {
  on_ranks([](const Group& group) {
    const int last = group->size() - 1;
    for (const ReduceOp op : {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::MAX, ReduceOp::MIN}) {
      if (on_cuda() && (op == ReduceOp::MAX || op == ReduceOp::MIN)) continue;  // NCCL does not say what happens
      const Tensor x = full({2}, group->rank() == last ? NAN : 1.0, kFloat);
      group->all_reduce(x, op);
      EXPECT_TRUE(x.isnan().all().item<bool>());
    }
  });
}

TEST(Collectives, BitwiseOr) {
  SKIP_ON_CUDA("NCCL has no bitwise or");
  on_ranks([](const Group& group) {
    const Tensor x = full({3}, int64_t{1} << group->rank(), kLong);
    group->all_reduce(x, ReduceOp::BOR);
    EXPECT_TRUE(equal(x, full({3}, (int64_t{1} << group->size()) - 1, kLong)));
    const Tensor flag = full({1}, group->rank() == 0, kBool);
    group->all_reduce(flag, ReduceOp::BOR);
    EXPECT_TRUE(flag.item<bool>());
  });
}

TEST(Collectives, BroadcastFromEveryRank) {
  on_ranks([](const Group& group) {
    for (int root = 0; root < group->size(); ++root) {
      for (const int64_t size : kSizes) {
        const Tensor x = filled(size, kBFloat16, group->rank());
        group->broadcast(x, root);
        expect_equal(x, filled(size, kBFloat16, root));
      }
    }
  });
}

TEST(Collectives, ReduceToEveryRank) {
  on_ranks([](const Group& group) {
    for (int root = 0; root < group->size(); ++root) {
      for (const int64_t size : kSizes) {
        Tensor sum = filled(size, kDouble, 0);
        for (int r = 1; r < group->size(); ++r) sum = sum + filled(size, kDouble, r);
        const Tensor x = filled(size, kHalf, group->rank());
        group->reduce(x, root);
        expect_equal(x, group->rank() == root ? sum.to(kHalf) : filled(size, kHalf, group->rank()));
      }
    }
  });
}

TEST(Collectives, GatherAndAllGather) {
  on_ranks([](const Group& group) {
    const auto empty_outputs = [&](int64_t size) {
      std::vector<Tensor> outputs;
      for (int r = 0; r < group->size(); ++r) outputs.push_back(empty({size}, kFloat));
      return outputs;
    };
    for (const int64_t size : kSizes) {
      const std::vector<Tensor> all = empty_outputs(size);
      group->all_gather(all, filled(size, kFloat, group->rank()));
      for (int r = 0; r < group->size(); ++r) expect_equal(all[static_cast<size_t>(r)], filled(size, kFloat, r));
      for (int root = 0; root < group->size(); ++root) {
        const std::vector<Tensor> outputs = group->rank() == root ? empty_outputs(size) : std::vector<Tensor>();
        group->gather(outputs, filled(size, kFloat, group->rank()), root);
        for (size_t r = 0; r < outputs.size(); ++r) {
          expect_equal(outputs[r], filled(size, kFloat, static_cast<int>(r)));
        }
      }
    }
  });
}

TEST(Collectives, ScatterAndReduceScatter) {
  on_ranks([](const Group& group) {
    // Part r of the tensors of rank q.
    const auto part = [](int q, int r, int64_t size) { return filled(size, kBFloat16, 3 * q + r); };
    const auto parts = [&](int q, int64_t size) {
      std::vector<Tensor> list;
      for (int r = 0; r < group->size(); ++r) list.push_back(part(q, r, size));
      return list;
    };
    for (const int64_t size : kSizes) {
      const Tensor y = empty({size}, kBFloat16);
      for (int root = 0; root < group->size(); ++root) {
        group->scatter(y, group->rank() == root ? parts(root, size) : std::vector<Tensor>(), root);
        expect_equal(y, part(root, group->rank(), size));
      }
      Tensor sum = part(0, group->rank(), size).to(kFloat);
      for (int q = 1; q < group->size(); ++q) sum = sum + part(q, group->rank(), size).to(kFloat);
      group->reduce_scatter(y, parts(group->rank(), size));
      expect_equal(y, sum.to(kBFloat16));
      // The output may be one of the inputs.
      const std::vector<Tensor> inputs = parts(group->rank(), size);
      group->reduce_scatter(inputs[static_cast<size_t>(group->rank())], inputs);
      expect_equal(inputs[static_cast<size_t>(group->rank())], sum.to(kBFloat16));
    }
  });
}

TEST(Collectives, AllToAllOfUnequalSizes) {
  on_ranks([](const Group& group) {
    const auto size = [](int from, int to) { return int64_t{100} * from + 10 * to; };
    std::vector<Tensor> inputs, outputs;
    for (int r = 0; r < group->size(); ++r) {
      inputs.push_back(filled(size(group->rank(), r), kInt, group->rank() + r));
      outputs.push_back(empty({size(r, group->rank())}, kInt));
    }
    group->all_to_all(outputs, inputs);
    for (int r = 0; r < group->size(); ++r) {
      expect_equal(outputs[static_cast<size_t>(r)], filled(size(r, group->rank()), kInt, group->rank() + r));
    }
  });
}

TEST(Collectives, InputsMayLieInTheOutputs) {
  on_ranks([](const Group& group) {
    const int n = group->size(), rank = group->rank();
    constexpr int64_t kSize = 300000;  // MPI does not buffer messages of this size
    const auto parts = [&](auto number) {
      std::vector<Tensor> tensors;
      for (int r = 0; r < n; ++r) tensors.push_back(full({kSize}, number(r), kFloat));
      return tensors;
    };
    const auto expect_all = [](const Tensor& x, double number) {
      EXPECT_EQ(x.min().item<double>(), number);
      EXPECT_EQ(x.max().item<double>(), number);
    };
    const std::vector<Tensor> exchanged = parts([&](int r) { return 10 * rank + r; });
    group->all_to_all(exchanged, exchanged);
    for (int r = 0; r < n; ++r) expect_all(exchanged[static_cast<size_t>(r)], 10 * r + rank);

    for (int place = 0; place < n; ++place) {  // in its own part, and in those of other ranks
      const std::vector<Tensor> gathered = parts([&](int) { return 5 + rank; });
      group->all_gather(gathered, gathered[static_cast<size_t>(place)]);
      for (int r = 0; r < n; ++r) expect_all(gathered[static_cast<size_t>(r)], 5 + r);

      const std::vector<Tensor> given = parts([&](int r) { return 20 + r; });
      const Tensor received = rank == 0 ? given[static_cast<size_t>(place)] : empty({kSize}, kFloat);
      group->scatter(received, rank == 0 ? given : std::vector<Tensor>(), 0);
      expect_all(received, 20 + rank);
    }
  });
}

TEST(Collectives, SendsAndReceivesPassTheCollectives) {
  SKIP_ON_CUDA("NCCL has no tags");
  on_ranks([](const Group& group) {
    if (group->size() == 1) return;
    const int next = (group->rank() + 1) % group->size(),
              previous = (group->rank() + group->size() - 1) % group->size();
    const Tensor first = empty({10}, kFloat), second = empty({5000}, kFloat), reduced = ones({4});
    const Work sent = group->send_async(filled(5000, kFloat, group->rank()), next, /*tag=*/7);
    const Work collective = group->all_reduce_async(reduced);
    const Work sent_too = group->send_async(filled(10, kFloat, group->rank() + 1), next, /*tag=*/3);
    collective.wait();
    // By tag, not in the order of the sends.
    group->recv(first, previous, 3);
    group->recv(second, previous, 7);
    sent.wait();
    sent_too.wait();
    expect_equal(first, filled(10, kFloat, previous + 1));
    expect_equal(second, filled(5000, kFloat, previous));
    EXPECT_TRUE(equal(reduced, full({4}, static_cast<double>(group->size()), kFloat)));
  });
}

TEST(Collectives, AReceiveDoesNotWaitForCollectivesOfItsSender) {
  on_ranks([](const Group& group) {
    if (group->size() == 1) return;
    group->all_reduce(ones({1}));  // connects GPUs, which waits for all ranks
    const Tensor message = full({5000}, 7.0, kFloat), reduced = ones({5000});
    if (group->rank() == 0) {
      const Work collective = group->all_reduce_async(reduced);  // rank 1 joins it only after its receive
      group->send(message, 1);
      collective.wait();
    } else {
      const Tensor received = empty({5000}, kFloat);
      if (group->rank() == 1) {
        group->recv(received, 0);
        expect_equal(received, message);
      }
      group->all_reduce(reduced);
    }
    expect_equal(reduced, full({5000}, static_cast<double>(group->size()), kFloat));
  });
}

TEST(Collectives, ManyCallsUnderWay) {
  on_ranks([](const Group& group) {
    std::vector<Tensor> tensors;
    std::vector<Work> works;
    for (int i = 0; i < 50; ++i) {
      tensors.push_back(full({int64_t{1} + 97 * i}, static_cast<double>(i), kFloat));
      works.push_back(group->all_reduce_async(tensors.back()));
    }
    for (size_t i = 50; i-- > 0;) {
      works[i].wait();
      if (!on_cuda()) {  // there, wait() does not wait on the host
        EXPECT_TRUE(works[i].is_completed());
      }
      EXPECT_EQ(works[i].exception(), nullptr);
      EXPECT_TRUE(equal(tensors[i], full_like(tensors[i], static_cast<double>(i) * group->size())));
    }
    group->barrier();
  });
}

TEST(Collectives, RaiseTheVersionOfWhatTheyWrite) {
  on_ranks([](const Group& group) {
    const Tensor x = ones({4}).requires_grad_(true);
    const auto version = x._version();
    group->broadcast(x);
    EXPECT_GT(x._version(), version);
    EXPECT_EQ(x.grad_fn(), nullptr);
  });
}

TEST(Collectives, CountCallsAndBytes) {
  on_ranks([](const Group& group) {
    const auto before = group->statistics();
    group->all_reduce(ones({10}));
    group->broadcast(ones({3}, kHalf));
    group->barrier();
    const auto after = group->statistics();
    EXPECT_EQ(after.calls - before.calls, 3);
    EXPECT_EQ(after.bytes - before.bytes, 40 + (group->rank() == 0 ? 6 : 0));
    EXPECT_GE(after.wait_seconds, before.wait_seconds);
  });
}

TEST(Collectives, RefuseBadArguments) {
  on_ranks([](const Group& group) {
    const Tensor x = ones({2, 3});
    const std::vector<Tensor> few(static_cast<size_t>(group->size()) + 1, x);
    EXPECT_THROWS(group->all_reduce(Tensor()), StateError, "all_reduce: ", "undefined");
    EXPECT_THROWS(group->all_reduce(x.t()), ShapeError, "[3, 2] f32", "contiguous()");
    EXPECT_THROWS(group->all_reduce(ones({2}, kInt), ReduceOp::AVG), DTypeError, "i32", ".to(kFloat)");
    EXPECT_THROWS(group->all_reduce(x, ReduceOp::BOR), DTypeError, "f32", "MAX");
    EXPECT_THROWS(group->all_reduce(ones({2}, kBool)), DTypeError, "bool", "BOR");
    EXPECT_THROWS(group->broadcast(x, group->size()), IndexError, "broadcast: ", "rank", "ranks");
    EXPECT_THROWS(group->broadcast(x, -1), IndexError, "rank -1");
    EXPECT_THROWS(group->all_gather(few, x), StateError, "all_gather: ", "one tensor for each of the");
    EXPECT_THROWS(group->reduce_scatter(x, few), StateError, "reduce_scatter: ", "one tensor for each of the");
    EXPECT_THROWS(group->start({.kind = distributed::Collective::Kind::all_reduce}), StateError, "0 outputs",
                  "0 and 1");
    EXPECT_THROWS(group->start({.kind = distributed::Collective::Kind::barrier, .inputs = {x}}), StateError,
                  "1 inputs");
    EXPECT_THROWS(group->send(x, group->rank()), StateError, "send: ", "itself");
    std::vector<Tensor> mixed(static_cast<size_t>(group->size()), x);
    mixed[0] = ones({2, 3}, kHalf);
    EXPECT_THROWS(group->all_gather(mixed, x), DTypeError, "f16", "f32");
    mixed[0] = ones({3});
    EXPECT_THROWS(group->all_gather(mixed, x), ShapeError, "outputs[0] is [3] f32", "[2, 3] f32");
    group->barrier();  // the group still works
  });
}

}  // namespace
}  // namespace tandem::testing
