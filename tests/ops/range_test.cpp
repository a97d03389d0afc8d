// Reductions, norms, distances, normalisations and losses of inputs near the ends of a dtype's range, forward and
// backward, against the f64 kernels on the same rounded inputs: where the f64 result fits into the dtype, so does every
// intermediate value.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/op_cases.h"
#include "support/device.h"
#include "tandem/ops/ops.h"

namespace tandem::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// A copy of x in which the elements of normal distribution are multiplied by a power of two. With `special`, the first
/// of them is that.
Out scaled(const Case& c, In inputs, double factor, std::optional<double> special) {
  NoGradGuard no_grad;
  Out result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    const bool scales = c.inputs[i].fill == Fill::normal && x.is_floating_point() && x.numel() > 0;
    Tensor y = x;
    if (scales) {
      y = mul(x.detach(), factor);
      if (special && i == 0) y.flatten()[0].fill_(*special);
      y.requires_grad_(x.requires_grad());
    }
    result.push_back(y);
  }
  return result;
}

Out in_f64(In inputs) {
  NoGradGuard no_grad;
  Out result;
  for (const Tensor& x : inputs) {
    result.push_back(
        x.is_floating_point() && x.dtype() != kDouble ? x.detach().to(kDouble).requires_grad_(x.requires_grad()) : x);
  }
  return result;
}

/// dL/d(inputs) with weights that are exact in the dtype of `like`.
Out backward_of(In outputs, In like, const Out& inputs) {
  Out roots, weights;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!like[i].requires_grad() || !outputs[i].requires_grad()) continue;
    roots.push_back(outputs[i]);
    weights.push_back(make_output_gradient(like[i], i).to(outputs[i].dtype()));
  }
  if (roots.empty()) return Out(inputs.size());
  return autograd::grad(roots, inputs, weights, std::nullopt, false, /*allow_unused=*/true);
}

/// Compares elements whose f64 value fits into the dtype. Errors of rounding are allowed relative to the largest of
/// them: other tests measure the accuracy.
void expect_in_range(const Tensor& actual, const std::vector<double>& expected, DType dtype, const std::string& what) {
  const std::vector<double> got = values_of(actual);
  ASSERT_EQ(got.size(), expected.size());
  const double limit = largest(actual.dtype()), u = unit_roundoff(dtype);
  const double least = actual.dtype() == kHalf ? 0x1p-24 : 0x1p-126;
  double scale = 0;
  for (double v : expected) {
    if (std::isfinite(v) && std::abs(v) <= limit) scale = std::max(scale, std::abs(v));
  }
  size_t wrong = 0, worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isfinite(expected[i]) && std::abs(expected[i]) > limit / 2) continue;
    if (got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))) continue;
    if (std::abs(got[i] - expected[i]) <= 1024 * u * scale + 2 * least) continue;
    if (wrong++ == 0) worst = i;
  }
  if (wrong > 0)
    ADD_FAILURE() << what << ": " << wrong << " of " << got.size() << " wrong; element " << worst << " is "
                  << got[worst] << ", not " << expected[worst];
}

/// Whether all finite values fit into the dtype.
bool fit(const std::vector<double>& values, DType dtype) {
  return std::all_of(values.begin(), values.end(),
                     [&](double v) { return !std::isfinite(v) || std::abs(v) < largest(dtype) / 2; });
}

/// Compares the outputs of `run`, and their gradients where all of them fit, with those of the inputs in f64.
void expect_f64_rounded(const std::function<Out(In)>& run, const Out& inputs, DType dtype, const std::string& at) {
  const Out wide_inputs = in_f64(inputs), outputs = run(inputs), wide = run(wide_inputs);
  bool all_fit = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto expected = values_of(wide[i]);
    all_fit = all_fit && fit(expected, outputs[i].dtype());
    expect_in_range(outputs[i], expected, dtype, at + ", output " + std::to_string(i));
  }
  const Out wanted = requiring_grad(inputs), wide_wanted = requiring_grad(wide_inputs);
  if (wanted.empty() || !all_fit) return;
  const Out grads = backward_of(outputs, outputs, wanted), wide_grads = backward_of(wide, outputs, wide_wanted);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!grads[i].defined()) continue;
    expect_in_range(grads[i], gradient_values(wide_grads[i], wanted[i]), dtype, at + ", gradient " + std::to_string(i));
  }
}

