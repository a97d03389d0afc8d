// The environment switch: with an unchanged program in a separate process, and step by step through the API.
#include "tandem/amp/modes/auto_mixed_precision.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <thread>

#include "support/compare.h"
#include "support/device.h"
#include "support/own_program.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/cast_cache.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/function.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

using amp::AutoMixedPrecisionOptions;

/// Runs the unchanged program in this program's folder with these variables; returns its stdout and stderr.
std::string run_program(const std::string& variables) {
  std::string command = "env " + variables;
  for (const std::string& word : command_of(own_program().parent_path() / "tandem_unchanged_program")) {
    command += " " + word;
  }
  command += " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return "popen failed";
  std::string text;
  std::array<char, 256> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe)) text += buffer.data();
  pclose(pipe);
  return text;
}

double number_after(const std::string& text, const std::string& word) {
  const size_t at = text.find(word + " ");
  return at == std::string::npos ? NAN : std::stod(text.substr(at + word.size() + 1));
}

constexpr const char* kOn = "automatic mixed precision is on";

TEST(EnvironmentSwitch, IsOffByDefault) {
  for (const char* variables : {"", "TANDEM_AUTO_MIXED_PRECISION=0"}) {
    const std::string text = run_program(variables);
    EXPECT_EQ(text.find(kOn), std::string::npos) << text;
    EXPECT_NE(text.find("output f32 softmax f32 grad f32"), std::string::npos) << text;
  }
}

TEST(EnvironmentSwitch, EnablesMixedPrecisionInAnUnchangedProgram) {
  const std::string off = run_program("");
  for (const std::string low : {"f16", "bf16"}) {
    const std::string text = run_program("TANDEM_AUTO_MIXED_PRECISION=1 TANDEM_AUTO_MIXED_PRECISION_DTYPE=" + low);
    EXPECT_NE(text.find(kOn), std::string::npos) << text;  // TensorFlow's variable adds no line
    EXPECT_NE(text.find("output " + low + " softmax f32 grad f32"), std::string::npos) << text;
    EXPECT_NEAR(number_after(text, "first"), number_after(off, "first"), 0.02);
    EXPECT_NEAR(number_after(text, "last"), number_after(off, "last"), 0.02);
  }
}

TEST(EnvironmentSwitch, VariablesChangeTheLists) {
  const std::string text = run_program(
      "TANDEM_AUTO_MIXED_PRECISION=1 TANDEM_AUTO_MIXED_PRECISION_ALLOWLIST_REMOVE=linear "
      "TANDEM_AUTO_MIXED_PRECISION_ALLOWLIST_ADD=softmax");
  EXPECT_NE(text.find("output f32 softmax bf16"), std::string::npos) << text;
}

TEST(EnvironmentSwitch, RefusesInvalidValues) {
  const std::string text = run_program("TANDEM_AUTO_MIXED_PRECISION=yes");
  EXPECT_NE(text.find("TANDEM_AUTO_MIXED_PRECISION is \"yes\"; use 1 or 0"), std::string::npos) << text;
}

struct AutoMixedPrecision : ::testing::Test {
  AutoMixedPrecision() { amp::enable_auto_mixed_precision(AutoMixedPrecisionOptions().dtype(kHalf)); }
  ~AutoMixedPrecision() override { amp::disable_auto_mixed_precision(); }
};

/// Records the gradient that a backward function receives.
struct Passage : autograd::Function<Passage> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 1.0; }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list grads) {
    seen = grads[0][0].item<float>();
    return grads;
  }
  static inline float seen = 0;
};

