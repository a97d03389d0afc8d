// unary, binary and where against plain f64 formulas, at every SIMD level, for several dtypes, sizes and layouts.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "formulas.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/kernels_under_test.h"
#include "layouts.h"
#include "support/simd_levels.h"
#include "support/ulp.h"
#include "tandem/tensor/threads.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

class ElementwiseKernels : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(ElementwiseKernels);

constexpr int64_t kElementwiseSizes[] = {0, 1, 15, 16, 17, 31, 33, 1023, 1025, 100003};
constexpr MemoryLayout kElementwiseLayouts[] = {MemoryLayout::contiguous, MemoryLayout::transposed,
                                                MemoryLayout::sliced, MemoryLayout::spread,
                                                MemoryLayout::channels_last};

/// Returns the values rounded to `dtype`.
Values rounded(const Values& values, DType dtype) { return read(tensor_of(values, dtype)); }

/// Returns the lower end of the arguments: 0.01 for formulas of positive numbers and probabilities, otherwise -4.
template <class Op>
double low_end(Op op) {
  if constexpr (std::is_same_v<Op, Unary>) {
    return op == Unary::log || op == Unary::sqrt || op == Unary::rsqrt || op == Unary::log1p || op == Unary::pow_scalar
               ? 0.01
               : -4;
  } else {
    return op == Binary::pow || op == Binary::binary_cross_entropy || op == Binary::binary_cross_entropy_backward ? 0.01
                                                                                                                  : -4;
  }
}
double high_end(Binary op) { return low_end(op) > 0 && op != Binary::pow ? 0.99 : 4; }

/// Cancellation and wide ranges lose a few more units of the largest result.
Tolerance formula_tolerance(DType dtype, const Values& want) { return tolerance(dtype, 1, 1, scale_of(want)); }

TEST_P(ElementwiseKernels, UnaryFormulas) {
  for (Unary op : kUnaryOps) {
    if (!takes_floats(op)) continue;
    for (DType dtype : kFloatingTypes) {
      for (int64_t n : {int64_t{1}, int64_t{33}, int64_t{1025}}) {
        const Values x = rounded(random_values(n, 7, low_end(op), 4), dtype);
        const double a = op == Unary::clamp ? -1.5 : 2.5, b = 2;
        Values want;
        for (double v : x) want.push_back(reference(op, v, a, b));
        const Tensor y = unwritten({n}, is_predicate(op) ? kBool : dtype);
        under_test().unary(y, op, tensor_of(x, dtype), a, b);
        ASSERT_TRUE(near(y, want, is_predicate(op) ? kExact : formula_tolerance(dtype, want)))
            << "unary " << static_cast<int>(op) << " " << name(dtype);
      }
    }
  }
}

TEST_P(ElementwiseKernels, BinaryFormulas) {
  for (Binary op : kBinaryOps) {
    if (!takes_floats(op)) continue;
    for (DType dtype : kFloatingTypes) {
      for (int64_t n : {int64_t{1}, int64_t{33}, int64_t{1025}}) {
        const Values a = rounded(random_values(n, 7, low_end(op), high_end(op)), dtype);
        Values b = rounded(random_values(n, 8, low_end(op), high_end(op)), dtype);
        b[0] = a[0];  // also test equal operands
        Values want;
        for (size_t i = 0; i < a.size(); ++i) want.push_back(reference(op, a[i], b[i], 0.5));
        const Tensor y = unwritten({n}, is_predicate(op) ? kBool : dtype);
        under_test().binary(y, op, tensor_of(a, dtype), tensor_of(b, dtype), 0.5);
        ASSERT_TRUE(near(y, want, is_predicate(op) ? kExact : formula_tolerance(dtype, want)))
            << "binary " << static_cast<int>(op) << " " << name(dtype);
      }
    }
  }
}

