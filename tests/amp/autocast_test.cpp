#include "tandem/amp/autocast.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/device.h"
#include "support/throws.h"
#include "tandem/amp/custom_op.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/amp/thread_context.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

using testing::device_type;

using amp::AutocastGuard;
using amp::Cast;
using amp::PolicyGuard;

struct AutocastTest : ::testing::Test {
  void SetUp() override { amp::clear_autocast_cache(); }
  Tensor x = full({2, 3}, 0.5);
  Tensor w = full({4, 3}, 0.25).requires_grad_();
};

TEST_F(AutocastTest, RegionEnablesAutocastUntilItEnds) {
  SKIP_ON_CUDA("the tests set its dtype");
  EXPECT_FALSE(amp::is_autocast_enabled(device_type()));
  {
    AutocastGuard guard(device_type());
    EXPECT_TRUE(amp::is_autocast_enabled(device_type()));
    EXPECT_FALSE(amp::is_autocast_enabled(kCUDA));
    EXPECT_EQ(amp::get_autocast_dtype(device_type()), kBFloat16);
  }
  EXPECT_FALSE(amp::is_autocast_enabled(device_type()));
  EXPECT_EQ(amp::get_autocast_dtype(kCUDA), kHalf);
}

TEST_F(AutocastTest, NestedRegionsRestoreDtypeEnabledAndCacheFlag) {
  AutocastGuard outer(device_type(), kHalf);
  {
    AutocastGuard inner(device_type(), kBFloat16, true, false);
    EXPECT_EQ(linear(x, w).dtype(), kBFloat16);
    EXPECT_FALSE(amp::is_autocast_cache_enabled());
    {
      AutocastGuard off(device_type(), {}, false);
      EXPECT_EQ(linear(x, w).dtype(), kFloat);
      EXPECT_EQ(amp::get_autocast_dtype(device_type()), kBFloat16);
    }
    EXPECT_EQ(linear(x, w).dtype(), kBFloat16);
  }
  EXPECT_TRUE(amp::is_autocast_cache_enabled());
  EXPECT_EQ(linear(x, w).dtype(), kHalf);
}

TEST_F(AutocastTest, ExceptionRestoresTheState) {
  try {
    AutocastGuard guard(device_type(), kHalf);
    mm(x, x);
    FAIL() << "mm of [2, 3] with itself must throw";
  } catch (const ShapeError&) {
  }
  EXPECT_FALSE(amp::is_autocast_enabled(device_type()));
  EXPECT_EQ(amp::autocast_cache_stats().entries, 0);
  EXPECT_EQ(mm(x, x.t()).dtype(), kFloat);
}

TEST_F(AutocastTest, OtherDtypesAreRefusedUnlessDisabled) {
  EXPECT_THROWS(AutocastGuard(device_type(), kFloat), DTypeError, "AutocastGuard", "f32", "enabled = false");
  EXPECT_THROWS(AutocastGuard(device_type(), kInt), DTypeError, "i32");
  EXPECT_THROWS(amp::set_autocast_dtype(device_type(), kDouble), DTypeError, "f64");
  AutocastGuard off(device_type(), kFloat, false);
  EXPECT_FALSE(amp::is_autocast_enabled(device_type()));
}

TEST_F(AutocastTest, RegionForAnAbsentDeviceDoesNothing) {
  if (cuda::is_available()) GTEST_SKIP() << "a CUDA device is present";
  EXPECT_TRUE(amp::is_autocast_available(kCPU));
  EXPECT_FALSE(amp::is_autocast_available(kCUDA));
  AutocastGuard guard(kCUDA);
  EXPECT_FALSE(amp::is_autocast_enabled(kCUDA));
  EXPECT_EQ(linear(x, w).dtype(), kFloat);
}

TEST_F(AutocastTest, IneligibleTensorsAreNotCast) {
  AutocastGuard guard(device_type(), kHalf);
  const Tensor d = ones({2, 2}, kDouble);
  EXPECT_EQ(mm(d, d).dtype(), kDouble);
  EXPECT_EQ(exp(d).dtype(), kDouble);
  EXPECT_EQ(softmax(d, 0).dtype(), kDouble);
  EXPECT_EQ(sum(ones({3}, kInt)).dtype(), kLong);
  EXPECT_THROWS(mm(d, ones({2, 2})), DTypeError, "mm", "f64", "f16");
}

TEST_F(AutocastTest, DisabledRegionDoesNotSetTheDefaultDtype) {
  AutocastGuard off(device_type(), kFloat, false);
  AutocastGuard on(device_type());
  EXPECT_EQ(linear(x, w).dtype(), amp::get_autocast_dtype(device_type()));
}

