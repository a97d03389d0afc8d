// Positions of the generator, and the random tensors drawn from it.
#include "tandem/tensor/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>
#include <vector>

#include "support/throws.h"
#include "tandem/base/error.h"
#include "tandem/tensor/context.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

std::vector<float> floats(const Tensor& x) {
  const Tensor host = x.cpu();
  return {host.const_data_ptr<float>(), host.const_data_ptr<float>() + host.numel()};
}

TEST(Generator, ReservesOneCounterForFourNumbers) {
  Generator g(7);
  EXPECT_EQ(g.current_seed(), 7U);
  EXPECT_EQ(g.reserve(1).offset, 0U);
  EXPECT_EQ(g.reserve(4).offset, 1U);
  EXPECT_EQ(g.reserve(5).offset, 2U);
  EXPECT_EQ(g.reserve(0).offset, 4U);
  EXPECT_EQ(g.get_state().offset, 4U);
  g.set_state({9, 100});
  EXPECT_EQ(g.reserve(8).seed, 9U);
  EXPECT_EQ(g.get_state().offset, 102U);
  g.set_current_seed(3);
  EXPECT_EQ(g.get_state().offset, 0U);
  Generator same = g;
  same.reserve(4);
  EXPECT_EQ(g.get_state().offset, 1U) << "copies share the state";
}

TEST(GeneratorThreads, ThreadsGetSeparatePositions) {
  Generator g(1);
  std::vector<std::vector<uint64_t>> seen(4);
  std::vector<std::thread> threads;
  for (auto& mine : seen) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) mine.push_back(g.reserve(8).offset);
    });
  }
  for (std::thread& t : threads) t.join();
  std::set<uint64_t> all;
  for (const auto& mine : seen) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 4000U);
  EXPECT_EQ(g.get_state().offset, 8000U);
}

TEST(Random, ManualSeedRepeatsTheNumbers) {
  manual_seed(42);
  const std::vector<float> a = floats(randn({100})), b = floats(rand({10}));
  const PhiloxState state = default_generator().get_state();
  const std::vector<float> c = floats(randn({7}));
  manual_seed(42);
  EXPECT_EQ(floats(randn({100})), a);
  EXPECT_EQ(floats(rand({10})), b);
  manual_seed(43);
  EXPECT_NE(floats(randn({100})), a);
  default_generator().set_state(state);
  EXPECT_EQ(floats(randn({7})), c);
}

TEST(Random, MomentsAndRanges) {
  manual_seed(1);
  const std::vector<float> u = floats(rand({20000})), n = floats(randn({20000}));
  double mean_u = 0, mean_n = 0, square_n = 0;
  for (float v : u) mean_u += v / 20000.0;
  for (float v : n) mean_n += v / 20000.0, square_n += v * v / 20000.0;
  EXPECT_NEAR(mean_u, 0.5, 0.012);  // 6 standard errors each
  EXPECT_NEAR(mean_n, 0, 0.043);
  EXPECT_NEAR(square_n, 1, 0.06);
  EXPECT_TRUE(std::all_of(u.begin(), u.end(), [](float v) { return v >= 0 && v < 1; }));

  const Tensor x = empty({20000});
  const std::vector<float> shifted = floats(x.uniform_(-3, -1));
  EXPECT_TRUE(std::all_of(shifted.begin(), shifted.end(), [](float v) { return v >= -3 && v <= -1; }));
  double kept = 0;
  for (float v : floats(x.bernoulli_(0.25))) {
    ASSERT_TRUE(v == 0 || v == 1);
    kept += v;
  }
  EXPECT_NEAR(kept / 20000, 0.25, 0.02);
  std::vector<int> counts(5);
  const Tensor integers = randint(-2, 3, {20000}).cpu();
  EXPECT_EQ(integers.dtype(), kLong);
  for (int64_t i = 0; i < 20000; ++i) ++counts.at(static_cast<size_t>(integers.const_data_ptr<int64_t>()[i] + 2));
  for (int c : counts) EXPECT_NEAR(c, 4000, 350);
}