TEST_P(ElementwiseKernels, SpecialNumbers) {
  const Values special = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, -0.5, 1.5, 2.5, 200, -200};
  const Tolerance t = tolerance(kFloat);
  for (DType dtype : {kFloat, kDouble, kHalf}) {
    for (Unary op : kUnaryOps) {
      if (!takes_floats(op)) continue;
      Values want;
      for (double v : special) want.push_back(reference(op, v, 2, 3));
      const Tensor y = unwritten({static_cast<int64_t>(special.size())}, is_predicate(op) ? kBool : dtype);
      under_test().unary(y, op, tensor_of(special, dtype), 2, 3);
      // Here every expected value is 0, inf, NaN or close to a small number, in all dtypes.
      EXPECT_TRUE(near(y, rounded(want, y.dtype()), Tolerance{0x1p-10, t.atol}))
          << "unary " << static_cast<int>(op) << " " << name(dtype);
    }
    for (Binary op : kBinaryOps) {
      if (op >= Binary::bce_with_logits && op < Binary::atan2) continue;  // probabilities only
      if (!takes_floats(op)) continue;
      if (op >= Binary::silu_backward) continue;  // f32 slopes underflow: an infinite gradient times 0 is NaN
      for (double b : special) {
        Values want;
        for (double a : special) want.push_back(reference(op, a, b, 1));
        const Tensor y = unwritten({static_cast<int64_t>(special.size())}, is_predicate(op) ? kBool : dtype);
        const Tensor bs = tensor_of(Values(special.size(), b), dtype);
        under_test().binary(y, op, tensor_of(special, dtype), bs, 1);
        EXPECT_TRUE(near(y, rounded(want, y.dtype()), Tolerance{0x1p-10, t.atol}))
            << "binary " << static_cast<int>(op) << " " << name(dtype) << " b = " << b;
      }
    }
  }
}

TEST_P(ElementwiseKernels, IntegerFormulas) {
  const std::vector<int64_t> special = {0, 1, -1, 2, -3, 7, -64, 63, INT64_MAX, INT64_MIN};
  const auto n = static_cast<int64_t>(special.size());
  auto tensor_of_integers = [&](const std::vector<int64_t>& v) {
    const Tensor x = unwritten({n}, kLong);
    const Tensor host = empty({n}, TensorOptions(kLong).device(kCPU));
    std::copy(v.begin(), v.end(), host.data_ptr<int64_t>());
    backend(x).copy(x, host);
    return x;
  };
  auto values_of_integers = [&](const Tensor& y) {
    const Tensor host = empty({n}, TensorOptions(kLong).device(kCPU));
    backend(y).copy(host, y);
    return std::vector<int64_t>(host.data_ptr<int64_t>(), host.data_ptr<int64_t>() + n);
  };
  auto check = [&](Binary op, auto formula) {
    for (int64_t b : special) {
      const Tensor y = unwritten({n}, kLong);
      under_test().binary(y, op, tensor_of_integers(special), tensor_of_integers(std::vector<int64_t>(n, b)), 1);
      std::vector<int64_t> want;
      for (int64_t a : special) want.push_back(formula(a, b));
      EXPECT_EQ(values_of_integers(y), want) << "binary " << static_cast<int>(op) << " b = " << b;
    }
  };
  // Division in 128 bits neither traps nor overflows; by 0 it gives 0, and the remainder is 0, too.
  __extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using): pedantic warnings
  auto quotient = [](int64_t a, int64_t b) { return b == 0 ? Wide(0) : Wide(a) / b; };
  auto rest = [](int64_t a, int64_t b) { return b == 0 ? Wide(0) : Wide(a) % b; };
  check(Binary::trunc_divide, [&](int64_t a, int64_t b) { return static_cast<int64_t>(quotient(a, b)); });
  check(Binary::fmod, [&](int64_t a, int64_t b) { return static_cast<int64_t>(rest(a, b)); });
  auto moved = [&](int64_t a, int64_t b) { return rest(a, b) != 0 && (rest(a, b) < 0) != (b < 0); };
  check(Binary::floor_divide,
        [&](int64_t a, int64_t b) { return static_cast<int64_t>(quotient(a, b) - (moved(a, b) ? 1 : 0)); });
  check(Binary::remainder,
        [&](int64_t a, int64_t b) { return static_cast<int64_t>(rest(a, b) + (moved(a, b) ? b : 0)); });
  check(Binary::bitwise_and, [](int64_t a, int64_t b) { return a & b; });
  check(Binary::bitwise_or, [](int64_t a, int64_t b) { return a | b; });
  check(Binary::bitwise_xor, [](int64_t a, int64_t b) { return a ^ b; });
  check(Binary::bitwise_left_shift,
        [](int64_t a, int64_t b) { return b < 0 || b > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b); });
  check(Binary::bitwise_right_shift, [](int64_t a, int64_t b) { return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b; });
}