TEST_F(AutoMixedPrecision, ProgramsSeeOnlyUnscaledGradients) {
  const Tensor p = ones({4}).requires_grad_();
  const Tensor h = p * 2;
  float on_the_way = 0, at_the_leaf = 0, inside = 0;
  h.retain_grad();
  h.register_hook([&](const Tensor& g) {
    on_the_way = g[0].item<float>();
    AutoGradMode record(true);
    inside = autograd::grad({(p * 5).sum()}, {p})[0][0].item<float>();  // a separate backward pass
    return Tensor();
  });
  p.register_hook([&](const Tensor& g) {
    at_the_leaf = g[0].item<float>();
    return Tensor();
  });
  Passage::apply(h).sum().backward();
  EXPECT_EQ(Passage::seen, 32768);
  EXPECT_EQ(on_the_way, 1);
  EXPECT_EQ(h.grad()[0].item<float>(), 1);
  EXPECT_EQ(at_the_leaf, 2);
  EXPECT_EQ(inside, 5);
  EXPECT_EQ(p.grad()[0].item<float>(), 2);
  (p * 2).sum().backward();  // accumulates
  EXPECT_EQ(p.grad()[0].item<float>(), 4);
  const std::vector<Tensor> grads = autograd::grad({(p * 3).sum()}, {p});
  EXPECT_EQ(grads[0][0].item<float>(), 3);
}

TEST_F(AutoMixedPrecision, HooksReplaceUnscaledGradients) {
  const Tensor p = ones({4}).requires_grad_();
  const auto gradients = [&] {
    p.mutable_grad() = Tensor();
    const Tensor h = p * 3;
    h.retain_grad();
    h.register_hook([](const Tensor& g) { return g.clamp(-0.5, 0.5); });
    h.register_hook([](const Tensor& g) { EXPECT_EQ(g[1].item<float>(), 0.5F); });
    h.register_hook([](const Tensor& g) { return g.mul_(0.5); });
    const Tensor loss = (h * tensor({0.25F, 2.0F, -4.0F, 0.0F})).sum();
    loss.register_hook([](const Tensor& g) { EXPECT_EQ(g.item<float>(), 1); });
    loss.backward({}, true);
    loss.backward();
    return std::vector<Tensor>{p.grad(), h.grad()};
  };
  const std::vector<Tensor> scaled = gradients();
  amp::disable_auto_mixed_precision();
  const std::vector<Tensor> plain = gradients();
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(same_bits(scaled[i], plain[i])) << i;
}

// A hook that returns no gradient must not round away gradients that f16 represents only while they are scaled.
TEST_F(AutoMixedPrecision, ObservingHooksKeepSmallGradients) {
  const Tensor leaf = ones({4}).requires_grad_(), low = leaf.to(kHalf) * 1.0;
  low.register_hook([](const Tensor& g) { EXPECT_EQ(g[0].item<float>(), 0); });
  (low.to(kFloat) * 0x1p-26).sum().backward();
  EXPECT_EQ(leaf.grad()[0].item<float>(), 0x1p-26F);
}

// Gradients of 2^-26 are zero in f16, but not when scaled by 2^15.
TEST_F(AutoMixedPrecision, SmallGradientsSurviveF16) {
  nn::Linear layer(8, 8), last(8, 1);
  const Tensor x = ones({4, 8});
  (last(layer(x)).to(kFloat) * 0x1p-26).sum().backward();
  EXPECT_GT(layer->weight.grad().abs().max().item<double>(), 0);
  layer->zero_grad();
  amp::disable_auto_mixed_precision();
  {
    amp::AutocastGuard autocast(device_type(), kHalf);
    (last(layer(x)).to(kFloat) * 0x1p-26).sum().backward();
  }
  EXPECT_EQ(layer->weight.grad().abs().max().item<double>(), 0);
}

TEST_F(AutoMixedPrecision, OverflowsSkipAndTheScaleAdapts) {
  const Tensor p = ones({4}).requires_grad_(), q = ones({4}).requires_grad_();
  optim::SGD a({p}, optim::SGDOptions(1)), b({q}, optim::SGDOptions(1));
  EXPECT_EQ(amp::auto_mixed_precision_scale(device_type()), 32768);
  ((p * INFINITY).sum() + q.sum() * 0.25).backward();
  a.step();
  b.step();
  EXPECT_EQ(p[0].item<float>(), 1);
  EXPECT_EQ(q[0].item<float>(), 0.75);
  EXPECT_EQ(amp::auto_mixed_precision_scale(device_type()), 16384);  // halved once per iteration
  a.zero_grad();
  (p * 0.5).sum().backward();
  a.step();
  EXPECT_EQ(p[0].item<float>(), 0.5);
}