class RangeTest : public ::testing::TestWithParam<const Case*> {
 protected:
  void check(DType dtype, double factor, std::optional<double> special = {}) {
    const Case& c = *GetParam();
    expect_f64_rounded(c.run, scaled(c, make_inputs(c, dtype), factor, special), dtype,
                       std::string(name(dtype)) + " times 2^" + std::to_string(std::ilogb(factor)) +
                           (special ? ", one " + std::to_string(*special) : ""));
  }
  /// Calls f(factor) for the powers of two that the case is run with.
  template <class F>
  static void for_factors(std::initializer_list<double> factors, F f) {
    const std::string name = full_name(*GetParam());
    for (double factor : factors) {
      const bool excepted = std::any_of(std::begin(kExceptions), std::end(kExceptions), [&](const Exception& e) {
        return name.find(e.name) != std::string::npos && factor >= e.from && factor <= e.to &&
               (on_cuda() || !e.on_devices);
      });
      if (!excepted) f(factor);
    }
  }

 private:
  struct Exception {
    std::string_view name;
    double from, to;  ///< factors
    const char* reason;
    bool on_devices;  ///< only on devices
  };
  static constexpr Exception kExceptions[] = {
      {"ctc_loss", 0x1p110, kInf, "a device would have to wait for the loss before it could compute it again", true},
      {"triplet_margin_loss/with_distance", 0x1p110, kInf, "the user's distances, whose difference fits", false},
      {"triplet_margin_loss/", 0, 0.5, "gradients that cancel beside the distance's eps", false},
      {"rms_norm/", 0, 0.5, "the default eps is that of the dtype", false},
      {"var/far_from_zero", 0, kInf, "a mean whose rounding matters: another test has its accuracy", false},
  };
};

TEST_P(RangeTest, F32) {
  for_factors({0x1p125, 0x1p100, 0x1p66, 0x1p-66, 0x1p-100, 0x1p-124},
              [this](double factor) { check(kFloat, factor); });
}
TEST_P(RangeTest, InfinityAndNaN) {
  for_factors({1}, [this](double factor) {
    for (double special : {INFINITY, -INFINITY, NAN}) check(kFloat, factor, special);
  });
}
TEST_P(RangeTest, F16) {
  if (!GetParam()->no_low.empty()) GTEST_SKIP() << GetParam()->no_low;
  for_factors({0x1p12, 0x1p-12}, [this](double factor) { check(kHalf, factor); });
}
TEST_P(RangeTest, BF16) {
  if (!GetParam()->no_low.empty()) GTEST_SKIP() << GetParam()->no_low;
  for_factors({0x1p66, 0x1p-66}, [this](double factor) { check(kBFloat16, factor); });
}

// Closed forms, where the f64 kernels would have the same fault.
TEST(Range, InfiniteLogitsOfBinaryCrossEntropy) {
  const Tensor x = tensor({kInf, kInf, -kInf, -kInf, kInf}), target = tensor({0.0, 1.0, 0.0, 1.0, 0.5}).to(kFloat);
  const std::vector<double> expected{kInf, 0, 0, kInf, kInf};
  for (const Tensor& pos_weight : {Tensor(), ones({5})}) {
    EXPECT_TRUE(near(binary_cross_entropy_with_logits(x.to(kFloat), target, {}, pos_weight, LossReduction::None),
                     expected, kExact));
  }
}
TEST(Range, RunningStatisticsOfAnInfiniteBatch) {
  for (const int64_t at : {0, 1, 5}) {
    const Tensor x = ones({3, 2, 1}), mean = zeros({2}), var = ones({2});
    x.flatten()[at].fill_(kInf);
    batch_norm(x, {}, {}, mean, var, true, 0.1, 1e-5);
    EXPECT_EQ(mean[at % 2].item<double>(), kInf);
    EXPECT_TRUE(std::isnan(var[at % 2].item<double>()));
    EXPECT_NEAR(mean[1 - at % 2].item<double>(), 0.1, 1e-6);
  }
}
TEST(Range, ZerosOfF16AreNormalisedToZeros) {
  EXPECT_TRUE(near(normalize(zeros({2, 3}, kHalf), 2, 1), zeros({2, 3}, kHalf), kExact));
  EXPECT_TRUE(near(cosine_similarity(zeros({2, 3}, kHalf), ones({2, 3}, kHalf), 1), zeros({2}, kHalf), kExact));
}

TEST(Range, ANormOfEpsIsConstant) {
  const Tensor x = tensor({0.0, 1.0}).to(kFloat).requires_grad_();
  normalize(x, 2, 0, 1).backward(ones({2}));
  EXPECT_TRUE(near(x.grad(), ones({2}), kExact));  // as of x / clamp(|x|, 1)
}

