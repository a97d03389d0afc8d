// Products in float8 regions against f64 products of the values to which their operands are rounded.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/compare.h"
#include "support/device.h"
#include "support/throws.h"
#include "tandem/amp/fp8.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/tandem.h"

namespace tandem::amp {
namespace {

using testing::device_type;

std::vector<Fp8Recipe> recipes() {
  return {Float8CurrentScaling(), Float8CurrentScaling().use_power_2_scales(true).fp8_format(Fp8Format::E4M3),
          Float8BlockScaling(),   Float8BlockScaling().use_power_2_scales(false).fp8_format(Fp8Format::HYBRID),
          MXFP8BlockScaling(),    MXFP8BlockScaling().fp8_format(Fp8Format::E5M2)};
}

/// The values to which a recipe rounds x in a product that sums over dimension `dim`.
Tensor rounded(const Tensor& x, Fp8Role role, const Fp8Recipe& recipe, int64_t dim) {
  if (const auto* r = std::get_if<Float8CurrentScaling>(&recipe)) {
    return quantize(x, fp8_dtype(recipe, role), *r).dequantize(kDouble);
  }
  if (const auto* r = std::get_if<Float8BlockScaling>(&recipe)) return quantize(x, role, *r, dim).dequantize(kDouble);
  return quantize(x, role, std::get<MXFP8BlockScaling>(recipe), dim).dequantize(kDouble);
}

Tensor random(IntArrayRef sizes, uint64_t seed) {
  return mul(randn(sizes, Generator(seed)), exp(mul(randn(sizes, Generator(seed + 1)), 2)));
}

/// Compares numbers of magnitudes up to max |expected| with f32 sums of f64 products, or their roundings to bf16.
void expect_near(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  const double largest = abs(expected).max().item<double>();
  const double relative = actual.dtype() == kFloat ? 1e-6 : 0x1p-8;
  // The tensor cores of a GPU may keep fewer bits of sums of float8; the emulated device does not.
  const bool on_gpu = testing::on_cuda() && cuda::get_device_properties(cuda::current_device()).name != "emulated";
  const double absolute = on_gpu ? 2e-4 : 2e-6;
  EXPECT_TRUE(allclose(actual.to(kDouble), expected, relative, absolute * largest)) << what;
}

struct Shape {
  int64_t n, in, out;
};
constexpr Shape kShapes[] = {{1, 1, 1},      {3, 40, 5},      {33, 128, 96},  {64, 48, 80},
                             {64, 288, 160}, {160, 288, 144}, {160, 300, 129}};

TEST(Fp8Products, EqualThoseOfTheRoundedOperands) {
  for (const Fp8Recipe& recipe : recipes()) {
    for (const Shape s : kShapes) {
      const std::string what = to_string(recipe) + " " + std::to_string(s.n);
      const Tensor x = random({s.n, s.in}, 1).requires_grad_(), b = random({s.out}, 3).requires_grad_();
      const Tensor w = random({s.out, s.in}, 5).requires_grad_(), gy = random({s.n, s.out}, 7).to(kBFloat16);
      Tensor y;
      {
        const Fp8AutocastGuard fp8(device_type(), recipe);
        y = linear(x, w, b);
      }
      ASSERT_EQ(y.dtype(), kBFloat16);
      y.backward(gy);
      const auto of = [&](const Tensor& t, Fp8Role role, int64_t dim) {
        return rounded(t.detach(), role, recipe, dim);
      };
      const Tensor rx = of(x, Fp8Role::input, -1), rw = of(w, Fp8Role::weight, -1);
      expect_near(y.detach(), add(matmul(rx, rw.t()), b.detach().to(kBFloat16).to(kDouble)), what);
      const Tensor rg = of(gy, Fp8Role::gradient, -1), columns = of(gy, Fp8Role::gradient, -2);
      expect_near(x.grad(), matmul(rg, of(w, Fp8Role::weight, -2)), what + " gx");
      expect_near(w.grad(), matmul(columns.t(), of(x, Fp8Role::input, -2)), what + " gw");
      expect_near(b.grad(), gy.to(kDouble).sum(0), what + " gb");
      EXPECT_EQ(w.grad().dtype(), kFloat);
    }
  }
}

TEST(Fp8Products, AreTheSameForAllOps) {
  const Tensor x = random({6, 64}, 1), b = random({32}, 2), w = random({64, 32}, 3).requires_grad_();
  const Tensor wt = w.detach().t().contiguous().requires_grad_();
  for (const Fp8Recipe& recipe : recipes()) {
    const auto expect_same = [&](const Tensor& y, const Tensor& like, const char* what) {
      EXPECT_TRUE(equal(y.detach(), like.detach())) << to_string(recipe) << ' ' << what;
    };
    const Fp8AutocastGuard fp8(device_type(), recipe);
    const Tensor y = linear(x, wt);
    // A block of a weight stored as [in, out] is the transpose of that of [out, in].
    expect_same(mm(x, w), y, "mm");
    expect_same(matmul(x.view({2, 3, 64}), w).view({6, 32}), y, "matmul");
    expect_same(mm(wt, x.t()).t(), y, "weight on the left");
    expect_same(addmm(b, x, w), linear(x, wt, b), "addmm");
    expect_same(linear(x.view({3, 2, 64}), wt, b).view({6, 32}), linear(x, wt, b), "linear of rank 3");
    expect_same(linear_relu(x, wt, b), relu(linear(x, wt, b)), "linear_relu");
  }
}

TEST(Fp8Products, GradientsOfAllOps) {
  const Tensor x = random({6, 64}, 1).requires_grad_(), w = random({64, 32}, 3).requires_grad_();
  const Tensor wt = w.detach().t().contiguous().requires_grad_(), gy = random({6, 32}, 5).to(kBFloat16);
  const auto gradients = [&](const Tensor& y, const Tensor& weight, const Tensor& g) {
    x.mutable_grad() = Tensor();
    weight.mutable_grad() = Tensor();
    y.backward(g);
    return std::pair(x.grad(), weight.grad());
  };
  for (const Fp8Recipe& recipe : recipes()) {
    const auto in_fp8 = [&](auto f) {
      const Fp8AutocastGuard fp8(device_type(), recipe);
      return f();
    };
    const auto [gx, gw] = gradients(in_fp8([&] { return linear(x, wt); }), wt, gy);
    const auto [gx_mm, gw_mm] = gradients(in_fp8([&] { return mm(x, w); }), w, gy);
    const auto [gx_left, gw_left] = gradients(in_fp8([&] { return mm(wt, x.t()); }), wt, gy.t());
    expect_near(gx_mm, gx.to(kDouble), "gx of mm");
    expect_near(gw_mm.t(), gw.to(kDouble), "gw of mm");
    expect_near(gx_left, gx.to(kDouble), "gx with the weight on the left");
    expect_near(gw_left, gw.to(kDouble), "gw with the weight on the left");
    const auto [gx_relu, gw_relu] = gradients(in_fp8([&] { return linear_relu(x, wt); }), wt, gy);
    const auto [gx_two, gw_two] = gradients(in_fp8([&] { return relu(linear(x, wt)); }), wt, gy);
    EXPECT_TRUE(equal(gx_relu, gx_two) && equal(gw_relu, gw_two)) << to_string(recipe);
  }
}

TEST(Fp8Products, TakeLowPrecisionWeightsAndInputs) {
  const Tensor x = random({8, 32}, 1), w = random({16, 32}, 2);
  for (const DType dtype : {kHalf, kBFloat16}) {
    const Tensor xl = x.to(dtype).requires_grad_(), wl = w.to(dtype).requires_grad_();
    Tensor y;
    {
      const Fp8AutocastGuard fp8(device_type(), Float8CurrentScaling());
      y = linear(xl, wl);
    }
    y.sum().backward();
    EXPECT_EQ(y.dtype(), kBFloat16);
    EXPECT_EQ(xl.grad().dtype(), dtype);
    EXPECT_EQ(wl.grad().dtype(), dtype);
    expect_near(y.detach(),
                matmul(rounded(xl.detach(), Fp8Role::input, Float8CurrentScaling(), -1),
                       rounded(wl.detach(), Fp8Role::weight, Float8CurrentScaling(), -1).t()),
                "low");
  }
}

TEST(Fp8Products, RoundAWeightOncePerIteration) {
  const Tensor x = random({4, 64}, 1).requires_grad_(), w = random({64, 64}, 2).requires_grad_();
  const auto made = [&](const Fp8Recipe& recipe) {
    const int64_t before = autocast_cache_stats().misses;
    const Fp8AutocastGuard fp8(device_type(), recipe);
    linear(x, w);
    linear(x, w);
    const Fp8AutocastGuard inner(device_type(), recipe);
    linear(x, w);
    return autocast_cache_stats().misses - before;
  };
  EXPECT_EQ(made(DelayedScaling()), 1);
  EXPECT_EQ(made(Float8CurrentScaling()), 1);
  EXPECT_EQ(made(Float8BlockScaling()), 1);
  EXPECT_EQ(made(MXFP8BlockScaling()), 2);  // for each of the two dimensions over which products sum
  EXPECT_EQ(autocast_cache_stats().entries, 0);
  {
    const AutocastGuard outer(device_type(), kBFloat16);
    for (int k = 0; k < 5; ++k) {
      const Fp8AutocastGuard fp8(device_type());
      linear(x, w);
    }
    EXPECT_EQ(autocast_cache_stats().entries, 1);  // that of the last iteration
  }
  {
    const Fp8AutocastGuard fp8(device_type(), Float8CurrentScaling());
    const Tensor y = linear(x, w);
    {
      const NoGradGuard no_grad;
      w.mul_(2);
    }
    EXPECT_TRUE(equal(linear(x, w).detach(), mul(y.detach(), 2)));  // a changed weight is rounded again
  }
}

double relative_error(const Tensor& actual, const Tensor& exact) {
  return (norm(sub(actual.to(kDouble), exact)) / norm(exact)).item<double>();
}

/// Error of one training step and of one evaluation with `w`, against f64 products of the unrounded operands.
void expect_accurate(const Tensor& w, const Tensor& numbers, double x_size, double gy_size, const Fp8Recipe& recipe,
                     const std::string& what) {
  const Tensor x = mul(randn({32, numbers.size(1)}, Generator(2)), x_size).requires_grad_();
  const Tensor gy = mul(randn({32, numbers.size(0)}, Generator(3)), gy_size).to(kBFloat16);
  const Tensor exact_w = numbers.to(kDouble), exact_x = x.detach().to(kDouble), exact_gy = gy.to(kDouble);
  const auto pass = [&] {
    const Fp8AutocastGuard fp8(device_type(), recipe);
    return linear(x, w);
  };
  const Tensor want = matmul(exact_x, exact_w.t());
  {
    const NoGradGuard no_grad;
    EXPECT_LT(relative_error(pass(), want), 0.1) << what << ", evaluation";
  }
  w.mutable_grad() = Tensor();
  const Tensor y = pass();
  EXPECT_LT(relative_error(y.detach(), want), 0.1) << what << ", training";
  y.backward(gy);
  EXPECT_LT(relative_error(x.grad(), matmul(exact_gy, exact_w)), 0.1) << what << ", gx";
  EXPECT_LT(relative_error(w.grad(), matmul(exact_gy.t(), exact_x)), 0.1) << what << ", gw";
}

// Scales of delayed scaling come from histories, which say nothing about new and replaced values.
TEST(Fp8Products, AreAccurateForValuesThatNoHistorySaw) {
  const double sizes[] = {1e-6, 1e-3, 1, 1e4};
  for (const Fp8Recipe& recipe :
       {Fp8Recipe(DelayedScaling()), Fp8Recipe(DelayedScaling().amax_history_len(1).margin(2)),
        Fp8Recipe(DelayedScaling().fp8_format(Fp8Format::E4M3)), Fp8Recipe(Float8CurrentScaling()),
        Fp8Recipe(Float8BlockScaling()), Fp8Recipe(MXFP8BlockScaling())}) {
    for (const double size : sizes) {
      for (const double other : sizes) {
        const std::string what = to_string(recipe) + ", " + std::to_string(size) + " after " + std::to_string(other);
        const Tensor numbers = mul(randn({48, 64}, Generator(1)), size);
        expect_accurate(numbers.clone().requires_grad_(), numbers, other, 1 / other, recipe, what + ", new");
        nn::Linear layer(nn::LinearOptions(64, 48).bias(false));
        const auto train = [&](int steps) {
          for (int k = 0; k < steps; ++k) {
            const Fp8AutocastGuard fp8(device_type(), recipe);
            layer(mul(ones({2, 64}), other)).sum().backward();
          }
        };
        const auto assign = [&](double factor) {
          const NoGradGuard no_grad;
          layer->weight.copy_(mul(numbers, factor / size));
        };
        assign(other);
        train(2);
        assign(size);  // in place
        expect_accurate(layer->weight, numbers, size, size, recipe, what + ", assigned");
        StateDict state("Entry");
        for (const auto& [name, tensor] : layer->state_dict()) state.insert(name, tensor.clone());
        state["weight"] = mul(numbers, other / size);  // with the histories of the old one
        layer->load_state_dict(state);
        expect_accurate(layer->weight, state["weight"], size, other, recipe, what + ", loaded");
        layer->weight.set_data(numbers.slice(0, 0, 24).clone());  // another shape
        expect_accurate(layer->weight, numbers.slice(0, 0, 24), other, size, recipe, what + ", reshaped");
      }
    }
  }
}

TEST(Fp8Products, NonFiniteOperandsGiveNonFiniteResults) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (Fp8Recipe recipe : {Fp8Recipe(DelayedScaling()), Fp8Recipe(Float8CurrentScaling()),
                           Fp8Recipe(Float8BlockScaling()), Fp8Recipe(MXFP8BlockScaling())}) {
    const Tensor x = ones({2, 32}).requires_grad_(), w = ones({4, 32}).requires_grad_();
    Tensor y;
    {
      const Fp8AutocastGuard fp8(device_type(), recipe);
      y = linear(x, w);
      const Tensor bad = ones({2, 32});
      bad[1][3].fill_(kInf);
      const Tensor z = linear(bad, w).detach();
      EXPECT_FALSE(isfinite(z[1]).any().item<bool>()) << to_string(recipe);
    }
    const Tensor gy = ones({2, 4}, kBFloat16);
    gy[0][0].fill_(-kInf);
    y.backward(gy);  // the loss scaler must see it
    EXPECT_FALSE(isfinite(x.grad()[0]).any().item<bool>()) << to_string(recipe);
    EXPECT_FALSE(isfinite(w.grad()[0]).any().item<bool>()) << to_string(recipe);
  }
}

TEST(Fp8Products, NonFiniteInputsOfEvaluationGiveNonFiniteResults) {
  Tensor x = ones({2, 32});
  x[1][3].fill_(std::numeric_limits<double>::infinity());
  const Tensor w = ones({4, 32}).requires_grad_();
  const NoGradGuard no_grad;
  const Fp8AutocastGuard fp8(device_type());
  EXPECT_FALSE(isfinite(linear(x, w)).any().item<bool>());
}

TEST(Fp8Products, FollowThePolicyOfTheOp) {
  const Tensor x = random({4, 32}, 1), w = random({8, 32}, 2).requires_grad_();
  const Fp8AutocastGuard fp8(device_type(), Float8CurrentScaling());
  {
    const PolicyGuard policy({{"linear", Cast::f32}});
    EXPECT_EQ(linear(x, w).dtype(), kFloat);
  }
  const PolicyGuard policy({{"linear", Cast::banned}});
  EXPECT_THROWS(linear(x, w), StateError, "linear");
}

TEST(Fp8Products, AreLeftToBf16WithoutAWeightOrOutsideTheDevice) {
  const Tensor x = random({4, 32}, 1), plain = random({8, 32}, 2), w = plain.clone().requires_grad_();
  const auto in_bf16 = [&](const Tensor& weight) {
    const AutocastGuard autocast(device_type(), kBFloat16);
    return linear(x, weight).detach();
  };
  const Fp8AutocastGuard fp8(device_type(), Float8CurrentScaling());
  EXPECT_TRUE(equal(linear(x, plain), in_bf16(plain)));           // no weight
  EXPECT_TRUE(equal(linear(x, mul(w, 1)).detach(), in_bf16(w)));  // computed
  EXPECT_FALSE(equal(linear(x, w).detach(), in_bf16(w)));         // in float8
  EXPECT_TRUE(equal(linear(x.to(kDouble), w.detach().to(kDouble).requires_grad_()).detach(),
                    matmul(x.to(kDouble), plain.to(kDouble).t())));
  EXPECT_EQ(linear(ones({0, 32}), w).sizes(), IntArrayRef({0, 8}));
}

TEST(Fp8Products, BadInput) {
  const Tensor x = ones({2, 3}).requires_grad_(), w = ones({4, 3}).requires_grad_();
  const Fp8AutocastGuard fp8(device_type(), Float8CurrentScaling());
  EXPECT_THROWS(linear(ones({2, 5}), w), ShapeError, "linear: ", "[2, 5] f32", "[4, 3] f32");
  EXPECT_THROWS(mm(x, w), ShapeError, "mm: ", "inner sizes differ");
  EXPECT_THROWS(autograd::grad({linear(x, w).sum()}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true),
                AutogradError, "linear: ", "differentiated twice", "exclude_from_fp8()");
}

}  // namespace
}  // namespace tandem::amp