TEST_F(AutoMixedPrecision, StepBeforeAnyBackward) {
  const Tensor p = ones({4}).requires_grad_();
  optim::SGD sgd({p}, optim::SGDOptions(1));
  p.mutable_grad() = full({4}, 0.5);
  sgd.step();
  EXPECT_EQ(p[0].item<float>(), 0.5);
  sgd.zero_grad();
  (p * 0.25).sum().backward();
  sgd.step();
  EXPECT_EQ(p[0].item<float>(), 0.25);
}

TEST_F(AutoMixedPrecision, RegionsAndThreads) {
  const Tensor x = randn({2, 4}), w = randn({3, 4}).requires_grad_();
  EXPECT_EQ(linear(x, w).dtype(), kHalf);
  {
    amp::AutocastGuard off(device_type(), {}, false);
    EXPECT_EQ(linear(x, w).dtype(), kFloat);
  }
  DType seen = kFloat;
  std::thread([&] { seen = linear(x, w).dtype(); }).join();
  EXPECT_EQ(seen, kHalf);
  linear(x, w);
  const int64_t entries = amp::autocast_cache_stats().entries;
  EXPECT_GE(entries, 1);
  linear(x, w).sum().backward();
  EXPECT_EQ(amp::autocast_cache_stats().entries, 0);
  amp::disable_auto_mixed_precision();
  EXPECT_EQ(linear(x, w).dtype(), kFloat);
  std::thread([&] { seen = linear(x, w).dtype(); }).join();
  EXPECT_EQ(seen, kFloat);
}

// If any option is refused, the previous settings stay in effect.
TEST_F(AutoMixedPrecision, RefusedOptionsChangeNothing) {
  const amp::Cast linear = amp::get_policy("linear"), softmax = amp::get_policy("softmax");
  amp::enable_auto_mixed_precision(
      AutoMixedPrecisionOptions().dtype(kHalf).loss_scale(8).policies({{"softmax", amp::Cast::keep}}));
  const AutoMixedPrecisionOptions refused[] = {
      AutoMixedPrecisionOptions().dtype(kFloat),
      AutoMixedPrecisionOptions().loss_scale(-1),
      AutoMixedPrecisionOptions().policies({{"linear", amp::Cast::f32}, {"sofmax", amp::Cast::f32}}),
      AutoMixedPrecisionOptions().policies({{"linear", amp::Cast::f32}, {"relu", amp::Cast::f32_dtype}}),
  };
  for (const AutoMixedPrecisionOptions& options : refused) {
    EXPECT_ANY_THROW(amp::enable_auto_mixed_precision(options));
    EXPECT_TRUE(amp::is_auto_mixed_precision_enabled());
    EXPECT_EQ(amp::auto_mixed_precision_scale(device_type()), 8);
    EXPECT_EQ(amp::get_policy("linear"), linear);
    EXPECT_EQ(amp::get_policy("softmax"), amp::Cast::keep);
  }
  amp::disable_auto_mixed_precision();
  EXPECT_EQ(amp::get_policy("softmax"), softmax);
}

TEST_F(AutoMixedPrecision, DisablingRestoresPolicies) {
  const amp::Cast before = amp::get_policy("softmax");
  {
    const amp::PolicyGuard region({{"softmax", amp::Cast::lower}});  // local to this thread; must not be restored
    amp::enable_auto_mixed_precision(AutoMixedPrecisionOptions().policies({{"softmax", amp::Cast::keep}}));
  }
  EXPECT_EQ(amp::get_policy("softmax"), amp::Cast::keep);
  amp::disable_auto_mixed_precision();
  EXPECT_EQ(amp::get_policy("softmax"), before);
}

}  // namespace
}  // namespace tandem::testing