TEST_P(ElementwiseKernels, TernaryFormulas) {
  for (DType dtype : kFloatingTypes) {
    for (int64_t n : {int64_t{1}, int64_t{33}, int64_t{1025}}) {
      const Values a = rounded(random_values(n, 7, -4, 4), dtype), b = rounded(random_values(n, 8, -4, 4), dtype);
      const Values c = rounded(random_values(n, 9, 0.25, 4), dtype);
      auto check = [&](Ternary op, auto formula) {
        Values want;
        for (size_t i = 0; i < a.size(); ++i) want.push_back(formula(a[i], b[i], c[i]));
        const Tensor y = unwritten({n}, dtype);
        under_test().ternary(y, op, tensor_of(a, dtype), tensor_of(b, dtype), tensor_of(c, dtype), 0.5);
        ASSERT_TRUE(near(y, want, formula_tolerance(dtype, want))) << static_cast<int>(op) << " " << name(dtype);
      };
      check(Ternary::addcmul, [](double x, double y, double z) { return x + 0.5 * y * z; });
      check(Ternary::addcdiv, [](double x, double y, double z) { return x + 0.5 * y / z; });
      check(Ternary::lerp, [](double x, double y, double z) { return x + z * (y - x); });
    }
  }
}

TEST_P(ElementwiseKernels, TernaryInPlaceWithExpandedOperands) {
  const Values a = random_values(12, 7, -4, 4), b = random_values(4, 8, -4, 4), c = random_values(3, 9, -4, 4);
  const Values x = rounded(a, kFloat), row = rounded(b, kHalf), column = rounded(c, kFloat);
  const Tensor y = tensor_of(x, kFloat).view({3, 4});
  under_test().ternary(y, Ternary::addcmul, y, tensor_of(row, kHalf).expand({3, 4}),
                       tensor_of(column, kFloat).view({3, 1}).expand({3, 4}), 2);
  Values want;
  for (size_t i = 0; i < 12; ++i) want.push_back(x[i] + 2 * row[i % 4] * column[i / 4]);
  EXPECT_TRUE(near(y, want, formula_tolerance(kFloat, want)));
}

TEST_P(ElementwiseKernels, VectorCodeIsAccurate) {
  struct Case {
    Unary op;
    double (*f)(double);
    double bound;
  };
  const Case cases[] = {
      {Unary::exp, std::exp, 1.1},     {Unary::log, std::log, 1.0},     {Unary::log1p, std::log1p, 1.6},
      {Unary::expm1, std::expm1, 1.6}, {Unary::tanh, std::tanh, 1.5},   {Unary::erf, std::erf, 1.3},
      {Unary::sin, std::sin, 1.6},     {Unary::cos, std::cos, 1.6},     {Unary::tan, std::tan, 0.6},
      {Unary::asin, std::asin, 2.1},   {Unary::acos, std::acos, 2.1},   {Unary::atan, std::atan, 1.7},
      {Unary::sinh, std::sinh, 0.6},   {Unary::cosh, std::cosh, 0.6},   {Unary::asinh, std::asinh, 0.6},
      {Unary::acosh, std::acosh, 0.6}, {Unary::atanh, std::atanh, 0.6}, {Unary::log2, std::log2, 0.6},
      {Unary::log10, std::log10, 0.6}, {Unary::exp2, std::exp2, 0.6},   {Unary::erfc, std::erfc, 0.6}};
  std::vector<float> x = sample_floats(9973);
  for (const Case& c : cases) {
    if (c.op == Unary::sin) std::erase_if(x, [](float v) { return std::abs(v) > 1e8f; });
    std::vector<float> y(x.size());
    cpu::unary_tables().f32.value(c.op, y.data(), x.data(), static_cast<int64_t>(x.size()), 0, 0);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = ulp_error(y[i], c.f(static_cast<double>(x[i])));
      if (error > worst) worst = error, at = i;
    }
    EXPECT_LE(worst, c.bound) << "unary " << static_cast<int>(c.op) << " at " << x[at] << ": " << y[at];
  }
}

