// Tests of gradcheck and gradgradcheck: they accept right derivatives and find wrong ones.
#include "tandem/autograd/gradcheck.h"

#include <gtest/gtest.h>

#include <memory>

#include "autograd/support.h"
#include "tandem/amp/custom_op.h"

namespace tandem::testing {
namespace {

using autograd::gradcheck;
using autograd::gradgradcheck;
using Tensors = std::vector<Tensor>;

Tensor f64_leaf(const std::vector<double>& values) { return leaf(values, kDouble); }

/// x^2 with a backward that is wrong by `factor`.
Tensor square_with(const Tensor& x, double factor) {
  return amp::custom_op<"wrong_square">(
      amp::Cast::keep,
      [factor](const Tensor& x) {
        return Result{x * x, save(x),
                      [factor](const Backward& b) -> Grads { return {b.grad() * b.saved(0) * (2 * factor)}; }};
      },
      x);
}

/// x^2, whose first derivative is right, but has no history.
Tensors square_cut(const Tensors& x) {
  return {amp::custom_op<"square_cut">(
      amp::Cast::keep,
      [](const Tensor& x) {
        return Result{x * x, save(x), [](const Backward& b) -> Grads { return {b.grad() * b.saved(0).detach() * 2}; }};
      },
      x[0])};
}

/// x, with a backward that returns something else at each call.
autograd::TensorFunction drifting() {
  return [calls = std::make_shared<int>()](const Tensors& x) -> Tensors {
    return {amp::custom_op<"drifting">(
        amp::Cast::keep,
        [calls](const Tensor& x) {
          return Result{x.clone(), save(),
                        [calls](const Backward& b) -> Grads { return {b.grad() * (1 + 1e-7 * ++*calls)}; }};
        },
        x[0])};
  };
}

TEST(Gradcheck, AcceptsCorrectDerivatives) {
  const Tensors x = {f64_leaf({1, 2, 3}), f64_leaf({4, 5, 6})};
  auto f = [](const Tensors& x) { return Tensors{x[0] * x[1], (x[0] / x[1]).sum()}; };
  EXPECT_TRUE(gradcheck(f, x));
  EXPECT_TRUE(gradgradcheck(f, x));
}

TEST(Gradcheck, FindsAWrongDerivative) {
  auto f = [](const Tensors& x) { return Tensors{x[0] * 2, x[0] + square_with(x[1], 1.01)}; };
  const Tensors x = {f64_leaf({1, 2}), f64_leaf({4, 5})};
  EXPECT_THROWS(gradcheck(f, x), AutogradError, "gradcheck", "output 1 [2] at [0]", "input 1 [2] at [0]",
                "backward gives 8.08", "central differences give 7.99");
  EXPECT_FALSE(gradcheck(f, x, 1e-6, 1e-5, 1e-3, /*raise_exception=*/false));
  EXPECT_TRUE(gradcheck(f, x, 1e-6, 1e-5, /*rtol=*/0.02));
}

TEST(Gradcheck, FindsAMissingDerivative) {
  auto f = [](const Tensors& x) { return Tensors{x[0] * x[1].detach()}; };
  EXPECT_THROWS(gradcheck(f, {f64_leaf({2}), f64_leaf({3})}), AutogradError, "input 1", "backward gives 0");
  auto cut = [](const Tensors& x) { return Tensors{x[0].detach() * 2}; };
  EXPECT_THROWS(gradcheck(cut, {f64_leaf({2})}), AutogradError, "no output requires grad");
}

TEST(Gradcheck, FindsAWrongSecondDerivative) {
  EXPECT_TRUE(gradcheck(square_cut, {f64_leaf({1, 2})}));
  EXPECT_THROWS(gradgradcheck(square_cut, {f64_leaf({1, 2})}), AutogradError, "gradgradcheck");
}

TEST(Gradcheck, FindsNondeterministicBackward) {
  EXPECT_THROWS(gradcheck(drifting(), {f64_leaf({1, 2})}), AutogradError, "not deterministic");
  EXPECT_TRUE(gradcheck(drifting(), {f64_leaf({1, 2})}, 1e-6, 1e-5, 1e-3, true, /*nondet_tol=*/1e-5));
}

TEST(Gradcheck, FindsMishandledUndefinedGradients) {
  auto f = [](const Tensors& x) {
    return amp::custom_op_n<"careless">(
        amp::Cast::keep,
        [](const Tensor& x) {
          return Result{Tensors{x * 2, x * 3}, save(), [](const Backward& b) -> Grads {
                          return {b.grad(0) * 2 + (b.grad(1).defined() ? b.grad(1) * 3 : b.grad(0) * 0)};
                        }};
        },
        x[0]);
  };
  EXPECT_THROW(gradcheck(f, {f64_leaf({1, 2})}), Error);
  auto careful = [](const Tensors& x) {
    return amp::custom_op_n<"careful">(
        amp::Cast::keep,
        [](const Tensor& x) {
          return Result{Tensors{x * 2, x * 3}, save(),
                        [](const Backward& b) -> Grads { return {b.grad_or_zeros(0) * 2 + b.grad_or_zeros(1) * 3}; }};
        },
        x[0]);
  };
  EXPECT_TRUE(gradcheck(careful, {f64_leaf({1, 2})}));
}

// ---- fast_mode: the same faults, from projections
constexpr bool kFast = true;

bool fast_gradcheck(const autograd::TensorFunction& f, const Tensors& x, double rtol = 1e-3, double nondet_tol = 0) {
  return gradcheck(f, x, 1e-6, 1e-5, rtol, /*raise_exception=*/true, nondet_tol, true, kFast);
}
bool fast_gradgradcheck(const autograd::TensorFunction& f, const Tensors& x) {
  return gradgradcheck(f, x, {}, 1e-6, 1e-5, 1e-3, /*raise_exception=*/true, 0, true, kFast);
}

TEST(GradcheckFastMode, AcceptsCorrectDerivatives) {
  const Tensors x = {f64_leaf({1, 2, 3}), f64_leaf({4, 5, 6})};
  auto f = [](const Tensors& x) { return Tensors{x[0] * x[1], (x[0] / x[1]).sum()}; };
  EXPECT_TRUE(fast_gradcheck(f, x));
  EXPECT_TRUE(fast_gradgradcheck(f, x));
  EXPECT_TRUE(equals(x[0], {1, 2, 3}));
}

TEST(GradcheckFastMode, FindsAWrongDerivativeOfOneOfManyElements) {
  auto f = [](const Tensors& x) {
    return Tensors{x[0] + cat({square_with(x[1].narrow(0, 0, 1), 1.1), x[1].narrow(0, 1, 99)}, 0)};
  };
  EXPECT_THROWS(fast_gradcheck(f, {f64_leaf(std::vector<double>(100, 1)), f64_leaf(std::vector<double>(100, 3))}),
                AutogradError, "a projection of output 0 [100] with respect to input 1 [100]", "backward gives");
}

TEST(GradcheckFastMode, FindsAMissingDerivative) {
  auto f = [](const Tensors& x) { return Tensors{x[0] * x[1].detach()}; };
  EXPECT_THROWS(fast_gradcheck(f, {f64_leaf({2}), f64_leaf({3})}), AutogradError, "input 1", "backward gives 0");
  auto cut = [](const Tensors& x) { return Tensors{x[0].detach() * 2}; };
  EXPECT_THROWS(fast_gradcheck(cut, {f64_leaf({2})}), AutogradError, "backward gives 0");
}

TEST(GradcheckFastMode, FindsAWrongSecondDerivative) {
  EXPECT_TRUE(fast_gradcheck(square_cut, {f64_leaf({1, 2})}));
  EXPECT_THROWS(fast_gradgradcheck(square_cut, {f64_leaf({1, 2})}), AutogradError, "gradgradcheck");
}

TEST(GradcheckFastMode, FindsNondeterministicBackward) {
  EXPECT_THROWS(fast_gradcheck(drifting(), {f64_leaf({1, 2})}), AutogradError, "not deterministic");
  EXPECT_TRUE(fast_gradcheck(drifting(), {f64_leaf({1, 2})}, 1e-3, /*nondet_tol=*/1e-5));
}

TEST(Gradcheck, FindsNonzeroResultsForZeroGradients) {
  // Returns nonzero gradients for zero gradients.
  auto f = [](const Tensors& x) {
    return Tensors{amp::custom_op<"inventive">(
        amp::Cast::keep,
        [](const Tensor& x) {
          return Result{x.clone(), save(), [](const Backward& b) -> Grads { return {b.grad() + 1e-6}; }};
        },
        x[0])};
  };
  EXPECT_THROWS(gradcheck(f, {f64_leaf({1})}), AutogradError, "must give zeros");
}

TEST(Gradcheck, RefusesOtherDtypes) {
  auto f = [](const Tensors& x) { return Tensors{x[0] * x[0]}; };
  EXPECT_THROWS(gradcheck(f, {leaf({1, 2})}), DTypeError, "gradcheck", "input 0", "f32", "kDouble");
  EXPECT_THROWS(gradgradcheck(f, {leaf({1, 2}, kHalf)}), DTypeError, "gradgradcheck", "f16");
  auto narrow = [](const Tensors& x) { return Tensors{x[0].to(kFloat)}; };
  EXPECT_THROWS(gradcheck(narrow, {f64_leaf({1})}), DTypeError, "output 0", "f32");
}

TEST(Gradcheck, NeedsAnInputThatRequiresGrad) {
  auto f = [](const Tensors& x) { return Tensors{x[0] * 2}; };
  EXPECT_THROWS(gradcheck(f, {tensor({1.0}, kDouble)}), StateError, "no input requires grad");
  EXPECT_THROWS(gradcheck(f, {}), StateError, "no input requires grad");
}

TEST(Gradcheck, OtherInputsMayHaveAnyDtype) {
  auto f = [](const Tensors& x) { return Tensors{x[0].gather(0, x[1]) * x[2].to(kDouble)}; };
  EXPECT_TRUE(gradcheck(f, {f64_leaf({1, 2, 3}), tensor({2, 0}, kLong), tensor({0.5, 2.0}, kHalf)}));
}

TEST(Gradcheck, DoesNotChangeTheInputs) {
  const Tensor x = f64_leaf({1, 2, 3});
  const uint64_t version = x._version();
  EXPECT_TRUE(gradcheck([](const Tensors& x) { return Tensors{x[0].exp()}; }, {x}));
  EXPECT_TRUE(equals(x, {1, 2, 3}));
  EXPECT_EQ(x._version(), version);
  EXPECT_FALSE(x.grad().defined());
}

TEST(Gradcheck, WorksOnAnyStrides) {
  const Tensor x = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}, kDouble).t().detach().requires_grad_();
  EXPECT_TRUE(gradcheck([](const Tensors& x) { return Tensors{x[0] * x[0]}; }, {x}));
  const Tensor expanded = tensor({1.0}, kDouble).expand({3}).detach().requires_grad_();
  EXPECT_TRUE(gradcheck([](const Tensors& x) { return Tensors{x[0] * x[0]}; }, {expanded}));
}

TEST(Gradcheck, RunsUnderNoGradGuard) {
  const Tensor x = f64_leaf({1, 2});
  NoGradGuard no_grad;
  EXPECT_TRUE(gradcheck([](const Tensors& x) { return Tensors{x[0].exp()}; }, {x}));
  EXPECT_FALSE(GradMode::is_enabled());
}

TEST(Gradgradcheck, AcceptsGradOutputs) {
  auto f = [](const Tensors& x) { return Tensors{x[0] * x[0] * x[0]}; };
  EXPECT_TRUE(gradgradcheck(f, {f64_leaf({1, 2})}, {tensor({0.5, -2.0}, kDouble)}));
  EXPECT_THROWS(gradgradcheck(f, {f64_leaf({1})}, {ones({1}, kDouble), ones({1}, kDouble)}), StateError,
                "2 grad_outputs for 1 outputs");
}

TEST(Gradgradcheck, NeedsADifferentiableOutput) {
  auto f = [](const Tensors& x) { return Tensors{x[0] > 0}; };
  EXPECT_THROWS(gradgradcheck(f, {f64_leaf({1})}), StateError, "no output");
}

}  // namespace
}  // namespace tandem::testing
