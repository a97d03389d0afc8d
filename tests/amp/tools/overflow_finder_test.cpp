// OverflowFinder finds each kind of first non-finite value and reports its origin.
#include "tandem/amp/tools/overflow_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "support/compare.h"
#include "support/device.h"
#include "tandem/amp/tools.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using testing::device_type;

using amp::Overflow;
using amp::OverflowFinder;
using ::testing::HasSubstr;

struct Net : nn::Module {
  Net() : fc1(8, 8), fc2(8, 4) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  Tensor forward(const Tensor& x) { return fc2(relu(fc1(x))); }
  nn::Linear fc1, fc2;
};

struct OverflowFinderTest : ::testing::Test {
  OverflowFinderTest() {
    manual_seed(1);
    net = std::make_shared<Net>();
    x = randn({16, 8});
  }
  std::shared_ptr<Net> net;
  Tensor x;
};

TEST_F(OverflowFinderTest, FindsNothingIfAllIsFinite) {
  OverflowFinder finder(*net);
  {
    amp::AutocastGuard autocast(device_type(), kHalf);
    net->forward(x).sum().backward();
  }
  EXPECT_FALSE(finder.found());
  EXPECT_FALSE(finder.check_parameters());
}

TEST_F(OverflowFinderTest, ReportsOpModuleAndStatistics) {
  OverflowFinder finder(*net);
  amp::AutocastGuard autocast(device_type(), kHalf);
  {
    NoGradGuard no_grad;
    net->fc2->weight.fill_(60000);
  }
  const Tensor y = net->forward(x.abs() + 10);
  (y * 2).sum();  // only the first one is reported
  const auto found = finder.found();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "result 0");
  EXPECT_EQ(found->op, "linear");
  EXPECT_EQ(found->module, "fc2");
  EXPECT_EQ(found->backward_of, "");
  EXPECT_EQ(found->call, 5) << "fill_, abs, add, linear, relu come first";
  const auto of = [&](const std::string& name) {
    for (const auto& [key, numerics] : found->tensors) {
      if (key == name) return numerics;
    }
    ADD_FAILURE() << name << " is not among the tensors of\n" << *found;
    return amp::Numerics{};
  };
  EXPECT_EQ(of("input 1, parameter 'fc2.weight'").max, 60000);
  EXPECT_EQ(of("input 1, cast").dtype, kHalf);
  EXPECT_EQ(of("result 0").nonfinite(), amp::check_numerics(y).nonfinite());
  EXPECT_THAT(found->str(), HasSubstr("result 0 of linear (call 5), in module fc2"));
}

TEST_F(OverflowFinderTest, FindsAnOverflowingCast) {
  OverflowFinder finder;
  amp::AutocastGuard autocast(device_type(), kHalf);
  mm(x, full({8, 8}, 1e5));
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->what, "the cast of input 1 from f32 to f16");
  EXPECT_EQ(finder.found()->op, "mm");
}

TEST_F(OverflowFinderTest, FindsNaNInInputsAndParameters) {
  OverflowFinder finder(*net);
  const Tensor bad = x.clone();
  finder.reset();
  bad.index_put_({0, 0}, std::nan(""));
  finder.reset();
  net->forward(bad);
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->what, "input 0");
  EXPECT_EQ(finder.found()->op, "linear");
  EXPECT_EQ(finder.found()->module, "fc1");
  {
    NoGradGuard no_grad;
    net->fc2->bias.fill_(INFINITY);
  }
  finder.reset();
  net->forward(x);
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->what, "input 2, parameter 'fc2.bias'");
  EXPECT_EQ(finder.found()->module, "fc2");
}

TEST_F(OverflowFinderTest, FindsOverflowInBackward) {
  OverflowFinder finder(*net);
  Tensor loss;
  {
    amp::AutocastGuard autocast(device_type(), kHalf);
    loss = sqrt(relu(net->forward(x)) * 0.0).sum();  // the derivative of sqrt at 0 is infinite
  }
  ASSERT_FALSE(finder.found());
  loss.backward();
  const auto found = finder.found();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->backward_of, "sqrt");
  EXPECT_EQ(found->module, "fc2");
  EXPECT_TRUE(found->after_module);
  EXPECT_NE(found->op, "");
}

TEST_F(OverflowFinderTest, ReportsATooHighScale) {
  OverflowFinder finder(*net);
  amp::GradScaler scaler(amp::GradScalerOptions().init_scale(0x1p40));
  {
    amp::AutocastGuard autocast(device_type(), kHalf);
    scaler.scale(net->forward(x).sum()).backward();
  }
  const auto found = finder.found();
  ASSERT_TRUE(found);
  EXPECT_NE(found->backward_of, "") << *found;
}

TEST_F(OverflowFinderTest, FindsGradientsComputedWithoutAnOp) {
  OverflowFinder finder(*net);
  // The incoming gradient is finite, but its product with the input, the weight gradient of linear, is not.
  net->fc1(x.abs() + 1).backward(full({16, 8}, 3e38));
  const auto found = finder.found();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "the gradient of input 1, parameter 'fc1.weight'");
  EXPECT_EQ(found->op, "");
  EXPECT_EQ(found->backward_of, "linear");
  EXPECT_EQ(found->module, "fc1");
  EXPECT_FALSE(found->after_module);
}

