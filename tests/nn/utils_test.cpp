// Clipping against closed formulas, and all parameters as one vector.
#include "tandem/nn/utils.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/throws.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

using nn::utils::clip_grad_norm_;
using nn::utils::clip_grad_value_;

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Returns a parameter of `count` elements whose gradients are `value`.
Tensor parameter(int64_t count, double value, DType dtype = kFloat) {
  Tensor p = zeros({count}, dtype).requires_grad_();
  p.mutable_grad() = full({count}, value, dtype);
  return p;
}

TEST(ClipGradNorm, ScalesByTheNormOfAllGradients) {
  // 4 elements of 3 and 4 of 4: the 2-norm is 10.
  struct {
    double type, norm;
  } const cases[] = {{2, 10}, {1, 28}, {kInf, 4}, {3, std::cbrt(4 * 27 + 4 * 64.0)}};
  for (const auto& c : cases) {
    const Tensor a = parameter(4, 3), b = parameter(4, -4), none = zeros({2}).requires_grad_();
    const Tensor norm = clip_grad_norm_({a, none, b}, 2, c.type);
    EXPECT_EQ(norm.dim(), 0);
    EXPECT_NEAR(norm.item<float>(), c.norm, 1e-5 * c.norm);
    EXPECT_NEAR(a.grad()[1].item<float>(), 3 * 2 / c.norm, 1e-5);
    EXPECT_NEAR(b.grad()[3].item<float>(), -4 * 2 / c.norm, 1e-5);
    EXPECT_FALSE(none.grad().defined());
  }
}

TEST(ClipGradNorm, KeepsSmallGradients) {
  const Tensor a = parameter(4, 3);
  EXPECT_FLOAT_EQ(clip_grad_norm_(a, 100).item<float>(), 6);
  EXPECT_EQ(a.grad()[0].item<float>(), 3);
  EXPECT_EQ(clip_grad_norm_({zeros({2}).requires_grad_()}, 1).item<float>(), 0);
  EXPECT_EQ(clip_grad_norm_(std::vector<Tensor>{}, 1).item<float>(), 0);
  clip_grad_norm_(a, 0);
  EXPECT_EQ(a.grad()[0].item<float>(), 0);
}

TEST(ClipGradNorm, SumsLowPrecisionInF32) {
  // The norm, 80000, is not representable in f16.
  const Tensor a = parameter(4, 40000, kHalf);
  EXPECT_FLOAT_EQ(clip_grad_norm_(a, 8).item<float>(), 80000);
  EXPECT_EQ(a.grad().dtype(), kHalf);
  EXPECT_NEAR(a.grad()[0].item<float>(), 4, 0.01);
}

TEST(ClipGradNorm, RefusesNonFiniteOnRequest) {
  const Tensor a = parameter(4, kInf);
  EXPECT_THROWS(clip_grad_norm_(a, 1, 2, true), StateError, "clip_grad_norm_", "inf", "error_if_nonfinite");
  EXPECT_EQ(a.grad()[0].item<float>(), static_cast<float>(kInf));
  EXPECT_TRUE(std::isinf(clip_grad_norm_(a, 1).item<float>()));
  EXPECT_TRUE(std::isnan(a.grad()[0].item<float>()));  // inf times 0, as in PyTorch
  EXPECT_THROWS(clip_grad_norm_(a, -1), StateError, "max_norm = -1");
  EXPECT_THROWS(clip_grad_norm_(a, std::nan("")), StateError, "max_norm = nan");
  EXPECT_THROWS(clip_grad_norm_(a, 1, 0), StateError, "norm_type = 0");
  EXPECT_THROWS(clip_grad_norm_({a, Tensor()}, 1), StateError, "parameter 1", "undefined");
}

TEST(ClipGradValue, Clamps) {
  const Tensor a = parameter(2, 3), b = parameter(2, -0.25);
  clip_grad_value_({a, b}, 0.5);
  EXPECT_EQ(a.grad()[0].item<float>(), 0.5);
  EXPECT_EQ(b.grad()[0].item<float>(), -0.25);
  clip_grad_value_(b, 0.125);
  EXPECT_EQ(b.grad()[1].item<float>(), -0.125);
  EXPECT_THROWS(clip_grad_value_(a, -1), StateError, "clip_value = -1");
  EXPECT_THROWS(clip_grad_value_(Tensor(), 1), StateError, "undefined");
}

TEST(ParametersToVector, RoundTrip) {
  const Tensor a = rand({2, 3}).requires_grad_(), b = rand({4}).requires_grad_();
  const Tensor v = nn::utils::parameters_to_vector({a, b});
  ASSERT_EQ(v.sizes(), IntArrayRef({10}));
  EXPECT_EQ(v[5].item<float>(), a[1][2].item<float>());
  v.sum().backward();  // the concatenation is recorded
  EXPECT_EQ(a.grad().sum().item<float>(), 6);
  const void* memory = a.const_data_ptr<float>();
  nn::utils::vector_to_parameters(arange(10, kFloat), {a, b});
  EXPECT_EQ(a[1][2].item<float>(), 5);
  EXPECT_EQ(b[0].item<float>(), 6);
  EXPECT_EQ(a.const_data_ptr<float>(), memory);
  EXPECT_TRUE(a.is_leaf() && a.requires_grad());
  EXPECT_THROWS(nn::utils::vector_to_parameters(zeros({9}), {a, b}), ShapeError, "9", "10");
  EXPECT_THROWS(nn::utils::vector_to_parameters(zeros({2, 5}), {a, b}), ShapeError, "rank 1");
  EXPECT_THROWS(nn::utils::vector_to_parameters(Tensor(), {a, b}), StateError, "undefined");
  EXPECT_THROWS(nn::utils::vector_to_parameters(zeros({9}), {Tensor()}), StateError, "parameter 0");
  EXPECT_THROWS(nn::utils::parameters_to_vector({}), StateError, "empty");
  EXPECT_THROWS(nn::utils::parameters_to_vector({a, Tensor()}), StateError, "parameter 1");
}

}  // namespace
}  // namespace tandem