TEST_P(ElementwiseKernels, SinesOfLargeNumbers) {
  SKIP_ON_CUDA("devices use their own sinf; the emulator's formula covers a smaller range");
  const Values x = {1e8, 1.5e8, 1e20, -3e38, 1};
  for (Unary op : {Unary::sin, Unary::cos, Unary::tan}) {
    Values want;
    const Values held = rounded(x, kFloat);
    for (double v : held) want.push_back(reference(op, v, 0, 0));
    const Tensor y = unwritten({5}, kFloat);
    under_test().unary(y, op, tensor_of(x, kFloat), 0, 0);
    EXPECT_TRUE(near(y, want, tolerance(kFloat)));
  }
}

TEST_P(ElementwiseKernels, SizesAndDtypes) {
  for (int64_t n : kElementwiseSizes) {
    for (DType ta : {kFloat, kBFloat16, kHalf, kDouble, kInt, kLong, kByte, kBool}) {
      for (DType tb : {kFloat, kHalf, kInt}) {
        const DType ty = promote_types(ta, tb);
        const Values a = rounded(random_values(n, 1, 0, 100), ta), b = rounded(random_values(n, 2, 0, 100), tb);
        Values want;
        for (size_t i = 0; i < a.size(); ++i) want.push_back(a[i] + 2 * b[i]);
        const Tensor y = unwritten({n}, ty);
        under_test().binary(y, Binary::add, tensor_of(a, ta), tensor_of(b, tb), 2);
        ASSERT_TRUE(near(y, want, formula_tolerance(ty, want))) << name(ta) << " + " << name(tb) << ", n = " << n;
      }
    }
  }
}

TEST_P(ElementwiseKernels, Layouts) {
  const Dims sizes[] = {{7, 5}, {3, 1, 4}, {2, 3, 17, 19}, {40, 50}, {3, 2000}, {2000, 3}};
  for (const Dims& size : sizes) {
    for (MemoryLayout ly : kElementwiseLayouts) {
      for (MemoryLayout la : kElementwiseLayouts) {
        for (DType ta : {kFloat, kHalf}) {
          const Tensor a = noise(size, ta, 1, la), b = noise(size, kFloat, 2);
          const Values va = read(a), vb = read(b);
          Values want;
          for (size_t i = 0; i < va.size(); ++i) want.push_back(va[i] * vb[i]);
          const Tensor y = unwritten(size, kBFloat16, ly);
          under_test().binary(y, Binary::mul, a, b, 1);
          expect_near(y, want, 1, std::string(name(ly)) + " = " + name(la) + " * contiguous " + to_string(size));
          const Tensor c = unwritten(size, kBool, ly);
          under_test().binary(c, Binary::lt, a, b, 1);
          for (size_t i = 0; i < va.size(); ++i) want[i] = va[i] < vb[i];
          EXPECT_TRUE(near(c, want, kExact)) << name(ly) << " = " << name(la) << " < contiguous";
        }
      }
    }
  }
}

TEST_P(ElementwiseKernels, BroadcastChannels) {
  const Dims size = {2, 16, 3, 8};
  for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::channels_last}) {
    for (DType ta : kFloatingTypes) {
      for (DType tb : {kFloat, kHalf, kBool, kInt}) {
        const Tensor a = noise(size, ta, 1, layout), channels = noise({16}, tb, 2);
        for (const Dims& strides : {Dims{0, 1, 0, 0}, Dims{0, 0, 0, 0}, Dims{0, 0, 0, 1}}) {
          const Tensor b = make_view(channels, size, strides, 0);
          const Values va = read(a), vb = read(b);
          Values want;
          for (size_t i = 0; i < va.size(); ++i) want.push_back(va[i] + 2 * vb[i]);
          const Tensor y = unwritten(size, ta, layout);
          under_test().binary(y, Binary::add, a, b, 2);
          EXPECT_TRUE(near(y, want, formula_tolerance(ta, want)))
              << name(ta) << " + " << name(tb) << " " << to_string(strides) << " " << name(layout);
        }
      }
    }
  }
}