TEST_F(OverflowFinderTest, FindsSumsOfGradientsAndOptimizerSteps) {
  OverflowFinder finder(*net);
  // Both gradients are finite, but their sum in the leaf's dtype is not.
  const Tensor p = full({2}, 0.25, kFloat).requires_grad_();
  const Tensor sum = (p * 3e38) + (p * 3e38);
  ASSERT_FALSE(finder.found()) << *finder.found();
  sum.backward(ones({2}));
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->what, "the gradient of a leaf");
  finder.reset();
  {
    NoGradGuard no_grad;
    net->fc1->weight.fill_(1);
  }
  net->fc1->weight.mutable_grad() = full({8, 8}, -3e38);
  EXPECT_FALSE(finder.check_parameters());
  optim::SGD sgd(net->parameters(), optim::SGDOptions(10));
  sgd.step();
  ASSERT_TRUE(finder.check_parameters());
  EXPECT_EQ(finder.found()->what, "parameter 'fc1.weight'");
  finder.reset();
  {
    NoGradGuard no_grad;
    net->fc1->weight.fill_(1);
  }
  net->fc1->weight.mutable_grad() = full({8, 8}, INFINITY);
  ASSERT_TRUE(finder.check_parameters());
  EXPECT_EQ(finder.found()->what, ".grad of parameter 'fc1.weight'");
}

TEST_F(OverflowFinderTest, FindsAnInfiniteSeedGradient) {
  OverflowFinder finder(*net);
  const Tensor y = net->forward(x);
  y.backward(full({16, 4}, INFINITY));
  const auto found = finder.found();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "the gradient of result 0");
  EXPECT_EQ(found->backward_of, "linear");
  EXPECT_EQ(found->module, "fc2");
}

TEST_F(OverflowFinderTest, AllowedOpsMayProduceInf) {
  OverflowFinder finder(*net);
  finder.allow("where");
  const Tensor mask = x.gt(0), scores = x * 2;
  softmax(where(mask, scores, -INFINITY), 1);
  softmax(where(mask, scores, full({}, -INFINITY)), 1);
  EXPECT_FALSE(finder.found()) << *finder.found();
  const Tensor negative = log(zeros({16, 8}));
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->op, "log");
  finder.reset();
  finder.allow("log");
  softmax(log(zeros({16, 8})) + x, 1);
  EXPECT_FALSE(finder.found()) << *finder.found();
  mm(x, full({8, 8}, 3e38));
  ASSERT_TRUE(finder.found()) << "other ops are still reported";
  EXPECT_EQ(finder.found()->op, "mm");
}

TEST_F(OverflowFinderTest, InPlaceCallsReportTheOldValues) {
  OverflowFinder finder;
  const Tensor y = full({4}, 3e38);
  y.mul_(10);
  const auto found = finder.found();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->op, "mul_");
  ASSERT_GE(found->tensors.size(), 2u);
  EXPECT_EQ(found->tensors.front().second.nonfinite(), 0);
  EXPECT_EQ(found->tensors.back().second.positive_inf, 4);
}

TEST_F(OverflowFinderTest, OverwritingInfIsNotReported) {
  const Tensor y = full({4}, INFINITY);
  OverflowFinder finder;
  y.fill_(1);
  EXPECT_FALSE(finder.found());
  const Tensor z = full({4}, INFINITY);
  finder.reset();
  z.mul_(2);
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->what, "input 0");
}

TEST_F(OverflowFinderTest, ThreadsDoNotMixTheirOps) {
  OverflowFinder finder(*net);
  finder.allow("log");
  const ThreadContext context = ThreadContext::capture();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const ThreadContextGuard guard(context);
      for (int i = 0; i < 50; ++i) {
        if (t % 2 == 0) {
          log(zeros({4})) * 2.0;  // an allowed overflow
        } else {
          net->forward(x).sum().backward();
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_FALSE(finder.found()) << *finder.found();
  std::thread([&] {
    const ThreadContextGuard guard(context);
    mm(x, full({8, 8}, 3e38));
  }).join();
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->op, "mm");
}

TEST_F(OverflowFinderTest, DoesNotChangeResultsOrModes) {
  const auto run = [&] {
    net->zero_grad();
    amp::AutocastGuard autocast(device_type());
    const Tensor y = net->forward(x);
    y.sum().backward();
    return y;
  };
  const Tensor y = run();
  const Tensor g = net->fc1->weight.grad();
  {
    OverflowFinder finder(*net);
    EXPECT_TRUE(testing::same_bits(run(), y));
  }
  EXPECT_TRUE(testing::same_bits(net->fc1->weight.grad(), g));
  EXPECT_FALSE(thread_state().observers);
}

}  // namespace
}  // namespace tandem
