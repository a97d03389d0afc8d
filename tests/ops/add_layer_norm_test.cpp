// add_layer_norm against add followed by layer_norm. Values are compared with PyTorch through tests/cases.
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

class AddLayerNorm : public OpTest {};

constexpr int64_t kRows = 5, kLength = 24;

Out fused(In v) {
  const auto [y, sum] = add_layer_norm(v[0], v[1], {kLength}, v[2], v[3]);
  return {y, sum};
}
Out apart(In v) {
  const Tensor sum = add(v[0], v[1]);
  return {layer_norm(sum, {kLength}, v[2], v[3]), sum};
}

/// x, residual, weight and bias.
Out inputs(DType x, DType residual, DType parameters) {
  return {leaf({kRows, kLength}, x), leaf({kRows, kLength}, residual), leaf({kLength}, parameters),
          leaf({kLength}, parameters)};
}

/// The gradients of the inputs for random gradients of the outputs, which depend on the seed; no gradient flows into an
/// output whose `used` is false.
Out gradients(In outputs, In v, std::array<bool, 2> used = {true, true}) {
  manual_seed(11);
  Out ys, gys;
  for (size_t i = 0; i < 2; ++i) {
    const Tensor g = randn(outputs[i].sizes()).to(outputs[i].dtype());
    if (!used[i]) continue;
    ys.push_back(outputs[i]);
    gys.push_back(g);
  }
  return autograd::grad(ys, v, gys, false, false, true);
}

/// Checks that outputs have the same bits, and gradients, too, or in 16 bits a rounding less.
void expect_same(In v, std::array<bool, 2> used = {true, true}) {
  const Out a = fused(v), b = apart(v);
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << "output " << i;
  const Out ga = gradients(a, v, used), gb = gradients(b, v, used);
  // nvcc may fuse the last addition with the product before it.
  const bool exact = !is_reduced_floating_point(a[1].dtype()) && !on_cuda();
  for (size_t i = 0; i < v.size(); ++i) {
    SCOPED_TRACE("gradient " + std::to_string(i));
    ASSERT_EQ(ga[i].defined(), gb[i].defined());
    if (!ga[i].defined()) continue;
    EXPECT_EQ(ga[i].dtype(), v[i].dtype());
    if (exact) {
      EXPECT_TRUE(same_bits(ga[i], gb[i]));
    } else {
      EXPECT_TRUE(near(ga[i], gb[i], tolerance(v[i].dtype(), kLength, 3, scale_of(values_of(gb[i])))));
    }
  }
}

TEST_F(AddLayerNorm, IsAddAndLayerNorm) {
  for (const auto& [x, residual] : {std::pair{kFloat, kFloat},
                                    {kDouble, kDouble},
                                    {kBFloat16, kFloat},
                                    {kFloat, kHalf},
                                    {kBFloat16, kBFloat16},
                                    {kHalf, kHalf},
                                    {kBFloat16, kHalf}}) {
    SCOPED_TRACE(std::string(name(x)) + " + " + std::string(name(residual)));
    const DType sum = promote_types(x, residual);
    expect_same(inputs(x, residual, sum));
    if (is_reduced_floating_point(sum)) expect_same(inputs(x, residual, kFloat));
    Out v = inputs(x, residual, sum);
    v[2] = v[3] = Tensor();
    const auto [y, total] = add_layer_norm(v[0], v[1], {kLength});
    EXPECT_TRUE(same_bits(y, layer_norm(add(v[0], v[1]), {kLength})));
  }
}

TEST_F(AddLayerNorm, AutocastTreatsItAsTheTwoOps) {
  for (const bool torch_cpu : {false, true}) {
    std::optional<amp::PolicyGuard> policies;
    if (torch_cpu) policies.emplace(amp::torch_cpu_policy());
    for (const DType region : {kHalf, kBFloat16}) {
      const amp::AutocastGuard autocast(device_type(), region);
      for (const DType x : {kFloat, kHalf, kBFloat16}) {
        for (const DType residual : {kFloat, kHalf, kBFloat16}) {
          SCOPED_TRACE(std::string(name(x)) + " + " + std::string(name(residual)) + " in " + std::string(name(region)) +
                       (torch_cpu ? ", PyTorch's policies on the CPU" : ""));
          expect_same(inputs(x, residual, kFloat));
          if (!torch_cpu) expect_same(inputs(x, residual, region));
        }
      }
      expect_same(inputs(kDouble, kDouble, kDouble));
      expect_same(inputs(kDouble, kFloat, kDouble));
    }
  }
}

TEST_F(AddLayerNorm, EitherOutputMayBeUnused) {
  const Out v = inputs(kFloat, kFloat, kFloat);
  expect_same(v, {true, false});
  expect_same(v, {false, true});
  const auto low = inputs(kBFloat16, kFloat, kFloat);
  expect_same(low, {true, false});
  expect_same(low, {false, true});
}

TEST_F(AddLayerNorm, OnlyGradientsOfOneInput) {
  for (size_t wanted = 0; wanted < 4; ++wanted) {
    Out v = inputs(kFloat, kFloat, kFloat);
    for (size_t i = 0; i < 4; ++i) v[i].requires_grad_(i == wanted);
    const auto [y, sum] = add_layer_norm(v[0], v[1], {kLength}, v[2], v[3]);
    const Out other = apart(v);
    const Tensor gy = randn_like(y);
    EXPECT_TRUE(near(autograd::grad({y}, {v[wanted]}, {gy})[0], autograd::grad({other[0]}, {v[wanted]}, {gy})[0],
                     tolerance(kFloat, kLength, 1, 4)))
        << wanted;
  }
}

TEST_F(AddLayerNorm, Derivatives) {
  const auto op = [](In v) -> Out {
    const auto [y, sum] =
        add_layer_norm(v[0], v[1], {4}, v.size() > 2 ? v[2] : Tensor(), v.size() > 3 ? v[3] : Tensor());
    return {y, sum};
  };
  check_twice(op, {f64({3, 4}), f64({3, 4}), f64({4}), f64({4})});
  check_twice(op, {f64({3, 4}), f64({3, 4})});
  check_twice([&](In v) -> Out { return {op(v)[0]}; }, {f64({3, 4}), f64({3, 4}), f64({4}), f64({4})});
  check_twice([&](In v) -> Out { return {op(v)[1]}; }, {f64({3, 4}), f64({3, 4})});
  const Out v{f64({3, 4}), f64({3, 4}), f64({4}), f64({4})}, ys = op(v);
  const Out gys{randn({3, 4}, kDouble), randn({3, 4}, kDouble)};
  const auto kernels = autograd::grad(ys, v, gys, true), graph = autograd::grad(ys, v, gys, true, true);
  for (size_t i = 0; i < v.size(); ++i) EXPECT_TRUE(near(graph[i], kernels[i], tolerance(kDouble, 8, 1, 16))) << i;
}

TEST_F(AddLayerNorm, KeepsTheSumForBackwardAndNothingElseOfItsSize) {
  const Tensor a = leaf({kRows, kLength}), b = leaf({kRows, kLength}), x = mul(a, 2), residual = mul(b, 2);
  Tensor y, sum;
  std::tie(y, sum) = add_layer_norm(x, residual, {kLength});
  x.fill_(0);
  residual.fill_(0);
  EXPECT_NO_THROW(autograd::grad({y}, {a, b}, {ones_like(y)}, true));
  sum.add_(1);
  EXPECT_THROWS(y.sum().backward(), AutogradError, "add_layer_norm: ", "changed in place");
}

}  // namespace
}  // namespace tandem