TEST_F(AutocastTest, EachPolicyCastsAsDocumented) {
  AutocastGuard guard(device_type(), kHalf);
  const Tensor h = full({2, 2}, 0.5, kHalf);
  EXPECT_EQ(mm(ones({2, 2}), ones({2, 2})).dtype(), kHalf);  // lower
  EXPECT_EQ(exp(h).dtype(), kFloat);                         // f32
  EXPECT_EQ(softmax(h, 0).dtype(), kFloat);                  // f32_dtype
  EXPECT_EQ(softmax(h, 0, kHalf).dtype(), kHalf);            // ... unless the caller gave one
  EXPECT_EQ(sum(h).dtype(), kFloat);
  EXPECT_EQ(sum(h, kDouble).dtype(), kDouble);
  const Tensor pair[] = {h, ones({2, 2})};
  EXPECT_EQ(cat({pair, 2}).dtype(), kFloat);  // promote
  const Tensor halves[] = {h, h};
  EXPECT_EQ(cat({halves, 2}).dtype(), kHalf);
  EXPECT_EQ(relu(h).dtype(), kHalf);  // keep
  EXPECT_EQ((h + ones({2, 2})).dtype(), kFloat);
  EXPECT_THROWS(binary_cross_entropy(h, h), StateError, "binary_cross_entropy", "binary_cross_entropy_with_logits");
}

TEST_F(AutocastTest, TwoLowDtypesPromoteToF32) {
  AutocastGuard guard(device_type(), kBFloat16);
  const Tensor mixed[] = {ones({2}, kHalf), ones({2}, kBFloat16)};
  EXPECT_EQ(stack({mixed, 2}).dtype(), kFloat);
  const Tensor halves[] = {ones({2}, kHalf), ones({2}, kHalf)};
  EXPECT_EQ(stack({halves, 2}).dtype(), kHalf);
}

TEST_F(AutocastTest, InPlaceAndOutCallsBypassAutocast) {
  AutocastGuard guard(device_type(), kHalf);
  Tensor y = zeros({2, 2});
  y.addmm_(ones({2, 2}), ones({2, 2}));
  EXPECT_EQ(y.dtype(), kFloat);
  EXPECT_EQ(y[0][0].item<float>(), 2.0F);
}

TEST_F(AutocastTest, GradientsHaveTheInputsDtypes) {
  const Tensor a = full({2, 3}, 0.5).requires_grad_();
  Tensor y;
  {
    AutocastGuard guard(device_type(), kBFloat16);
    y = linear(a, w);
  }
  EXPECT_EQ(y.dtype(), kBFloat16);
  y.to(kFloat).sum().backward();
  EXPECT_EQ(a.grad().dtype(), kFloat);
  EXPECT_EQ(w.grad().dtype(), kFloat);
}

TEST_F(AutocastTest, BackwardInARegionRunsWithoutAutocast) {
  AutocastGuard guard(device_type());
  const Tensor y = linear(x, w);
  y.to(kFloat).sum().backward();
  EXPECT_EQ(w.grad().dtype(), kFloat);
  EXPECT_TRUE(amp::is_autocast_enabled(device_type()));
}

TEST_F(AutocastTest, PolicyCanChangePerRegionAndPerProcess) {
  AutocastGuard guard(device_type(), kHalf);
  const Tensor h = full({2, 2}, 0.5, kHalf);
  {
    PolicyGuard keep({{"softmax", Cast::keep}, {"relu", Cast::f32}});
    EXPECT_EQ(softmax(h, 0).dtype(), kHalf);
    EXPECT_EQ(relu(h).dtype(), kFloat);
    {
      PolicyGuard inner({{"relu", Cast::keep}});
      EXPECT_EQ(relu(h).dtype(), kHalf);
      EXPECT_EQ(softmax(h, 0).dtype(), kHalf) << "the outer guard's change holds inside";
    }
    EXPECT_EQ(relu(h).dtype(), kFloat);
  }
  EXPECT_EQ(softmax(h, 0).dtype(), kFloat);
  amp::set_policy("relu", Cast::f32);
  EXPECT_EQ(amp::get_policy("relu"), Cast::f32);
  EXPECT_EQ(relu(h).dtype(), kFloat);
  amp::reset_policies();
  EXPECT_EQ(relu(h).dtype(), kHalf);
  EXPECT_THROWS(amp::set_policy("no_such_op", Cast::keep), StateError, "no_such_op");
  EXPECT_THROWS(PolicyGuard({{"nor_this", Cast::keep}}), StateError, "nor_this");
}

