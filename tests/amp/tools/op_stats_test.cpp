// OpStats against counts made in the test: calls, dtypes, casts, cache.
#include "tandem/amp/tools/op_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "support/compare.h"
#include "support/device.h"
#include "tandem/amp/custom_function.h"
#include "tandem/amp/tools.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using testing::device_type;

using amp::OpCount;
using amp::OpStats;

OpCount count_of(const OpStats& stats, const std::string& op, DType dtype) {
  for (const OpCount& c : stats.counts()) {
    if (c.op == op && c.dtype == dtype) return c;
  }
  return {};
}

struct OpStatsTest : ::testing::Test {
  Tensor x = full({16, 8}, 0.5);
  Tensor w = full({4, 8}, 0.25).requires_grad_();
};

TEST_F(OpStatsTest, CountsCallsByOpAndDtype) {
  OpStats stats;
  linear(x, w);
  linear(x.to(kDouble), w.to(kDouble));
  {
    amp::AutocastGuard autocast(device_type(), kBFloat16);
    softmax(linear(x, w), 1);
    amp::AutocastGuard inner(device_type(), kHalf);
    linear(x, w);
    linear(x, w);
  }
  EXPECT_EQ(count_of(stats, "linear", kFloat).calls, 1);
  EXPECT_EQ(count_of(stats, "linear", kDouble).calls, 1);
  EXPECT_EQ(count_of(stats, "linear", kBFloat16).calls, 1);
  EXPECT_EQ(count_of(stats, "linear", kHalf).calls, 2);
  EXPECT_EQ(count_of(stats, "softmax", kFloat).calls, 1) << "by its dtype argument";
  EXPECT_EQ(count_of(stats, "to", kFloat).calls, 2);
  EXPECT_EQ(stats.total().calls, 8);
  EXPECT_EQ(count_of(stats, "linear", kHalf).result_elements, 2 * 16 * 4);
}

TEST_F(OpStatsTest, CountsCastsBytesAndCacheHits) {
  OpStats stats;
  const amp::CastCacheStats before = amp::autocast_cache_stats();
  {
    amp::AutocastGuard autocast(device_type(), kBFloat16);
    linear(x, w);  // casts both, caches the cast of w
    linear(x, w);  // casts x
  }
  const OpCount c = count_of(stats, "linear", kBFloat16);
  EXPECT_EQ(c.casts, 3);
  EXPECT_EQ(c.cast_bytes, 2 * (2 * 16 * 8 + 4 * 8));
  EXPECT_EQ(c.cache_hits, 1);
  EXPECT_EQ(c.cache_misses, 1);
  EXPECT_EQ(amp::autocast_cache_stats().cast_bytes - before.cast_bytes, c.cast_bytes);
}

TEST_F(OpStatsTest, CountsBackwardAndInPlaceCalls) {
  OpStats stats;
  Tensor loss;
  {
    amp::AutocastGuard autocast(device_type(), kBFloat16);
    loss = relu(mm(x, w.t())).sum();
  }
  EXPECT_EQ(stats.total().backward_calls, 0);
  const int64_t forward = stats.total().calls;
  loss.backward();
  EXPECT_EQ(stats.total().calls - forward, stats.total().backward_calls);
  EXPECT_EQ(count_of(stats, "relu_backward", kBFloat16).backward_calls, 1);
  EXPECT_GE(count_of(stats, "gemm", kBFloat16).backward_calls, 1);
  const Tensor y = ones({2});
  y.mul_(2);
  EXPECT_EQ(count_of(stats, "mul_", kFloat).calls, 1);
}

TEST_F(OpStatsTest, OpsInsideAnOpAreNotCounted) {
  OpStats stats;
  const Tensor a = ones({2}).requires_grad_() * 1.0;
  a.mul_(2);  // recorded: copies the input and runs an op out of place
  EXPECT_EQ(count_of(stats, "mul_", kFloat).calls, 1);
  EXPECT_EQ(stats.total().calls, 2);
}

TEST_F(OpStatsTest, CountsProductsOfOddSizes) {
  OpStats stats;
  amp::AutocastGuard autocast(device_type());
  mm(ones({16, 8}), ones({8, 24}));
  EXPECT_EQ(stats.total().odd_products, 0);
  mm(ones({16, 9}), ones({9, 24}));
  linear(x, w);  // four columns
  EXPECT_EQ(stats.total().odd_products, 2);
  EXPECT_THAT(stats.table(), ::testing::HasSubstr("2 products"));
  linear_relu(x, w);
  nn::Sequential(nn::Linear(8, 4), nn::ReLU())(x);
  EXPECT_EQ(stats.total().odd_products, 4);
  const Tensor image = ones({1, 3, 5, 5}), kernel = ones({4, 3, 3, 3});  // the backend pads the channels
  conv2d(image, kernel);
  conv2d_relu(image, kernel);
  relu(ones({3, 3}, kHalf));
  EXPECT_EQ(stats.total().odd_products, 4);
}