TEST_P(ElementwiseKernels, ExpandedAndMisaligned) {
  const Tensor row = noise({1500}, kFloat, 1), column = noise({6}, kHalf, 2);
  const Tensor a = make_view(row, {6, 1499}, {0, 1}, 1), b = make_view(column, {6, 1499}, {1, 0}, 0);
  const Tensor one = make_view(column, {6, 1499}, {0, 0}, 3);
  for (const Tensor& x : {a, b, one}) {
    for (const Tensor& z : {a, b, one}) {
      const Values vx = read(x), vz = read(z);
      Values want;
      for (size_t i = 0; i < vx.size(); ++i) want.push_back(vx[i] - vz[i]);
      const Tensor y = make_view(unwritten({6 * 1499 + 1}, kFloat), {6, 1499}, {1499, 1}, 1);
      under_test().binary(y, Binary::sub, x, z, 1);
      expect_near(y, want, 1, "expanded");
    }
  }
}

TEST_P(ElementwiseKernels, InPlace) {
  for (DType dtype : kFloatingTypes) {
    for (MemoryLayout layout : kElementwiseLayouts) {
      const Tensor x = noise({33, 70}, dtype, 3, layout), y = unwritten({33, 70}, dtype, layout);
      under_test().binary(y, Binary::mul, x, x, 1);
      under_test().binary(x, Binary::mul, x, x, 1);
      EXPECT_EQ(read(x), read(y)) << name(dtype) << " " << name(layout);
      under_test().unary(y, Unary::exp, x, 0, 0);
      under_test().unary(x, Unary::exp, x, 0, 0);
      EXPECT_EQ(read(x), read(y)) << name(dtype) << " " << name(layout);
    }
  }
}

TEST_P(ElementwiseKernels, Integers) {
  const Values a = {5, -7, 0, 3, 100, -128}, b = {2, 3, 5, -1, 100, 1};
  for (DType dtype : {kChar, kShort, kInt, kLong}) {
    const Tensor y = unwritten({6}, dtype), x = tensor_of(a, dtype), z = tensor_of(b, dtype);
    under_test().binary(y, Binary::mul, x, z, 1);
    if (dtype == kLong) {
      EXPECT_EQ(read(y), (Values{10, -21, 0, -3, 10000, -128}));
    }
    under_test().binary(y, Binary::maximum, x, z, 1);
    EXPECT_EQ(read(y), (Values{5, 3, 5, 3, 100, 1}));
    under_test().unary(y, Unary::clamp, x, -5, INFINITY);
    EXPECT_EQ(read(y), (Values{5, -5, 0, 3, 100, -5}));
    under_test().unary(y, Unary::pow_scalar, tensor_of({1, -2, 0, 3, 2, -1}, dtype), 3, 0);
    EXPECT_EQ(read(y), (Values{1, -8, 0, 27, 8, -1}));
  }
  // Large i64 values are exact: they are not converted to a floating type.
  const Tensor big = tensor({(int64_t{1} << 62) + 1}), sum = empty({1}, kLong);
  under_test().unary(sum, Unary::add_scalar, big, 2, 0);
  EXPECT_EQ(elements_of<int64_t>(sum)[0], (int64_t{1} << 62) + 3);
  // Real-valued formulas of integers have no integer result ...
  EXPECT_THROW(under_test().unary(sum, Unary::exp, big, 0, 0), NotImplementedError);
  // ... but a floating result.
  const Tensor real = empty({1}, kFloat);
  under_test().unary(real, Unary::exp, tensor_of({2}, kInt), 0, 0);
  EXPECT_NEAR(read(real)[0], std::exp(2.0), 1e-5);
}