TEST(Random, RandpermIsAPermutation) {
  manual_seed(5);
  const Tensor p = randperm(1000).cpu();
  std::vector<int64_t> v(p.const_data_ptr<int64_t>(), p.const_data_ptr<int64_t>() + 1000);
  EXPECT_FALSE(std::is_sorted(v.begin(), v.end()));
  std::sort(v.begin(), v.end());
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(v[static_cast<size_t>(i)], i);
  EXPECT_EQ(randperm(0).numel(), 0);
  EXPECT_EQ(randperm(1, kInt).item<int>(), 0);
  EXPECT_THROWS(randperm(-1), StateError, "randperm: ", "-1");
  int orders[6] = {};  // counts of the 6 orders of 3 items: all similar
  for (int i = 0; i < 3000; ++i) {
    const Tensor q = randperm(3, kCPU);
    const int64_t* o = q.const_data_ptr<int64_t>();
    ++orders[o[0] * 2 + (o[1] > o[2])];
  }
  for (int n : orders) EXPECT_NEAR(n, 500, 125);
}

TEST(Random, WritingInPlaceRaisesTheVersion) {
  const Tensor x = zeros({4});
  const uint64_t version = x._version();
  x.uniform_();
  x.normal_();
  x.bernoulli_();
  x.random_(0, 5);
  EXPECT_EQ(x._version(), version + 4);
  EXPECT_FALSE(x.storage().pointer_escaped());
  const PhiloxState state = default_generator().get_state();
  empty({0}).normal_();
  EXPECT_EQ(default_generator().get_state().offset, state.offset);
}

TEST(Random, BadArgumentsAreRefused) {
  const Tensor x = zeros({2}), i = zeros({2}, kInt);
  EXPECT_THROWS(i.uniform_(), DTypeError, "uniform_: ", "i32");
  EXPECT_THROWS(i.normal_(), DTypeError, "normal_: ", "i32");
  EXPECT_THROWS(rand({2}, kLong), DTypeError, "rand: ", "i64");
  EXPECT_THROWS(randn({2}, kBool), DTypeError, "randn: ", "bool");
  EXPECT_THROWS(x.uniform_(2, 1), StateError, "uniform_: ", "from = 2", "to = 1");
  EXPECT_THROWS(x.uniform_(0, NAN), StateError, "uniform_: ", "nan");
  EXPECT_THROWS(x.normal_(0, -1), StateError, "normal_: ", "std = -1");
  EXPECT_THROWS(x.bernoulli_(1.5), StateError, "bernoulli_: ", "p = 1.5");
  EXPECT_THROWS(x.random_(3, 3), StateError, "random_: ", "low = 3");
  EXPECT_THROWS(zeros({2}, kByte).random_(0, 257), StateError, "random_: ", "[0, 257)", "u8", "255");
  EXPECT_THROWS(zeros({2}, kChar).random_(-129, 3), StateError, "random_: ", "i8", "-128");
  zeros({2}, kByte).random_(0, 256);
}

TEST(Random, LeafThatRequiresGradIsRefused) {
  const Tensor x = zeros({2}, requires_grad());
  EXPECT_THROWS(x.uniform_(), AutogradError, "uniform_: ", "requires grad", "NoGradGuard");
  EXPECT_THROWS(x.normal_(), AutogradError, "normal_: ");
  EXPECT_THROWS(x.bernoulli_(), AutogradError, "bernoulli_: ");
  EXPECT_THROWS(x.random_(0, 2), AutogradError, "random_: ");
  EXPECT_EQ(x._version(), 0U);
  thread_state().grad_mode = false;
  EXPECT_NO_THROW(x.normal_());
  thread_state().grad_mode = true;
  EXPECT_TRUE(randn({2}, requires_grad()).requires_grad());
}

}  // namespace
}  // namespace tandem