// Numbers of very different size beside each other.
TEST(Range, ExtremesBesideEachOther) {
  const auto check = [](const char* what, std::vector<double> x, std::vector<double> other, DType dtype,
                        const std::function<Tensor(In)>& run) {
    const Dims sizes{2, static_cast<int64_t>(x.size()) / 2};
    const Out inputs{tensor(x).to(dtype).view(sizes).requires_grad_(), tensor(other).to(dtype).view(sizes)};
    expect_f64_rounded([&](In in) { return Out{run(in)}; }, inputs, dtype, what);
  };
  const std::vector<double> far{3e38, -3e38, 1e38, -2e38, 3e38, 3e38, 2e38, -3e38}, zero(8, 0.0);
  check("layer_norm", far, zero, kFloat, [](In x) { return layer_norm(x[0], {4}); });
  check("batch_norm", far, zero, kFloat, [](In x) { return batch_norm(x[0].t(), {}, {}, {}, {}, true, 0.1, 1e-5); });
  check("group_norm", far, zero, kFloat, [](In x) { return group_norm(x[0].view({1, 2, 4}), 2); });
  check("logsumexp", {200, kInf, 1, 2, 3, 200, -kInf, kInf}, zero, kFloat, [](In x) { return logsumexp(x[0], {1}); });
  check("corrcoef", far, zero, kFloat, [](In x) { return corrcoef(x[0]); });
  check("renorm", far, zero, kFloat, [](In x) { return renorm(x[0].detach(), 2, 0, 1e10); });

  // One square is beyond the range of f32, the mean is not.
  std::vector<double> many(200, 1);
  many[3] = 8e19;
  check("mse_loss", many, std::vector<double>(200, 0.0), kFloat, [](In x) { return mse_loss(x[0], x[1]); });
  check("multi_margin_loss", many, many, kFloat,
        [](In x) { return multi_margin_loss(x[0], zeros({2}, TensorOptions(kLong)), 2); });

  // Losses of elements, sums and norms that are beyond the range of f32.
  const std::vector<double> opposite{-3e38, -3e38, 1e38, -2e38, 3e38, 3e38, 2e38, -3e38};
  check("l1_loss", far, opposite, kFloat, [](In x) { return l1_loss(x[0], x[1]); });
  check("huber_loss", far, opposite, kFloat, [](In x) { return huber_loss(x[0], x[1], LossReduction::Mean, 2); });
  check("poisson_nll_loss", far, far, kFloat,
        [](In x) { return poisson_nll_loss(abs(x[0]) * 1e-2, abs(x[1]) * 1e-2, false, true); });
  check("normalize", far, zero, kFloat, [](In x) { return normalize(x[0], 2, 1, 0); });
  check("normalize", far, zero, kFloat, [](In x) { return normalize(x[0], 3, 1, 0); });
  check("cov", {3e19, 1e19, -2e19, 2e19, 1e-19, 2e-19, -1e-19, 3e-19}, zero, kFloat, [](In x) {
    return cov(x[0].repeat({1, 100}));
  });
  check("normalize", far, zero, kFloat, [](In x) { return normalize(x[0], 0.5, 1, 0); });
  check("renorm", far, zero, kFloat, [](In x) { return renorm(x[0], 3, 0, 1e10); });
  check("cosine_embedding_loss", far, zero, kFloat, [](In x) {
    return cosine_embedding_loss(x[0], x[0].flip({1}), tensor({1.0, -1.0}).to(kFloat));
  });
  const std::vector<double> one_huge{1, 3e38, 2, -1, 1, 2, 1e-30, 1}, tiny(8, 1e-30);
  check("local_response_norm", one_huge, zero, kFloat, [](In x) {
    return local_response_norm(x[0].view({1, 8, 1}), 3);
  });
  check("local_response_norm", std::vector<double>(8, 1), zero, kFloat, [](In x) {
    return local_response_norm(x[0].view({1, 8, 1}), 3, -3, 1, 1);
  });
  check("local_response_norm", tiny, zero, kFloat, [](In x) {
    return local_response_norm(x[0].view({1, 8, 1}), 3, 1, 0.75, 0);
  });
  if (!on_cuda()) {  // a device would have to wait for the loss before it could compute it again
    check("margin_ranking_loss", far, opposite, kFloat,
          [](In x) { return margin_ranking_loss(x[0], x[1], ones_like(x[1]).detach()); });
    check("gaussian_nll_loss", {8e19, 1, 1, 1, 1, 1, 1, 1}, zero, kFloat,
          [](In x) { return gaussian_nll_loss(x[0], x[1], ones_like(x[1])); });
    check("multilabel_margin_loss", {-3e38, 3e38, 1, 2, 1, 2, 3, 4}, zero, kFloat, [](In x) {
      return multilabel_margin_loss(x[0], tensor({0, -1, -1, -1, 0, -1, -1, -1}).to(kLong).view({2, 4}));
    });
    check("triplet_margin_loss", far, zero, kFloat,
          [](In x) { return triplet_margin_loss(x[0], x[1], mul(x[0], 0.5)); });
    check("cross_entropy", {-3e38, 3e38, 1, 2, 1, 2, 3, 4}, zero, kFloat, [](In x) {
      return cross_entropy(x[0], tensor({0, 1}).to(kLong));
    });
    check("ctc_loss", std::vector<double>(8, -1e38), zero, kFloat, [](In x) {
      return ctc_loss(x[0].view({4, 1, 2}), tensor({1, 1}).view({1, 2}), {4}, {2});
    });
    check("binary_cross_entropy_with_logits", far, std::vector<double>(8, 0.5), kFloat,
          [](In x) { return binary_cross_entropy_with_logits(x[0], x[1], {}, full({4}, 1.5)); });
    const auto attend = [](In x) {
      const Tensor k = x[0].view({4, 2});
      return scaled_dot_product_attention(x[1].view({4, 2}), k, k);
    };
    check("attention", far, zero, kFloat, attend);
    check("attention", far, {1, 2, 3, 1, 2, 2, 1, 3}, kFloat, attend);
  }

  const std::vector<double> wild{1e-33, 1e20, -1e-10, 1, 1e20, -1e-25, 1e-38, 1e10}, tail{1e-30, 1, 0, 2, 3, 0, 1, 2};
  check("norm", wild, tail, kFloat, [](In x) { return norm(x[0], 0.5, {1}); });
  check("dist", wild, tail, kFloat, [](In x) { return dist(x[0], x[1], 0.5); });
  check("cdist", wild, tail, kFloat, [](In x) { return cdist(x[0], x[1], 0.5); });

  const std::vector<double> close{1e-25, -3e-25, 2e-25, 1e-25, 2e-25, 1e-25, -1e-25, 3e-25};
  check("cdist by a product", close, zero, kFloat, [](In x) { return cdist(x[0], x[1], 2, 1); });

  // Sums, differences and powers beyond the range of f16.
  const std::vector<double> halves{4e4, 3e4, -2e4, 4e4, 6e4, 5e4, 4e4, 1e4}, apart{6e4, 6e4, 6e4, -6e4, 6e4, 6e4, 1, 1};
  check("nanmean", halves, zero, kHalf, [](In x) { return nanmean(x[0]); });
  check("lp_pool1d", halves, zero, kHalf, [](In x) { return lp_pool1d(abs(x[0]).view({1, 2, 4}) * 0.25, 3, {2}); });
  check("lp_pool1d", far, zero, kFloat, [](In x) { return lp_pool1d(abs(x[0]).view({1, 2, 4}), 2, {1}); });
  check("std", apart, zero, kHalf, [](In x) { return std(x[0]) * 0.25; });
  check("triplet_margin_loss", halves, zero, kHalf,
        [](In x) { return triplet_margin_loss(x[0], x[1], mul(x[0], 0.25)); });
  check("kl_div", {-5e4, -100, -10, 0}, {6e4, -20, -12, 1}, kHalf,
        [](In x) { return kl_div(x[1], x[0], LossReduction::None, true); });
  check("binary_cross_entropy_with_logits", {6e4, 1, 1, 1, -2, 1, 1, 1}, zero, kHalf,
        [](In x) { return binary_cross_entropy_with_logits(x[0], x[1], full({}, 1.5, x[0].options())); });
}

bool is_in_range_family(const Case& c) {
  for (const char* family :
       {"reduce", "softmax", "norm", "loss", "pointwise_loss", "margin_loss", "distance", "statistics", "group_norm"}) {
    if (c.family == family) return true;
  }
  return false;
}

INSTANTIATE_TEST_SUITE_P(Ops, RangeTest, ::testing::ValuesIn(cases_where(is_in_range_family)), parameter_name);

}  // namespace
}  // namespace tandem::testing