TEST_P(ElementwiseKernels, Where) {
  for (DType dtype : {kFloat, kHalf, kDouble, kLong, kBool}) {
    for (MemoryLayout layout : kElementwiseLayouts) {
      const Dims size = {2, 3, 11, 40};
      const Tensor c = unwritten(size, kBool, layout), a = noise(size, dtype, 1, layout), b = noise(size, dtype, 2);
      Values flags(static_cast<size_t>(c.numel())), want = read(b);
      const Values va = read(a);
      for (size_t i = 0; i < flags.size(); ++i) {
        flags[i] = i % 3 == 0;
        if (flags[i] != 0) want[i] = va[i];
      }
      write(c, flags);
      const Tensor y = unwritten(size, dtype);
      under_test().where(y, c, a, b);
      EXPECT_EQ(read(y), want) << name(dtype) << " " << name(layout);
    }
  }
}

TEST_P(ElementwiseKernels, GeluAndItsSlopeAreAccurate) {
  const int64_t n = 48003;
  Values at;
  for (int64_t i = 0; i < n; ++i) at.push_back(static_cast<double>(static_cast<float>(i - n / 2) * 0.0005F));
  const Tensor x = tensor_of(at, kFloat), gy = tensor_of(Values(static_cast<size_t>(n), 1), kFloat);
  const Tensor y = unwritten({n}, kFloat), slope = unwritten({n}, kFloat);
  under_test().unary(y, Unary::gelu, x, 0, 0);
  under_test().binary(slope, Binary::gelu_backward, gy, x, 0);
  const Values values = read(y), slopes = read(slope);
  for (size_t i = 0; i < at.size(); ++i) {
    const double cdf = 0.5 * std::erfc(-at[i] / std::numbers::sqrt2),
                 density = std::exp(-0.5 * at[i] * at[i]) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    ASSERT_NEAR(values[i], at[i] * cdf, 2.5e-7 * std::max(1.0, std::abs(at[i]))) << at[i];
    ASSERT_NEAR(slopes[i], cdf + at[i] * density, 2.5e-7) << at[i];
  }
  // Far from 0, GELU is x or 0, and its slope 1 or 0.
  const Tensor far = tensor_of({-1e30, 1e30, -7, 7, NAN}, kFloat), ones = tensor_of({1, 1, 1, 1, 1}, kFloat),
               result = unwritten({5}, kFloat);
  under_test().unary(result, Unary::gelu, far, 0, 0);
  const Values limits = read(result);
  EXPECT_EQ(Values(limits.begin(), limits.begin() + 4), (Values{0, static_cast<double>(1e30F), 0, 7}));
  EXPECT_TRUE(std::isnan(limits[4]));
  under_test().binary(result, Binary::gelu_backward, ones, far, 0);
  const Values far_slopes = read(result);
  EXPECT_EQ(far_slopes[0], 0);
  EXPECT_NEAR(far_slopes[1], 1, 2e-7);
  EXPECT_TRUE(std::isnan(far_slopes[4]));
}

TEST_P(ElementwiseKernels, ResultsDependOnlyOnTheElement) {
  // Independent of the number of threads, the number of other elements, and alignment.
  const int64_t n = 100003;
  const Tensor x = tensor_of(random_values(n, 5, -10, 10), kFloat);
  for (Unary op : {Unary::exp, Unary::gelu, Unary::tanh, Unary::sigmoid, Unary::log1p, Unary::pow_scalar, Unary::sin}) {
    const Tensor all = empty({n}, kFloat), again = empty({n}, kFloat);
    const int threads = get_num_threads();
    set_num_threads(1);
    under_test().unary(all, op, x, 3, 0);
    set_num_threads(3);
    under_test().unary(again, op, x, 3, 0);
    set_num_threads(threads);
    EXPECT_EQ(bytes_of(all), bytes_of(again)) << static_cast<int>(op);
    for (int64_t i = 0; i < 200; i += 7) {
      const Tensor one = empty({1}, kFloat);
      under_test().unary(one, op, make_view(x, {1}, {1}, i), 3, 0);
      EXPECT_EQ(bytes_of(one), bytes_of(make_view(all, {1}, {1}, i))) << static_cast<int>(op) << " at " << i;
    }
  }
}

}  // namespace
}  // namespace tandem
