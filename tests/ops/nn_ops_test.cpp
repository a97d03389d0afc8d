// Ops of layers: what is refused and with which words, dtypes of gradients, memory formats, statistics, and second
// derivatives. Values against PyTorch are in tests/cases.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/compare.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/gradient_dtype.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/gradcheck.h"
#include "tandem/base/error.h"
#include "tandem/base/warn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem {
namespace {

using autograd::gradcheck;
using autograd::gradgradcheck;
using testing::kExact;
using testing::near;
using testing::tolerance;
using testing::values_of;
using In = const std::vector<Tensor>&;
using Out = std::vector<Tensor>;

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor f64(IntArrayRef sizes) { return randn(sizes, kDouble).requires_grad_(); }
Tensor leaf(IntArrayRef sizes, DType dtype = kFloat) { return randn(sizes).to(dtype).requires_grad_(); }
Tensor classes(std::initializer_list<int64_t> list) { return tensor(std::vector<int64_t>(list)); }
bool is_channels_last(const Tensor& x) { return x.is_contiguous(kChannelsLast) && !x.is_contiguous(); }

class NnOps : public ::testing::Test {
 protected:
  void SetUp() override { manual_seed(7); }
};

/// Both derivatives against differences.
void check_twice(const autograd::TensorFunction& f, const std::vector<Tensor>& inputs) {
  EXPECT_TRUE(gradcheck(f, inputs));
  EXPECT_TRUE(gradgradcheck(f, inputs));
}

// ---- softmax

TEST_F(NnOps, SoftmaxRefusesBadInput) {
  const Tensor x = randn({2, 3});
  EXPECT_THROWS(softmax(Tensor(), 0), StateError, "softmax: ", "undefined");
  EXPECT_THROWS(softmax(x, 2), IndexError, "softmax", "2");
  EXPECT_THROWS(log_softmax(x, -3), IndexError, "log_softmax", "-3");
  EXPECT_THROWS(softmax(ones({2}, kLong), 0), DTypeError, "softmax: ", "i64", ".to(kFloat)");
  EXPECT_THROWS(log_softmax(x, 0, kInt), DTypeError, "log_softmax: ", "i32");
  EXPECT_THROWS(softmax_backward(randn({2, 2}), x, 1), ShapeError, "softmax_backward: ", "[2, 2]", "[2, 3]");
  EXPECT_THROWS(log_softmax_backward(Tensor(), x, 1), StateError, "log_softmax_backward: ");
}

TEST_F(NnOps, SoftmaxDTypes) {
  const Tensor x = leaf({3, 5}, kHalf), integers = ones({2, 4}, kLong);
  EXPECT_EQ(softmax(x, 1).dtype(), kHalf);
  EXPECT_EQ(x.softmax(1, kFloat).dtype(), kFloat);
  EXPECT_EQ(log_softmax(randn({3}, kDouble), 0, kFloat).dtype(), kFloat);
  EXPECT_TRUE(near(softmax(integers, 1, kFloat), full({2, 4}, 0.25), kExact));
  amp::AutocastGuard autocast(kCPU);
  const Tensor y = softmax(x, 1);
  EXPECT_EQ(y.dtype(), kFloat);
  EXPECT_EQ(softmax(x, 1, kHalf).dtype(), kHalf);
  y.backward(randn({3, 5}));
  EXPECT_EQ(x.grad().dtype(), kHalf);
}

TEST_F(NnOps, SoftmaxDerivativesAreOps) {
  check_twice([](In v) -> Out { return {softmax_backward(v[0], v[1], 0)}; }, {f64({4, 2}), f64({4, 2})});
  check_twice([](In v) -> Out { return {log_softmax_backward(v[0], v[1], -1)}; }, {f64({2, 4}), f64({2, 4})});
}

// ---- layer_norm

TEST_F(NnOps, LayerNormRefusesBadInput) {
  const Tensor x = randn({2, 3, 4});
  EXPECT_THROWS(layer_norm(Tensor(), {4}), StateError, "layer_norm: ", "undefined");
  EXPECT_THROWS(layer_norm(x, {}), ShapeError, "layer_norm: ", "empty");
  EXPECT_THROWS(layer_norm(x, {3}), ShapeError, "layer_norm: ", "[3]", "[2, 3, 4] f32");
  EXPECT_THROWS(layer_norm(x, {1, 2, 3, 4}), ShapeError, "layer_norm: ");
  EXPECT_THROWS(layer_norm(x, {4}, ones({3})), ShapeError, "layer_norm: weight is [3] f32", "[4]");
  EXPECT_THROWS(layer_norm(x, {4}, ones({4}), ones({2})), ShapeError, "layer_norm: bias is [2] f32", "[4]");
  EXPECT_THROWS(layer_norm(ones({4}, kInt), {4}), DTypeError, "layer_norm: ", "i32");
  EXPECT_THROWS(layer_norm(x, {4}, ones({4}, kHalf)), DTypeError, "layer_norm: weight", "f16", ".to()");
}

TEST_F(NnOps, LayerNormTakesLowInputsWithF32Weights) {
  const Tensor x = leaf({6, 8}, kBFloat16), weight = leaf({8}), bias = leaf({8});
  const Tensor y = layer_norm(x, {8}, weight, bias);
  EXPECT_EQ(y.dtype(), kBFloat16);
  const Tensor gy = randn({6, 8}).to(kBFloat16);
  y.backward(gy);
  EXPECT_EQ(x.grad().dtype(), kBFloat16);
  ASSERT_EQ(weight.grad().dtype(), kFloat);
  const Tensor wide = x.detach().to(kDouble).requires_grad_();
  const Tensor w = weight.detach().to(kDouble).requires_grad_(), b = bias.detach().to(kDouble).requires_grad_();
  layer_norm(wide, {8}, w, b).backward(gy.to(kDouble));
  EXPECT_TRUE(near(weight.grad(), w.grad(), tolerance(kFloat, 6, 1, 8)));
  EXPECT_TRUE(near(bias.grad(), b.grad(), tolerance(kFloat, 6, 1, 8)));
  EXPECT_TRUE(near(x.grad(), wide.grad(), tolerance(kBFloat16, 8, 2, 4)));
}

TEST_F(NnOps, LayerNormGradientsWithAndWithoutGraphAgree) {
  const Tensor x = f64({3, 2, 4}), w = f64({2, 4}), b = f64({2, 4}), gy = randn({3, 2, 4}, kDouble);
  const Tensor y = layer_norm(x, {2, 4}, w, b);
  const auto fused = autograd::grad({y}, {x, w, b}, {gy}, true);
  const auto graph = autograd::grad({y}, {x, w, b}, {gy}, true, true);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(near(graph[i], fused[i], tolerance(kDouble, 8, 1, 16))) << i;
  check_twice([](In v) -> Out { return {layer_norm(v[0], {4}, v[1], v[2])}; }, {f64({3, 4}), f64({4}), f64({4})});
}

// ---- batch_norm

TEST_F(NnOps, BatchNormRefusesBadInput) {
  const Tensor x = randn({2, 3, 4, 4}), w = ones({3}), m = zeros({3}), v = ones({3});
  EXPECT_THROWS(batch_norm(Tensor(), w, w, m, v, true), StateError, "batch_norm: ", "undefined");
  EXPECT_THROWS(batch_norm(randn({3}), {}, {}, {}, {}, true), ShapeError, "batch_norm: x is [3] f32", "[N, C, ...]");
  EXPECT_THROWS(batch_norm(x, ones({2}), {}, m, v, true), ShapeError, "batch_norm: weight is [2] f32", "[3]");
  EXPECT_THROWS(batch_norm(x, w, w, m, ones({4}), true), ShapeError, "batch_norm: running_var is [4] f32");
  EXPECT_THROWS(batch_norm(x, w, w, m, {}, true), StateError, "batch_norm: ", "both or neither");
  EXPECT_THROWS(batch_norm(x, w, w, {}, {}, false), StateError, "batch_norm: ", "running");
  EXPECT_THROWS(batch_norm(x, w, w, zeros({3}, kLong), v, true), DTypeError, "batch_norm: running_mean", "i64");
  EXPECT_THROWS(batch_norm(x.to(kLong), w, w, m, v, true), DTypeError, "batch_norm: x", "i64");
  EXPECT_THROWS(batch_norm(x, ones({3}, kHalf), w, m, v, true), DTypeError, "batch_norm: weight", "f16");
  EXPECT_THROWS(batch_norm(randn({1, 3, 1, 1}), w, w, m, v, true), ShapeError, "one value per channel", "[1, 3, 1, 1]");
  EXPECT_TRUE(near(m, zeros({3}), kExact));  // nothing was changed
  EXPECT_NO_THROW(batch_norm(randn({1, 3, 1, 1}), w, w, m, v, false));
}

TEST_F(NnOps, BatchNormUpdatesTheCallersStatisticsUnderAnyPolicy) {
  const Tensor x = randn({4, 3, 5, 5}), w = leaf({3}), b = leaf({3});
  const Tensor expected_mean = zeros({3}), expected_var = ones({3});
  batch_norm(x.to(kBFloat16), w, b, expected_mean, expected_var, true, 0.5);
  EXPECT_FALSE(near(expected_mean, zeros({3}), kExact));
  for (amp::Cast cast : {amp::Cast::keep, amp::Cast::lower, amp::Cast::f32, amp::Cast::promote}) {
    const Tensor mean = zeros({3}), var = ones({3});
    const uint64_t before = mean._version();
    amp::PolicyGuard policy({{"batch_norm", cast}});
    amp::AutocastGuard autocast(kCPU);
    batch_norm(x.to(kBFloat16), w, b, mean, var, true, 0.5);
    EXPECT_TRUE(near(mean, expected_mean, tolerance(kFloat, 100)));
    EXPECT_TRUE(near(var, expected_var, tolerance(kFloat, 100)));
    EXPECT_GT(mean._version(), before);
  }
}

TEST_F(NnOps, BatchNormSavesTheStatisticsItUses) {
  const Tensor x = leaf({4, 3}), mean = zeros({3}), var = ones({3});
  const Tensor evaluated = batch_norm(x, {}, {}, mean, var, false);
  const Tensor trained = batch_norm(x, {}, {}, mean, var, true);  // moves the statistics
  EXPECT_NO_THROW(trained.sum().backward());
  EXPECT_THROWS(evaluated.sum().backward(), AutogradError, "batch_norm: ", "changed in place");
}

TEST_F(NnOps, BatchNormGradientsInBothModes) {
  for (bool training : {true, false}) {
    const Tensor mean = randn({2}, kDouble), var = rand({2}, kDouble).add(0.5);
    const auto f = [=](In v) -> Out { return {batch_norm(v[0], v[1], v[2], mean.clone(), var.clone(), training)}; };
    check_twice(f, {f64({3, 2, 2, 2}), f64({2}), f64({2})});
    check_twice([=](In v) -> Out { return {batch_norm(v[0], {}, {}, mean.clone(), var.clone(), training)}; },
                {f64({4, 2})});
    const Tensor x = f64({3, 2, 2, 2}), w = f64({2}), b = f64({2}), gy = randn({3, 2, 2, 2}, kDouble);
    const Tensor y = f({x, w, b})[0];
    const auto fused = autograd::grad({y}, {x, w, b}, {gy}, true);
    const auto graph = autograd::grad({y}, {x, w, b}, {gy}, true, true);
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(near(graph[i], fused[i], tolerance(kDouble, 12, 1, 16))) << i;
  }
}

// ---- conv2d

TEST_F(NnOps, ConvRefusesBadInput) {
  const Tensor x = randn({2, 4, 6, 6}), w = randn({8, 4, 3, 3});
  EXPECT_THROWS(conv2d(Tensor(), w), StateError, "conv2d: x", "undefined");
  EXPECT_THROWS(conv2d(x, Tensor()), StateError, "conv2d: weight", "undefined");
  EXPECT_THROWS(conv2d(randn({6, 6}), w), ShapeError, "conv2d: x is [6, 6]", "[N, C, H, W]");
  EXPECT_THROWS(conv2d(x, randn({8, 4, 3})), ShapeError, "conv2d: the weight is [8, 4, 3]");
  EXPECT_THROWS(conv2d(x, randn({8, 3, 3, 3})), ShapeError, "conv2d: x [2, 4, 6, 6] has 4 channels", "takes 3");
  EXPECT_THROWS(conv2d(x, w, randn({7})), ShapeError, "conv2d: bias is [7] f32", "[8]");
  EXPECT_THROWS(conv2d(x, w, {}, {0}), StateError, "conv2d: stride = [0]", "at least 1");
  EXPECT_THROWS(conv2d(x, w, {}, {1, 1, 1}), ShapeError, "conv2d: stride = [1, 1, 1]");
  EXPECT_THROWS(conv2d(x, w, {}, {1}, {-1}), StateError, "conv2d: padding = [-1]");
  EXPECT_THROWS(conv2d(x, w, {}, {1}, {0}, {0}), StateError, "conv2d: dilation = [0]");
  EXPECT_THROWS(conv2d(x, w, {}, {1}, {0}, {3}), ShapeError, "conv2d: the kernel reaches over 7", "padded has 6");
  EXPECT_THROWS(conv2d(x, w, {}, {1}, {0}, {1}, 3), StateError, "conv2d: groups = 3", "8 outputs");
  EXPECT_THROWS(conv2d(x.to(kHalf), w), DTypeError, "conv2d: ", "f16", "f32", "Autocast", ".to()");
  EXPECT_THROWS(conv2d(x, w, randn({8}).to(kHalf)), DTypeError, "conv2d: ", "bias", "f16");
  EXPECT_THROWS(conv2d(x.to(kInt), w), DTypeError, "conv2d: x", "i32");
  EXPECT_THROWS(conv2d_backward_input(x, w, {2, 4, 6, 6}, {}), ShapeError, "conv2d_backward_input: gy");
  EXPECT_THROWS(conv2d_backward_weight(x, x, {8, 4, 3, 3}, {}), ShapeError, "conv2d_backward_weight: gy");
}

TEST_F(NnOps, ConvWeightGradientsStayInF32UnderAutocast) {
  const Tensor x = randn({16, 3, 9, 9}), w = leaf({4, 3, 3, 3}), b = leaf({4});
  const Tensor gy = randn({16, 4, 9, 9}).to(kBFloat16);
  Tensor y;
  {
    amp::AutocastGuard autocast(kCPU);
    y = conv2d(x, w, b, {1}, {1});
  }
  ASSERT_EQ(y.dtype(), kBFloat16);
  y.backward(gy);
  const Tensor wide = w.detach().to(kBFloat16).to(kDouble).requires_grad_(),
               wb = b.detach().to(kDouble).requires_grad_();
  conv2d(x.to(kBFloat16).to(kDouble), wide, wb, {1}, {1}).backward(gy.to(kDouble));
  ASSERT_EQ(w.grad().dtype(), kFloat);
  EXPECT_TRUE(near(w.grad(), wide.grad(), tolerance(kFloat, 16 * 81, 1, 16)));
  EXPECT_TRUE(near(b.grad(), wb.grad(), tolerance(kFloat, 16 * 81, 1, 16)));
  EXPECT_FALSE(near(w.grad(), w.grad().to(kBFloat16), kExact));
}

TEST_F(NnOps, ConvSecondDerivativesRunUnderAutocast) {
  const Tensor x = leaf({2, 2, 5, 5}), w = leaf({3, 2, 3, 3}), b = leaf({3});
  Tensor y;
  {
    amp::AutocastGuard autocast(kCPU);
    y = conv2d(x, w, b);
  }
  const auto first = autograd::grad({y.to(kFloat).square().sum()}, {x, w, b}, {}, true, true);
  for (const Tensor& g : first) EXPECT_EQ(g.dtype(), kFloat);
  (first[0].square().sum() + first[1].square().sum() + first[2].square().sum()).backward();
  const Tensor dx = x.detach().to(kDouble).requires_grad_(), dw = w.detach().to(kDouble).requires_grad_(),
               db = b.detach().to(kDouble).requires_grad_();
  const auto wide = autograd::grad({conv2d(dx, dw, db).square().sum()}, {dx, dw, db}, {}, true, true);
  (wide[0].square().sum() + wide[1].square().sum() + wide[2].square().sum()).backward();
  // bf16 operands: 1 % of the largest gradient.
  EXPECT_TRUE(near(w.grad(), dw.grad(), {0, 0.03 * testing::scale_of(values_of(dw.grad()))}));
  EXPECT_TRUE(near(x.grad(), dx.grad(), {0, 0.03 * testing::scale_of(values_of(dx.grad()))}));
  EXPECT_TRUE(near(b.grad(), db.grad(), {0, 0.03 * testing::scale_of(values_of(db.grad()))}));
}

TEST_F(NnOps, ConvDerivativesAreOps) {
  Conv2dParams p;
  p.stride = {2, 1};
  p.padding = {1, 0};
  p.dilation = {1, 2};
  p.groups = 2;
  const Dims xs{2, 2, 4, 5}, ws{4, 1, 3, 2}, ys{2, 4, 2, 3};
  check_twice(
      [&](In v) -> Out {
        return {conv2d(v[0], v[1], v[2], {2, 1}, {1, 0}, {1, 2}, 2)};
      },
      {f64(xs), f64(ws), f64({4})});
  check_twice([&](In v) -> Out { return {conv2d_backward_input(v[0], v[1], xs, p)}; }, {f64(ys), f64(ws)});
  check_twice(
      [&](In v) -> Out {
        auto [gw, gb] = conv2d_backward_weight(v[0], v[1], ws, p, {}, true);
        return {gw, gb};
      },
      {f64(ys), f64(xs)});
  check_twice([&](In v) -> Out { return {conv2d(v[0], v[1])}; }, {f64({1, 3, 3}), f64({2, 1, 2, 2})});
}

TEST_F(NnOps, ConvKeepsChannelsLast) {
  const Tensor x = leaf({2, 3, 5, 5}), w = leaf({4, 3, 3, 3});
  EXPECT_TRUE(conv2d(x, w).is_contiguous());
  for (int which = 0; which < 2; ++which) {
    const Tensor cx = which == 0 ? x.detach().contiguous(kChannelsLast).requires_grad_() : x;
    const Tensor cw = which == 1 ? w.detach().contiguous(kChannelsLast).requires_grad_() : w;
    const Tensor y = conv2d(cx, cw);
    EXPECT_TRUE(is_channels_last(y));
    EXPECT_TRUE(near(y, conv2d(x, w), tolerance(kFloat, 27, 1, 8)));
    const auto grads = autograd::grad({y}, {cx, cw}, {ones_like(y)});
    EXPECT_TRUE(is_channels_last(grads[0]));
  }
}

TEST_F(NnOps, ConvOnlyBiasGradient) {
  const Tensor b = leaf({4});
  conv2d(randn({2, 3, 5, 5}), randn({4, 3, 3, 3}), b).sum().backward();
  EXPECT_TRUE(near(b.grad(), full({4}, 18.0), kExact));
}

// ---- pooling

TEST_F(NnOps, PoolsRefuseBadInput) {
  const Tensor x = randn({2, 3, 6, 6});
  EXPECT_THROWS(max_pool2d(Tensor(), {2}), StateError, "max_pool2d: x", "undefined");
  EXPECT_THROWS(max_pool2d(randn({6, 6}), {2}), ShapeError, "max_pool2d: x is [6, 6] f32");
  EXPECT_THROWS(max_pool2d(randn({2, 3, 0, 6}), {2}), ShapeError, "max_pool2d: ", "empty");
  EXPECT_THROWS(max_pool2d(x.to(kLong), {2}), DTypeError, "max_pool2d: x", "i64");
  EXPECT_THROWS(max_pool2d(x, {}), ShapeError, "max_pool2d: kernel_size");
  EXPECT_THROWS(max_pool2d(x, {0}), StateError, "max_pool2d: kernel_size = [0]");
  EXPECT_THROWS(max_pool2d(x, {2}, {0}), StateError, "max_pool2d: stride = [0]");
  EXPECT_THROWS(max_pool2d(x, {2}, {}, {2}), StateError, "max_pool2d: padding [2]", "half");
  EXPECT_THROWS(max_pool2d(x, {2}, {}, {0}, {0}), StateError, "max_pool2d: dilation");
  EXPECT_THROWS(max_pool2d(x, {7}), ShapeError, "max_pool2d: no window fits", "7", "[2, 3, 6, 6]");
  EXPECT_THROWS(avg_pool2d(x, {3}, {}, {2}), StateError, "avg_pool2d: padding [2]");
  EXPECT_THROWS(avg_pool2d(x, {2}, {}, {0}, false, true, 0), StateError, "avg_pool2d: divisor_override = 0");
  EXPECT_THROWS(adaptive_avg_pool2d(x, {0}), StateError, "adaptive_avg_pool2d: output_size = [0]");
  EXPECT_THROWS(adaptive_avg_pool2d(x, {1, 2, 3}), ShapeError, "adaptive_avg_pool2d: output_size");
  EXPECT_THROWS(max_pool2d_backward(x, zeros({2, 3, 3, 3}, kByte), {2, 3, 6, 6}, {}), ShapeError,
                "max_pool2d_backward: gy");
  EXPECT_THROWS(avg_pool2d_backward(x, {2, 3, 5, 5}, {}), ShapeError, "avg_pool2d_backward: gy");
  EXPECT_THROWS(adaptive_avg_pool2d_backward(x, {2, 4, 9, 9}), ShapeError, "adaptive_avg_pool2d_backward: ");
}

TEST_F(NnOps, PoolOutputSizes) {
  const Tensor x = randn({1, 1, 7, 7});
  EXPECT_EQ(max_pool2d(x, {2}).sizes(), IntArrayRef({1, 1, 3, 3}));
  EXPECT_EQ(max_pool2d(x, {2}, {}, {0}, {1}, true).sizes(), IntArrayRef({1, 1, 4, 4}));
  EXPECT_EQ(max_pool2d(x, {2}, {2}, {1}, {1}, true).sizes(), IntArrayRef({1, 1, 4, 4}));
  // One more window would start in the padding.
  EXPECT_EQ(max_pool2d(x, {2}, {3}, {1}, {1}, true).sizes(), IntArrayRef({1, 1, 3, 3}));
  EXPECT_EQ(avg_pool2d(randn({1, 3, 3}), {2}, {2}, {1}, true).sizes(), IntArrayRef({1, 2, 2}));
  EXPECT_EQ(adaptive_avg_pool2d(x, {3, 9}).sizes(), IntArrayRef({1, 1, 3, 9}));
}

TEST_F(NnOps, PoolsKeepChannelsLastAndLargeWindows) {
  const Tensor x = randn({2, 3, 8, 8}), last = x.contiguous(kChannelsLast).requires_grad_();
  const Tensor plain = x.clone().requires_grad_();
  const std::vector<std::function<Tensor(const Tensor&)>> pools = {
      [](const Tensor& v) { return max_pool2d(v, {3}, {2}, {1}); },
      [](const Tensor& v) { return avg_pool2d(v, {3}, {2}, {1}); },
      [](const Tensor& v) { return adaptive_avg_pool2d(v, {3}); }, [](const Tensor& v) { return max_pool2d(v, {8}); }};
  for (size_t i = 0; i < pools.size(); ++i) {
    const Tensor a = pools[i](plain), b = pools[i](last);
    EXPECT_TRUE(a.is_contiguous());
    EXPECT_TRUE(b.is_contiguous(kChannelsLast)) << i;
    EXPECT_TRUE(near(a, b, tolerance(kFloat, 9)));
    const Tensor gy = randn(a.sizes());
    const Tensor ga = autograd::grad({a}, {plain}, {gy})[0],
                 gb = autograd::grad({b}, {last}, {gy.contiguous(kChannelsLast)})[0];
    EXPECT_TRUE(is_channels_last(gb)) << i;
    EXPECT_TRUE(near(ga, gb, tolerance(kFloat, 9)));
  }
  const Tensor wide = randn({1, 1, 20, 20}).requires_grad_();  // 400 cells: indices that u8 cannot hold
  const Tensor y = max_pool2d(wide, {20});
  y.sum().backward();
  EXPECT_EQ(wide.grad().sum().item<float>(), 1.0F);
  EXPECT_EQ((wide.detach() * wide.grad()).sum().item<float>(), y.item<float>());
}

TEST_F(NnOps, PoolDerivatives) {
  check_twice(
      [](In v) -> Out {
        return {max_pool2d(v[0], {3, 2}, {2, 1}, {1, 0}, {1, 2}, true)};
      },
      {f64({2, 2, 5, 5})});
  check_twice([](In v) -> Out { return {avg_pool2d(v[0], {3}, {2}, {1}, true, false)}; }, {f64({2, 5, 6})});
  check_twice([](In v) -> Out { return {avg_pool2d(v[0], {2}, {}, {0}, false, true, 3)}; }, {f64({1, 2, 4, 4})});
  check_twice([](In v) -> Out { return {adaptive_avg_pool2d(v[0], {2, 3})}; }, {f64({1, 2, 5, 4})});
  // Derivatives of something that is not linear in x reach the second derivative of the pools.
  check_twice([](In v) -> Out { return {max_pool2d(v[0], {2}).square()}; }, {f64({1, 1, 4, 4})});
  check_twice([](In v) -> Out { return {avg_pool2d(v[0], {2}).square()}; }, {f64({1, 1, 4, 4})});
}

// ---- dropout

TEST_F(NnOps, DropoutRefusesBadInput) {
  EXPECT_THROWS(dropout(Tensor(), 0.5, true), StateError, "dropout: ", "undefined");
  EXPECT_THROWS(dropout(randn({2}), 1.5, true), StateError, "dropout: p = 1.5", "[0, 1]");
  EXPECT_THROWS(dropout(randn({2}), -0.1, false), StateError, "dropout: p = -0.1");
  EXPECT_THROWS(dropout(randn({2}), std::nan(""), true), StateError, "dropout: p = nan");
  EXPECT_THROWS(dropout(ones({2}, kLong), 0.5, true), DTypeError, "dropout: x", "i64");
  EXPECT_THROWS(dropout_backward(randn({2}), ones({3}, kBool), 0.5), ShapeError, "dropout_backward: mask");
}

TEST_F(NnOps, DropoutScalesWhatItKeeps) {
  const Tensor x = ones({1000}).requires_grad_();
  EXPECT_TRUE(dropout(x, 0.5, false).is_same(x));
  EXPECT_TRUE(dropout(x, 0, true).is_same(x));
  manual_seed(3);
  const Tensor y = dropout(x, 0.25, true);
  manual_seed(3);
  EXPECT_TRUE(near(dropout(x, 0.25, true), y, kExact));
  const double kept = y.ne(0).to(kFloat).mean().item<double>();
  EXPECT_NEAR(kept, 0.75, 0.06);
  y.sum().backward();
  EXPECT_TRUE(near(x.grad(), y, kExact));  // the same mask, times 1 / 0.75
  EXPECT_NEAR(y.max().item<double>(), 1 / 0.75, 1e-6);
  const Tensor none = dropout(full({4}, kInf).requires_grad_(), 1, true);
  EXPECT_TRUE(near(none, zeros({4}), kExact));
}

TEST_F(NnOps, DropoutDerivatives) {
  check_twice(
      [](In v) -> Out {
        manual_seed(5);
        return {dropout(v[0], 0.5, true).square()};
      },
      {f64({3, 4})});
  check_twice([](In v) -> Out { return {dropout(v[0], 1, true)}; }, {f64({3})});
}

// ---- indexing

TEST_F(NnOps, IndexingRefusesBadInput) {
  const Tensor x = randn({4, 3}), index = zeros({2, 3}, kLong), rows = classes({0, 1});
  EXPECT_THROWS(gather(Tensor(), 0, index), StateError, "gather: x", "undefined");
  EXPECT_THROWS(gather(x, 0, Tensor()), StateError, "gather: index", "undefined");
  EXPECT_THROWS(gather(x, 2, index), IndexError, "gather", "2");
  EXPECT_THROWS(gather(x, 0, index.to(kFloat)), DTypeError, "gather: index is [2, 3] f32", "i64");
  EXPECT_THROWS(gather(x, 0, rows), ShapeError, "gather: index is [2] i64", "rank");
  EXPECT_THROWS(gather(x, 0, zeros({2, 4}, kLong)), ShapeError, "gather: index is [2, 4]", "[4, 3]");
  EXPECT_THROWS(gather(x, 0, full({2, 3}, 4, kLong)), IndexError, "4");
  EXPECT_THROWS(gather(x, 0, full({2, 3}, -1, kLong)), IndexError, "-1");
  EXPECT_THROWS(index_select(x, 0, index), ShapeError, "index_select: index is [2, 3]", "rank 1");
  EXPECT_THROWS(index_select(x, 0, classes({4})), IndexError, "4");
  EXPECT_THROWS(index_select(x, 0, Tensor()), StateError, "index_select: index");
  EXPECT_THROWS(scatter_add(x, 0, index, randn({1, 3})), ShapeError, "scatter_add: ", "src");
  EXPECT_THROWS(scatter_add(x, 0, index, randn({2, 3}).to(kHalf)), DTypeError, "scatter_add: ", "f16");
  EXPECT_THROWS(scatter_add(x, 0, index, Tensor()), StateError, "scatter_add: src");
  EXPECT_THROWS(x.scatter_add_(0, index, randn({2, 3}, kDouble)), DTypeError, "scatter_add_: ", "f64");
  EXPECT_THROWS(index_add(x, 0, rows, randn({3, 3})), ShapeError, "index_add: src is [3, 3]", "[2, 3]");
  EXPECT_THROWS(index_add(x, 0, rows, randn({2, 3}, kDouble)), DTypeError, "index_add: ");
  EXPECT_THROWS(x.index_add_(1, rows, randn({4, 3})), ShapeError, "index_add_: src");
  EXPECT_THROWS(index_add(x, 5, rows, x), IndexError, "index_add");
  EXPECT_THROWS(embedding(randn({4}), rows), ShapeError, "embedding: weight is [4] f32");
  EXPECT_THROWS(embedding(Tensor(), rows), StateError, "embedding: weight");
  EXPECT_THROWS(embedding(x, x), DTypeError, "embedding: indices", "f32");
  EXPECT_THROWS(embedding(x, classes({9})), IndexError, "9");
  EXPECT_THROWS(embedding(x, rows, 4), IndexError, "embedding: padding_idx = 4", "4 entries");
  EXPECT_THROWS(gather_backward(x, {4, 3}, 0, index), ShapeError, "gather_backward: gy");
  EXPECT_THROWS(index_select_backward(x, {4, 3}, 0, rows), ShapeError, "index_select_backward: gy");
}

TEST_F(NnOps, IndexingDerivatives) {
  const Tensor index = tensor({{0, 2, 2}, {1, 1, 0}}, kLong), rows = classes({2, 0, 2});
  check_twice([=](In v) -> Out { return {gather(v[0], 0, index).square()}; }, {f64({3, 4})});
  check_twice([=](In v) -> Out { return {scatter_add(v[0], 0, index, v[1]).square()}; }, {f64({3, 4}), f64({3, 3})});
  check_twice([=](In v) -> Out { return {index_select(v[0], 1, rows).square()}; }, {f64({2, 3})});
  check_twice([=](In v) -> Out { return {index_add(v[0], 0, rows, v[1], -0.5).square()}; }, {f64({3, 2}), f64({3, 2})});
  check_twice([=](In v) -> Out { return {embedding(v[0], index).square()}; }, {f64({3, 2})});
}

TEST_F(NnOps, EmbeddingPaddingGetsNoGradient) {
  const Tensor weight = leaf({3, 2});
  const Tensor y = embedding(weight, tensor({{0, 1}, {1, 2}}, kLong), 1);
  EXPECT_EQ(y.sizes(), IntArrayRef({2, 2, 2}));
  y.sum().backward();
  EXPECT_TRUE(near(weight.grad(), tensor({{1.0, 1.0}, {0.0, 0.0}, {1.0, 1.0}}), kExact));
}

TEST_F(NnOps, SavedIndicesAreGuarded) {
  const Tensor weight = leaf({3, 2}), index = classes({0, 2});
  const Tensor y = embedding(weight, index);
  index.fill_(1);
  EXPECT_THROWS(y.sum().backward(), AutogradError, "embedding: ", "changed in place");
}

TEST_F(NnOps, LowSumsAreHeldInF32) {
  // 1 + 512 * 2^-12: every single addition in f16 or bf16 would round the term away.
  for (DType t : {kHalf, kBFloat16}) {
    const Tensor ones_low = ones({1}, t), terms = full({512}, 0x1p-12, t), index = zeros({512}, kLong);
    EXPECT_EQ(index_add(ones_low, 0, index, terms).item<double>(), 1.125);
    EXPECT_EQ(scatter_add(ones_low, 0, index, terms).item<double>(), 1.125);
    EXPECT_EQ(ones({1}, t).index_add_(0, index, terms).item<double>(), 1.125);
    EXPECT_EQ(ones({1}, t).scatter_add_(0, index, terms).item<double>(), 1.125);
    const Tensor weight = zeros({1, 1}, t).requires_grad_();
    embedding(weight, index).backward(terms.view({512, 1}));
    EXPECT_EQ(weight.grad().item<double>(), 0.125);
  }
}

TEST_F(NnOps, IndexAddInPlaceIsRecorded) {
  const Tensor x = leaf({3}), src = leaf({2}), rows = classes({0, 0});
  const Tensor y = x * 2.0;
  y.index_add_(0, rows, src, 3);
  y.square().sum().backward();
  EXPECT_TRUE(near(src.grad(), y.detach().index_select(0, rows).mul(6), tolerance(kFloat)));
  EXPECT_TRUE(near(x.grad(), y.detach().mul(4), tolerance(kFloat)));
  const Tensor z = x * 1.0;
  z.scatter_add_(0, rows, src);
  EXPECT_TRUE(z.requires_grad());
  EXPECT_THROWS(x.index_add_(0, rows, src), AutogradError, "index_add_", "leaf");
}

// ---- classification losses

TEST_F(NnOps, ClassLossesRefuseBadInput) {
  const Tensor x = randn({4, 3}), t = classes({0, 1, 2, 0});
  EXPECT_THROWS(nll_loss(Tensor(), t), StateError, "nll_loss: x", "undefined");
  EXPECT_THROWS(nll_loss(x, Tensor()), StateError, "nll_loss: target", "undefined");
  EXPECT_THROWS(nll_loss(scalar_tensor(1.0), t), ShapeError, "nll_loss: x is [] f32");
  EXPECT_THROWS(nll_loss(randn({4, 0}), t), ShapeError, "nll_loss: ", "no classes");
  EXPECT_THROWS(nll_loss(x, classes({0, 1})), ShapeError, "nll_loss: x is [4, 3] f32", "[4]", "[2] i64");
  EXPECT_THROWS(nll_loss(x, t.to(kFloat)), DTypeError, "nll_loss: target", "f32", "i64");
  EXPECT_THROWS(nll_loss(x, t, ones({4})), ShapeError, "nll_loss: weight is [4] f32", "[3]");
  EXPECT_THROWS(nll_loss(x, t, ones({3}, kLong)), DTypeError, "nll_loss: weight", "i64");
  EXPECT_THROWS(nll_loss(x.to(kLong), t), DTypeError, "nll_loss: x", "i64");
  EXPECT_THROWS(nll_loss(x, classes({0, 1, 3, 0})), IndexError, "3");
  EXPECT_THROWS(cross_entropy(x, classes({0, 1, -5, 0})), IndexError, "-5");
  EXPECT_THROWS(cross_entropy(Tensor(), t), StateError, "cross_entropy: x");
  EXPECT_THROWS(cross_entropy(x, Tensor()), StateError, "cross_entropy: target");
  EXPECT_THROWS(cross_entropy(x, classes({0})), ShapeError, "cross_entropy: x is [4, 3]", "[1] i64");
  EXPECT_THROWS(cross_entropy(x, t.to(kFloat)), ShapeError, "cross_entropy: target is [4] f32", "i64");
  EXPECT_THROWS(cross_entropy(x, x, {}, LossReduction::Mean, 1), StateError, "cross_entropy: ignore_index = 1");
  EXPECT_THROWS(cross_entropy(x, t, {}, LossReduction::Mean, -100, 1.5), StateError, "label_smoothing = 1.5");
}

TEST_F(NnOps, IgnoredTargetsCountNeitherWay) {
  const Tensor x = tensor({{-1.0, -2.0}, {-kInf, -3.0}, {-5.0, -7.0}}).requires_grad_(), t = classes({1, -100, 0});
  const Tensor y = nll_loss(x, t);
  EXPECT_EQ(y.item<double>(), 3.5);
  y.backward();
  EXPECT_TRUE(near(x.grad(), tensor({{0.0, -0.5}, {0.0, 0.0}, {-0.5, 0.0}}), kExact));
  x.mutable_grad() = {};
  const Tensor nothing = nll_loss(x, full({3}, -100, kLong));
  EXPECT_TRUE(std::isnan(nothing.item<double>()));
  nothing.backward();
  EXPECT_TRUE(near(x.grad(), zeros({3, 2}), kExact));
}

TEST_F(NnOps, ClassLossesUnderAutocast) {
  const Tensor x = leaf({4, 3}, kBFloat16), t = classes({0, 1, 2, 0});
  EXPECT_EQ(cross_entropy(x, t).dtype(), kBFloat16);
  const Tensor exact = cross_entropy(x.detach().to(kDouble), t);
  amp::AutocastGuard autocast(kCPU);
  const Tensor loss = cross_entropy(x, t);
  EXPECT_EQ(loss.dtype(), kFloat);
  EXPECT_TRUE(near(loss, exact, tolerance(kFloat, 12)));
  EXPECT_EQ(nll_loss(x, t).dtype(), kFloat);
  {
    amp::PolicyGuard cpu(amp::torch_cpu_policy());
    EXPECT_EQ(cross_entropy(x, t).dtype(), kFloat);
    EXPECT_TRUE(near(cross_entropy(x, t), exact, tolerance(kFloat, 12)));
  }
  loss.backward();
  EXPECT_EQ(x.grad().dtype(), kBFloat16);
}

TEST_F(NnOps, ClassLossDerivatives) {
  const Tensor t = classes({2, 0, 1, 2}), w = rand({3}, kDouble).add(0.5);
  for (LossReduction r : {LossReduction::None, LossReduction::Mean, LossReduction::Sum}) {
    check_twice([=](In v) -> Out { return {nll_loss(v[0].square(), t, w, r, 0)}; }, {f64({4, 3})});
    check_twice([=](In v) -> Out { return {cross_entropy(v[0], t, w, r, 0, 0.2)}; }, {f64({4, 3})});
    check_twice([=](In v) -> Out { return {cross_entropy(v[0], softmax(v[1], 1), w, r, -100, 0.2)}; },
                {f64({4, 3}), f64({4, 3})});
  }
  check_twice([=](In v) -> Out { return {cross_entropy(v[0], t.view({2, 2}))}; }, {f64({2, 3, 2})});
  check_twice([=](In v) -> Out { return {cross_entropy(v[0], t.select(0, 0), {}, LossReduction::None)}; }, {f64({3})});
}

// ---- regression losses

TEST_F(NnOps, MseRefusesBadInput) {
  EXPECT_THROWS(mse_loss(Tensor(), randn({2})), StateError, "mse_loss: x", "undefined");
  EXPECT_THROWS(mse_loss(randn({2}), Tensor()), StateError, "mse_loss: target", "undefined");
  EXPECT_THROWS(mse_loss(randn({2}), randn({3})), ShapeError, "mse_loss", "[2]", "[3]");
  EXPECT_THROWS(mse_loss(randn({2}), ones({2}, kLong)), DTypeError, "mse_loss: target", "i64");
  EXPECT_THROWS(mse_loss_backward(randn({2}), randn({2}), randn({2}), LossReduction::Mean), ShapeError,
                "mse_loss_backward: gy");
}

TEST_F(NnOps, MseDerivatives) {
  for (LossReduction r : {LossReduction::None, LossReduction::Mean, LossReduction::Sum}) {
    check_twice([r](In v) -> Out { return {mse_loss(v[0], v[1], r)}; }, {f64({3, 2}), f64({3, 2})});
    check_twice([r](In v) -> Out { return {mse_loss(v[0], v[1], r)}; }, {f64({3, 1}), f64({2})});  // broadcast
  }
}

TEST_F(NnOps, MseWarnsWhenSizesBroadcast) {
  std::string warning;
  const auto previous = set_warning_handler([&](const std::string& message) { warning += message; });
  mse_loss(randn({7, 1}), randn({7}));
  set_warning_handler(previous);
  EXPECT_NE(warning.find("mse_loss: x is [7, 1] f32, target is [7] f32"), std::string::npos) << warning;
}

TEST_F(NnOps, MseOfLowInputsIsF32UnderAutocast) {
  const Tensor x = leaf({64, 8}, kHalf), t = randn({64, 8});
  amp::AutocastGuard autocast(kCPU, kHalf);
  const Tensor loss = mse_loss(x, t);
  EXPECT_EQ(loss.dtype(), kFloat);
  (loss * 65536.0).backward();  // the gradient of the loss would be inf in f16
  EXPECT_EQ(x.grad().dtype(), kHalf);
  const Tensor expected = (x.detach().to(kDouble) - t.to(kDouble)) * (65536.0 * 2 / 512);
  EXPECT_TRUE(near(x.grad(), expected, tolerance(kHalf, 1, 1, 256)));
}

TEST_F(NnOps, MseOfF16DoesNotOverflowInItsSum) {
  const Tensor x = full({256}, 300.0, kHalf), t = zeros({256}, kHalf);
  EXPECT_TRUE(std::isinf(mse_loss(x, t, LossReduction::Sum).item<double>()));
  EXPECT_TRUE(std::isinf(mse_loss(x, t, LossReduction::None)[0].item<double>()));
  EXPECT_EQ(mse_loss(full({256}, 200.0, kHalf), t).item<double>(), 40000.0);
}

TEST_F(NnOps, BinaryCrossEntropyRefusesBadInput) {
  const Tensor x = rand({2, 3});
  EXPECT_THROWS(binary_cross_entropy_with_logits(Tensor(), x), StateError, "binary_cross_entropy_with_logits: x");
  EXPECT_THROWS(binary_cross_entropy_with_logits(x, rand({2})), ShapeError,
                "binary_cross_entropy_with_logits: ", "[2, 3] f32", "[2] f32");
  EXPECT_THROWS(binary_cross_entropy_with_logits(x, ones({2, 3}, kLong)), DTypeError, "target", "i64");
  EXPECT_THROWS(binary_cross_entropy_with_logits(x, x, rand({4})), ShapeError, "binary_cross_entropy_with_logits");
  EXPECT_THROWS(binary_cross_entropy_with_logits(x, x, {}, rand({2, 2, 3})), ShapeError, "pos_weight is [2, 2, 3]");
  EXPECT_THROWS(binary_cross_entropy(Tensor(), x), StateError, "binary_cross_entropy: x");
  EXPECT_THROWS(binary_cross_entropy(x, rand({3, 2})), ShapeError, "binary_cross_entropy: ", "[3, 2]");
  EXPECT_THROWS(binary_cross_entropy(x, x, ones({3}, kInt)), DTypeError, "binary_cross_entropy: weight", "i32");
  amp::AutocastGuard autocast(kCPU);
  EXPECT_THROWS(binary_cross_entropy(x, x), Error, "binary_cross_entropy", "binary_cross_entropy_with_logits");
}

TEST_F(NnOps, BinaryCrossEntropyDerivatives) {
  const Tensor weight = rand({3}, kDouble).add(0.5);
  check_twice([](In v) -> Out { return {binary_cross_entropy_with_logits(v[0], v[1])}; }, {f64({2, 3}), f64({2, 3})});
  check_twice(
      [=](In v) -> Out { return {binary_cross_entropy_with_logits(v[0], v[1], v[2], v[3], LossReduction::Sum)}; },
      {f64({2, 3}), f64({2, 3}), f64({3}), f64({3})});
  const auto probability = [] { return rand({2, 3}, kDouble).mul(0.8).add(0.1).requires_grad_(); };
  check_twice([=](In v) -> Out { return {binary_cross_entropy(v[0], v[1], weight, LossReduction::None)}; },
              {probability(), probability()});
  // Far from 0 the formula neither overflows nor loses the tail.
  const Tensor x = tensor({-1000.0, 1000.0}), t = tensor({1.0, 0.0});
  EXPECT_TRUE(near(binary_cross_entropy_with_logits(x, t, {}, {}, LossReduction::None), full({2}, 1000.0), kExact));
  EXPECT_TRUE(
      near(binary_cross_entropy_with_logits(x, t, {}, ones({2}), LossReduction::None), full({2}, 1000.0), kExact));
  EXPECT_TRUE(near(binary_cross_entropy(tensor({0.0}), tensor({1.0})), tensor(100.0), kExact));
}

}  // namespace
}  // namespace tandem
