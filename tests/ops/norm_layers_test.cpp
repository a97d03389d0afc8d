// layer_norm and batch_norm: error messages, dtypes, memory formats and second derivatives. Values are compared with
// PyTorch through tests/cases.
#include <gtest/gtest.h>

#include "support/device.h"
#include "support/op_test.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/engine.h"
#include "tandem/base/error.h"

namespace tandem {
namespace {

using namespace testing;

class NormLayers : public OpTest {};

// ---- layer_norm

TEST_F(NormLayers, LayerNormRefusesBadInput) {
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

TEST_F(NormLayers, LayerNormOfAConstantRowIsZero) {
  for (DType dtype : {kFloat, kDouble, kHalf}) {
    for (const double value : {12345.678, 0.1, -1e-3}) {
      for (const int64_t n : {1, 3, 7, 8, 64, 1000, 1024, 4097, 20000}) {
        const Tensor y = layer_norm(full({2, n}, value, dtype), {n});
        // On CUDA the mean of f64 values has one more rounding.
        const double allowed = dtype == kDouble && on_cuda() ? 1e-9 : 0;
        EXPECT_LE(y.abs().max().item<double>(), allowed) << name(dtype) << ' ' << value << ' ' << n;
      }
    }
  }
}

TEST_F(NormLayers, LayerNormAccepts16BitInputsWithF32Weights) {
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

TEST_F(NormLayers, LayerNormGradientsAgreeWithCreateGraph) {
  const Tensor x = f64({3, 2, 4}), w = f64({2, 4}), b = f64({2, 4}), gy = randn({3, 2, 4}, kDouble);
  const Tensor y = layer_norm(x, {2, 4}, w, b);
  const auto fused = autograd::grad({y}, {x, w, b}, {gy}, true);
  const auto graph = autograd::grad({y}, {x, w, b}, {gy}, true, true);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(near(graph[i], fused[i], tolerance(kDouble, 8, 1, 16))) << i;
  check_twice([](In v) -> Out { return {layer_norm(v[0], {4}, v[1], v[2])}; }, {f64({3, 4}), f64({4}), f64({4})});
}

// ---- batch_norm

TEST_F(NormLayers, BatchNormRefusesBadInput) {
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
  EXPECT_TRUE(near(m, zeros({3}), kExact));  // unchanged
  EXPECT_NO_THROW(batch_norm(randn({1, 3, 1, 1}), w, w, m, v, false));
}

TEST_F(NormLayers, BatchNormUpdatesStatisticsUnderAnyPolicy) {
  const Tensor x = randn({4, 3, 5, 5}), w = leaf({3}), b = leaf({3});
  const Tensor expected_mean = zeros({3}), expected_var = ones({3});
  batch_norm(x.to(kBFloat16), w, b, expected_mean, expected_var, true, 0.5);
  EXPECT_FALSE(near(expected_mean, zeros({3}), kExact));
  for (amp::Cast cast : {amp::Cast::keep, amp::Cast::lower, amp::Cast::f32, amp::Cast::promote}) {
    const Tensor mean = zeros({3}), var = ones({3});
    const uint64_t before = mean._version();
    amp::PolicyGuard policy({{"batch_norm", cast}});
    amp::AutocastGuard autocast(device_type());
    batch_norm(x.to(kBFloat16), w, b, mean, var, true, 0.5);
    EXPECT_TRUE(near(mean, expected_mean, tolerance(kFloat, 100)));
    EXPECT_TRUE(near(var, expected_var, tolerance(kFloat, 100)));
    EXPECT_GT(mean._version(), before);
  }
}

TEST_F(NormLayers, BatchNormSavesTheStatisticsItUses) {
  const Tensor x = leaf({4, 3}), mean = zeros({3}), var = ones({3});
  const Tensor evaluated = batch_norm(x, {}, {}, mean, var, false);
  const Tensor trained = batch_norm(x, {}, {}, mean, var, true);  // updates the statistics
  EXPECT_NO_THROW(trained.sum().backward());
  EXPECT_THROWS(evaluated.sum().backward(), AutogradError, "batch_norm: ", "changed in place");
}

TEST_F(NormLayers, BatchNormGradientsInTrainingAndEval) {
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

}  // namespace
}  // namespace tandem