TEST_F(OpStatsTest, CountsOtherThreadsOnlyWithTheContext) {
  OpStats stats;
  std::thread([&] { linear(x, w); }).join();
  EXPECT_EQ(stats.total().calls, 0);
  std::vector<std::thread> threads;
  const ThreadContext context = ThreadContext::capture();
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const ThreadContextGuard guard(context);
      for (int i = 0; i < 100; ++i) linear(x, w);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(stats.total().calls, 400);
}

TEST_F(OpStatsTest, ContextMayOutliveTheStats) {
  auto stats = std::make_unique<OpStats>();
  const ThreadContext context = ThreadContext::capture();
  stats.reset();
  std::thread([&] {
    const ThreadContextGuard guard(context);
    linear(x, w);
  }).join();
  EXPECT_FALSE(thread_state().observers);
}

/// x^2, whose backward runs ops under the autocast of forward.
struct Square : amp::CustomFunction<Square> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    return {ctx->get_saved_variables()[0] * grads[0] * 2.0};
  }
};

// Ops in backward are reported to the observers active during backward, not to those of the forward pass.
TEST_F(OpStatsTest, BackwardOpsAreReportedToCurrentObservers) {
  const auto block = [&](const Tensor& h) { return linear(h, w).tanh(); };
  const auto mul_calls = [](const OpStats& stats) { return count_of(stats, "mul", kFloat).calls; };
  auto forward = std::make_unique<OpStats>();
  const Tensor recomputed = autograd::checkpoint(block, x).sum(), custom = Square::apply(w).sum();
  forward->reset();
  const std::weak_ptr<const autograd::Observers> observers = thread_state().observers;
  {
    OpStats backward;
    recomputed.backward();
    EXPECT_EQ(count_of(backward, "linear", kFloat).calls, 1);
    EXPECT_EQ(count_of(backward, "tanh", kFloat).calls, 1);
    EXPECT_EQ(count_of(*forward, "linear", kFloat).calls, 1);
  }
  const int64_t before = mul_calls(*forward);
  forward.reset();
  EXPECT_TRUE(observers.expired()) << "the graph does not keep observers alive";
  OpStats backward;
  custom.backward();
  EXPECT_EQ(before, 0);
  EXPECT_EQ(mul_calls(backward), 2);
}

TEST_F(OpStatsTest, MayEndInAnyOrder) {
  auto first = std::make_unique<OpStats>();
  OpStats second;
  linear(x, w);
  EXPECT_EQ(first->total().calls, 1);
  first.reset();
  linear(x, w);
  EXPECT_EQ(second.total().calls, 2);
  second.reset();
  EXPECT_TRUE(second.counts().empty());
}

TEST_F(OpStatsTest, RefusedOpsAreNotCounted) {
  OpStats stats;
  EXPECT_THROW(mm(x, x), ShapeError);
  EXPECT_THROW(mm(x, w.t().to(kDouble)), DTypeError);
  linear(x, w);
  EXPECT_EQ(count_of(stats, "linear", kFloat).calls, 1);
  EXPECT_EQ(count_of(stats, "mm", kFloat).calls + count_of(stats, "mm", kDouble).calls, 0);
}

TEST_F(OpStatsTest, DoesNotChangeResults) {
  const auto run = [&] {
    w.mutable_grad() = Tensor();
    amp::AutocastGuard autocast(device_type());
    const Tensor y = log_softmax(linear(x, w), 1);
    y.sum().backward();
    return y;
  };
  const Tensor y = run();
  const Tensor g = w.grad();
  OpStats stats;
  EXPECT_TRUE(testing::same_bits(run(), y));
  EXPECT_TRUE(testing::same_bits(w.grad(), g));
}

TEST_F(OpStatsTest, TableAndJsonAgree) {
  std::ostringstream at_end;
  std::string table;
  {
    OpStats stats(&at_end);
    amp::AutocastGuard autocast(device_type(), kBFloat16);
    for (int i = 0; i < 3; ++i) relu(linear(x, w));
    sum(x);
    const auto json = nlohmann::json::parse(stats.json());
    EXPECT_EQ(json["total"]["calls"], 7);
    EXPECT_EQ(json["total"]["casts"], stats.total().casts);
    int64_t calls = 0;
    for (const auto& op : json["ops"]) {
      calls += op["calls"].get<int64_t>();
      EXPECT_TRUE(op["op"] != "relu" || op["dtype"] == "bf16");
    }
    EXPECT_EQ(calls, 7);
    table = stats.table();
  }
  EXPECT_EQ(at_end.str(), table);
  // A header, one line per op sorted by calls, and the total; all columns are aligned.
  std::istringstream lines(table);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  ASSERT_GE(all.size(), 5u);
  EXPECT_THAT(all[0], ::testing::StartsWith("op "));
  EXPECT_THAT(all[1], ::testing::StartsWith("linear "));
  EXPECT_THAT(all[2], ::testing::StartsWith("relu "));
  EXPECT_THAT(all[3], ::testing::StartsWith("sum "));
  EXPECT_THAT(all[4], ::testing::StartsWith("total "));
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(all[i].size(), all[0].size()) << all[i];
}

}  // namespace
}  // namespace tandem