TEST_F(AutocastTest, TorchCpuPolicyFollowsPyTorchsCpuLists) {
  AutocastGuard guard(device_type());
  PolicyGuard torch(amp::torch_cpu_policy());
  const Tensor b = full({2, 2}, 0.5, kBFloat16);
  EXPECT_EQ(softmax(b, 0).dtype(), kBFloat16);
  EXPECT_EQ(exp(b).dtype(), kBFloat16);
  EXPECT_EQ(mse_loss(b, b).dtype(), kFloat);
  EXPECT_EQ(binary_cross_entropy(b, b).dtype(), kFloat);
  // Ops that PyTorch's CPU lists lack, but that compute by listed ones.
  const Tensor m = ones({2, 2}, kFloat), v = ones({2}, kFloat);
  const DType low = mm(m, m).dtype();
  EXPECT_EQ(einsum("ij,jk->ik", {m, m}).dtype(), low);
  EXPECT_EQ(linalg_multi_dot({m, m, v}).dtype(), low);
  EXPECT_EQ(chain_matmul({m, m}).dtype(), low);
  EXPECT_EQ(tensordot(m, m, 1).dtype(), low);
  EXPECT_EQ(inner(m, m).dtype(), low);
  EXPECT_EQ(inner(v, v).dtype(), kFloat);
  EXPECT_EQ(mv(m, v).dtype(), kFloat);
  EXPECT_EQ(rnn_tanh_cell(m, m, m, m).dtype(), low);
  EXPECT_EQ(gru_cell(m, m, ones({6, 2}), ones({6, 2})).dtype(), kFloat);
}

TEST_F(AutocastTest, CustomOpsTakeAPolicyArgument) {
  AutocastGuard guard(device_type(), kHalf);
  auto twice = [](Cast policy, const Tensor& x) {
    return amp::custom_op<"twice">(
        policy,
        [](const Tensor& x) {
          EXPECT_FALSE(amp::is_autocast_enabled(device_type()));
          return Result{mul(x, 2), {}, [](const Backward& b) -> Grads { return {mul(b.grad(), 2)}; }};
        },
        x);
  };
  const Tensor a = ones({3}).requires_grad_();
  EXPECT_EQ(twice(Cast::lower, a).dtype(), kHalf);
  EXPECT_EQ(twice(Cast::f32, a.to(kHalf)).dtype(), kFloat);
  EXPECT_THROWS(twice(Cast::banned, a), StateError, "twice");
  twice(Cast::lower, a).to(kFloat).sum().backward();
  EXPECT_EQ(a.grad().dtype(), kFloat);
  EXPECT_EQ(a.grad()[0].item<float>(), 2);
}

TEST(ThreadContextTest, NewThreadsStartWithTheDefaults) {
  AutocastGuard guard(device_type(), kHalf);
  NoGradGuard no_grad;
  bool enabled = true, grad = false;
  std::thread([&] {
    enabled = amp::is_autocast_enabled(device_type());
    grad = GradMode::is_enabled();
  }).join();
  EXPECT_FALSE(enabled);
  EXPECT_TRUE(grad);
}

TEST(ThreadContextTest, CopiesEveryModeAndRestoresTheThreads) {
  AutocastGuard guard(device_type(), kHalf, true, false);
  PolicyGuard policy({{"relu", Cast::f32}});
  NoGradGuard no_grad;
  const ThreadContext context = ThreadContext::capture();
  std::thread([&] {
    {
      ThreadContextGuard restored(context);
      EXPECT_TRUE(amp::is_autocast_enabled(device_type()));
      EXPECT_EQ(amp::get_autocast_dtype(device_type()), kHalf);
      EXPECT_FALSE(amp::is_autocast_cache_enabled());
      EXPECT_EQ(amp::get_policy("relu"), Cast::f32);
      EXPECT_FALSE(GradMode::is_enabled());
    }
    EXPECT_FALSE(amp::is_autocast_enabled(device_type()));
    EXPECT_EQ(amp::get_policy("relu"), Cast::keep);
    EXPECT_TRUE(GradMode::is_enabled());
  }).join();
}

TEST(ThreadContextTest, ThreadsThatShareWeightsDoNotInterfere) {
  const Tensor x = full({2, 3}, 0.5), w = full({4, 3}, 0.25).requires_grad_();
  AutocastGuard guard(device_type());
  linear(x, w);
  const auto before = amp::autocast_cache_stats();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        AutocastGuard region(device_type());
        EXPECT_EQ(linear(x, w)[0][0].item<float>(), 0.375F);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  linear(x, w);
  const auto after = amp::autocast_cache_stats();
  EXPECT_EQ(after.entries, 1);
  EXPECT_EQ(after.hits - before.hits, 1) << "regions that ended on other threads cleared this thread's cache";
}

TEST(PolicyTableTest, EveryNameAppearsOnce) {
  for (size_t i = 0; i < amp::policy_table.size(); ++i) {
    EXPECT_EQ(amp::policy_row(amp::policy_table[i].op), static_cast<int>(i)) << amp::policy_table[i].op;
  }
}

}  // namespace
}  // namespace tandem
