// Recipes of float8 against plain models of them, written from TransformerEngine's documentation and, for the
// microscaling format, from the definition of its scales.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "amp/fp8/delayed_model.h"
#include "support/throws.h"
#include "tandem/amp/fp8/fp8_tensor.h"
#include "tandem/tandem.h"

namespace tandem::amp {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMost = std::numeric_limits<float>::max();

using Values = std::vector<float>;
using testing::DelayedModel;

Values numbers_of(const Tensor& x) {
  const Tensor host = x.to(kFloat).contiguous().to(kCPU);
  return {host.data_ptr<float>(), host.data_ptr<float>() + host.numel()};
}

/// Whether all numbers are equal; NaN equals NaN.
bool same(const Values& a, const Values& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

float rounded(DType t, float x) {
  return t == kFloat8_e4m3fn ? tandem::detail::E4m3fn::widen(tandem::detail::E4m3fn::round(x, Float8Overflow::saturate))
                             : tandem::detail::E5m2::widen(tandem::detail::E5m2::round(x, Float8Overflow::saturate));
}

/// A magnitude of any size; one in four is special.
float random_magnitude(std::mt19937& random) {
  switch (random() % 12) {
    case 0:
      return 0;
    case 1:
      return random() % 8 == 0 ? kNan : kInf;
    case 2:
      return 1e-40f;
    default:
      return std::exp(std::uniform_real_distribution<float>(-20, 20)(random));
  }
}

TEST(DelayedScaling, EqualsAPlainModel) {
  std::mt19937 random(1);
  for (const int64_t length : {1, 2, 7, 32}) {
    for (const Fp8AmaxAlgorithm algorithm : {Fp8AmaxAlgorithm::max, Fp8AmaxAlgorithm::most_recent}) {
      const auto recipe =
          DelayedScaling().amax_history_len(length).amax_compute_algo(algorithm).margin(static_cast<int>(random() % 3));
      const std::vector<DType> dtypes = {fp8_dtype(recipe, Fp8Role::input), fp8_dtype(recipe, Fp8Role::weight),
                                         fp8_dtype(recipe, Fp8Role::gradient)};
      const DelayedScales scales(recipe, dtypes, ones({1}).device());
      std::vector<DelayedModel> models;
      for (const DType dtype : dtypes) models.emplace_back(recipe, dtype);
      for (int step = 0; step < 1250; ++step) {
        const size_t i = random() % 3;
        const float x = random_magnitude(random);
        const Fp8Tensor y = scales.quantize(tensor({x, -0.5f * x}), static_cast<int64_t>(i));
        const float scale = models[i].scale_for(std::fabs(x));
        ASSERT_TRUE(same(numbers_of(y.codes), {rounded(dtypes[i], x * scale), rounded(dtypes[i], -0.5f * x * scale)}));
        models[i].note(std::fabs(x));
        const bool finite = std::isfinite(models[i].history[0]);
        ASSERT_TRUE(same(numbers_of(y.scales.inverse), {finite ? 1 / scale : kNan}));
        if (random() % 2 == 0) {
          const bool forward = random() % 2 == 0;  // the rows of inputs and weights, or that of gradients
          const size_t first = forward ? 0 : 2, count = forward ? 2 : 1;
          scales.update(static_cast<int64_t>(first), static_cast<int64_t>(count));
          for (size_t k = first; k < first + count; ++k) models[k].update();
        }
        Values all;
        for (const DelayedModel& m : models) {
          const Values own = m.state();
          all.insert(all.end(), own.begin(), own.end());
        }
        ASSERT_TRUE(same(numbers_of(scales.state()), all)) << step;
      }
    }
  }
}

TEST(DelayedScaling, ScalesFollowTheHistory) {
  const Tensor x = tensor({0.5f, -3.0f, 0.01f});
  const DelayedScales scales(DelayedScaling(), {kFloat8_e4m3fn}, x.device());
  const Fp8Tensor first = scales.quantize(x, 0);  // no history yet: with the scale 448 / 3 of x
  scales.update(0, 1);                            // at the end of the iteration
  const Fp8Tensor next = scales.quantize(x, 0);   // with the scale 448 / 3 of the history
  const Tensor values = next.dequantize(kBFloat16);
  EXPECT_TRUE(allclose(first.dequantize(), x, 0.0625, 0x1p-10));
  EXPECT_TRUE(allclose(values.to(kFloat), x, 0.0625, 1e-5));
  EXPECT_EQ(next.codes.to(kFloat)[1].item<float>(), -448);
}

TEST(Fp8Recipes, FormatsGiveTheDtypesOfRoles) {
  EXPECT_EQ(fp8_dtype(DelayedScaling(), Fp8Role::weight), kFloat8_e4m3fn);
  EXPECT_EQ(fp8_dtype(DelayedScaling(), Fp8Role::gradient), kFloat8_e5m2);
  EXPECT_EQ(fp8_dtype(MXFP8BlockScaling(), Fp8Role::gradient), kFloat8_e4m3fn);
  EXPECT_EQ(fp8_dtype(Float8CurrentScaling().fp8_format(Fp8Format::E5M2), Fp8Role::input), kFloat8_e5m2);
}

/// The scale and its inverse, by the rules of current and block scaling.
std::pair<float, float> scale_of(float amax, DType t, bool power_of_2, float epsilon) {
  if (amax < epsilon) amax = epsilon;
  if (std::isnan(amax) || std::isinf(amax)) return {1, kNan};
  if (amax == 0) return {1, 1};
  float scale = std::min(static_cast<float>(fp8_max(t)) / amax, kMost);
  if (power_of_2) scale = std::ldexp(1.0f, std::ilogb(scale));
  return {scale, 1 / scale};
}

/// The largest magnitude of some values; NaN if there is any.
float amax_of(const Values& x) {
  float amax = 0;
  for (const float v : x) amax = std::isnan(v) || std::fabs(v) > amax ? std::fabs(v) : amax;
  return amax;
}

Tensor spread_numbers(IntArrayRef sizes, uint64_t seed) {
  return mul(randn(sizes, Generator(seed)), exp(mul(randn(sizes, Generator(seed + 1)), 5)));
}

TEST(Float8CurrentScaling, EqualsAPlainModel) {
  for (const bool power_of_2 : {false, true}) {
    for (const double epsilon : {0.0, 3.0}) {
      const auto recipe = Float8CurrentScaling().use_power_2_scales(power_of_2).amax_epsilon(epsilon);
      for (const DType t : {kFloat8_e4m3fn, kFloat8_e5m2}) {
        for (const Tensor& x : {spread_numbers({40, 30}, 1), zeros({3}), tensor({1e-30f, 0.5f}), tensor({1e-45f}),
                                tensor({kInf, 1.0f}), tensor({kNan, 1.0f}), full({}, 3.0), ones({0, 2})}) {
          const Values values = numbers_of(x);
          const auto [scale, inverse] = scale_of(amax_of(values), t, power_of_2, static_cast<float>(epsilon));
          const Fp8Tensor y = quantize(x, t, recipe);
          Values want;
          for (const float v : values) want.push_back(rounded(t, v * scale));
          EXPECT_TRUE(same(numbers_of(y.codes), want)) << scale;
          EXPECT_TRUE(same(numbers_of(y.scales.inverse), {inverse})) << scale;
        }
      }
    }
  }
}

/// Checks a tensor of matrices that was rounded in blocks. scale(amax) returns the factor and its inverse.
template <class Scale>
void expect_blocks(const Fp8Tensor& y, const Tensor& x, int64_t rows, int64_t columns, DType t, const Scale& scale) {
  const int64_t height = x.size(-2), width = x.size(-1), matrices = x.numel() / (height * width);
  const Values values = numbers_of(x), codes = numbers_of(y.codes), inverse = numbers_of(y.scales.inverse);
  const Values back = numbers_of(y.dequantize());
  ASSERT_EQ(y.codes.dtype(), t);
  ASSERT_EQ(y.codes.sizes(), x.sizes());
  size_t block = 0;
  for (int64_t m = 0; m < matrices; ++m) {
    for (int64_t i = 0; i < height; i += rows) {
      for (int64_t j = 0; j < width; j += columns, ++block) {
        std::vector<size_t> places;
        Values own;
        for (int64_t r = i; r < std::min(i + rows, height); ++r) {
          for (int64_t c = j; c < std::min(j + columns, width); ++c) {
            places.push_back(static_cast<size_t>((m * height + r) * width + c));
            own.push_back(values[places.back()]);
          }
        }
        const auto [factor, inverse_factor] = scale(amax_of(own));
        ASSERT_LT(block, inverse.size());
        ASSERT_TRUE(same({inverse[block]}, {inverse_factor})) << block;
        for (size_t k = 0; k < own.size(); ++k) {
          const float code = rounded(t, own[k] * factor);
          ASSERT_TRUE(same({codes[places[k]]}, {code})) << block << ' ' << own[k];
          ASSERT_TRUE(same({back[places[k]]}, {code * inverse_factor})) << block << ' ' << own[k];
        }
      }
    }
  }
  EXPECT_EQ(block, inverse.size());
}

Tensor with_special_blocks() {
  Tensor x = spread_numbers({3, 140, 150}, 7);
  x[0].slice(0, 0, 128).slice(1, 0, 128).zero_();
  x[1][5][7].fill_(kInf);
  x[1][130][140].fill_(kNan);
  x[2].slice(1, 0, 40).mul_(1e-38);
  x[2].slice(1, 40, 80).mul_(1e30);
  return x;
}

TEST(Float8BlockScaling, EqualsAPlainModel) {
  const Tensor x = with_special_blocks();
  for (const bool power_of_2 : {false, true}) {
    for (const Fp8Role role : {Fp8Role::input, Fp8Role::weight, Fp8Role::gradient}) {
      const auto recipe = Float8BlockScaling().use_power_2_scales(power_of_2).fp8_format(Fp8Format::HYBRID);
      const DType t = fp8_dtype(recipe, role);
      const int64_t breadth = role == Fp8Role::weight ? 128 : 1;
      const auto scale = [&](float amax) { return scale_of(amax, t, power_of_2, 0); };
      const Fp8Tensor y = quantize(x, role, recipe);
      EXPECT_EQ(y.scales.inverse.sizes(), role == Fp8Role::weight ? IntArrayRef({3, 2, 2}) : IntArrayRef({3, 140, 2}));
      expect_blocks(y, x, breadth, 128, t, scale);
      expect_blocks(quantize(x, role, recipe, -2), x, 128, breadth, t, scale);
    }
  }
  EXPECT_EQ(quantize(ones({0, 5}), Fp8Role::input, Float8BlockScaling()).codes.sizes(), IntArrayRef({0, 5}));
}

TEST(MXFP8BlockScaling, EqualsTheDefinition) {
  const Tensor x = with_special_blocks();
  for (const Fp8Format format : {Fp8Format::E4M3, Fp8Format::E5M2}) {
    const auto recipe = MXFP8BlockScaling().fp8_format(format);
    const DType t = fp8_dtype(recipe, Fp8Role::input);
    const Fp8Tensor y = quantize(x, Fp8Role::input, recipe);
    EXPECT_EQ(y.scales.inverse.dtype(), kFloat8_e8m0fnu);
    EXPECT_EQ(y.scales.inverse.sizes(), IntArrayRef({3, 140, 5}));
    const auto scale = [&](float amax) {
      if (std::isnan(amax)) return std::pair(kNan, kNan);
      int e = -127;
      while (e < 127 && static_cast<float>(amax / fp8_max(t)) > std::ldexp(1.0f, e)) ++e;
      return std::pair(std::ldexp(1.0f, -e), std::ldexp(1.0f, e));
    };
    expect_blocks(y, x, 1, 32, t, scale);
    expect_blocks(quantize(x, Fp8Role::weight, recipe, -2), x, 32, 1, t, scale);
  }
  EXPECT_EQ(quantize(ones({5}), Fp8Role::input, MXFP8BlockScaling()).scales.inverse.sizes(), IntArrayRef({1}));
}

TEST(DelayedScaling, UpdatesManyRows) {
  const std::vector<DType> dtypes(10, kFloat8_e5m2);
  const DelayedScales scales(DelayedScaling().amax_history_len(2), dtypes, ones({1}).device());
  for (int64_t i = 0; i < 10; ++i) scales.quantize(full({1}, 1.0 + static_cast<double>(i)), i);
  scales.update(1, 9);
  Values want{1};
  for (int i = 1; i < 10; ++i) want.push_back(57344.0f / static_cast<float>(1 + i));
  EXPECT_TRUE(same(numbers_of(scales.state().select(1, 0)), want));
}

TEST(Fp8Recipes, HaveNamesAndTexts) {
  EXPECT_EQ(to_string(fp8_recipe("delayed")),
            "DelayedScaling(margin=0, fp8_format=HYBRID, amax_history_len=1024, amax_compute_algo=max)");
  EXPECT_EQ(to_string(fp8_recipe("tensorwise")),
            "Float8CurrentScaling(fp8_format=HYBRID, use_power_2_scales=false, amax_epsilon=0)");
  EXPECT_EQ(to_string(fp8_recipe("blockwise")),
            "Float8BlockScaling(fp8_format=E4M3, use_power_2_scales=true, amax_epsilon=0)");
  EXPECT_EQ(to_string(fp8_recipe("mxfp8")), "MXFP8BlockScaling(fp8_format=E4M3)");
  EXPECT_THROWS(fp8_recipe("fp8"), StateError, "fp8_recipe: ", "\"fp8\"", "\"mxfp8\"");
}

TEST(Fp8Recipes, BadInput) {
  const Tensor x = ones({2, 3});
  EXPECT_THROWS(DelayedScales(DelayedScaling().amax_history_len(0), {kFloat8_e5m2}, Device(kCPU)), StateError,
                "DelayedScales: ", "amax_history_len = 0");
  EXPECT_THROWS(DelayedScales(DelayedScaling().margin(200), {kFloat8_e5m2}, Device(kCPU)), StateError, "margin = 200");
  EXPECT_THROWS(quantize(x, kFloat8_e5m2, Float8CurrentScaling().amax_epsilon(-1)), StateError, "amax_epsilon = -1");
  EXPECT_THROWS(quantize(x, Fp8Role::input, Float8BlockScaling().amax_epsilon(kNan)), StateError, "amax_epsilon = nan");
  EXPECT_THROWS(DelayedScales(DelayedScaling(), {}, Device(kCPU)), StateError, "no dtypes");
  EXPECT_THROWS(DelayedScales(DelayedScaling(), {kFloat8_e8m0fnu}, Device(kCPU)), DTypeError, "f8e8m0fnu");
  const DelayedScales scales(DelayedScaling(), {kFloat8_e5m2, kFloat8_e5m2}, Device(kCPU));
  EXPECT_THROWS(scales.quantize(x, 2), IndexError, "DelayedScales::quantize: ", "rows [2, 3)", "2 rows");
  EXPECT_THROWS(scales.quantize(x, -1), IndexError, "rows [-1, 0)");
  EXPECT_THROWS(scales.update(1, 2), IndexError, "DelayedScales::update: ", "rows [1, 3)");
  EXPECT_THROWS(quantize(x, kHalf, Float8CurrentScaling()), DTypeError, "f16");
  EXPECT_THROWS(quantize(x, kFloat8_e5m2, Float8CurrentScaling()).dequantize(kLong), DTypeError, "dequantize: ", "i64");
  EXPECT_THROWS(quantize(x, Fp8Role::input, Float8BlockScaling()).dequantize(kFloat8_e5m2), DTypeError, "f8e5m2");
  EXPECT_THROWS(quantize(ones({2}, kInt), kFloat8_e5m2, Float8CurrentScaling()), DTypeError, "quantize: ", "[2] i32");
  EXPECT_THROWS(quantize(ones({2}), Fp8Role::input, Float8BlockScaling()), ShapeError, "[2] f32", "rank 2");
  EXPECT_THROWS(quantize(ones({}), Fp8Role::input, MXFP8BlockScaling()), ShapeError, "[] f32", "rank 1");
  EXPECT_THROWS(quantize(ones({2}), Fp8Role::input, MXFP8BlockScaling(), -2), ShapeError, "[2] f32", "rank 2");
  EXPECT_THROWS(quantize(x, Fp8Role::input, Float8BlockScaling(), 0), IndexError, "dim = 0", "-1 or -2");
}

}  // namespace
}  // namespace tandem::amp
