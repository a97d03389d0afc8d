// Operators and in-place methods beyond the case table: scalars on the left, integers that a double would round,
// overlapping operands.
#include <cstdint>
#include <limits>

#include "support/op_test.h"
#include "tandem/tensor/indexing.h"

namespace tandem::testing {
namespace {

using indexing::Slice;
using V = std::vector<int64_t>;

V whole(const Tensor& x) {
  const Tensor dense = x.to(kLong).cpu().contiguous();
  return {dense.const_data_ptr<int64_t>(), dense.const_data_ptr<int64_t>() + dense.numel()};
}

class Operators : public OpTest {};

TEST_F(Operators, ComparisonsAcceptANumberOnTheLeft) {
  const Tensor x = tensor({-1, 0, 1, 2});
  EXPECT_TRUE(same_bits(0 < x, x > 0));
  EXPECT_TRUE(same_bits(0 <= x, x >= 0));
  EXPECT_TRUE(same_bits(1 > x, x < 1));
  EXPECT_TRUE(same_bits(1 >= x, x <= 1));
  EXPECT_TRUE(same_bits(1 == x, x == 1));
  EXPECT_TRUE(same_bits(1 != x, x != 1));
  EXPECT_EQ(whole(0 < x), (V{0, 0, 1, 1}));
  EXPECT_EQ(whole(0.5 > x), (V{1, 1, 0, 0}));
  EXPECT_EQ(whole(1 == x), (V{0, 0, 1, 0}));
  EXPECT_EQ(whole(1 != x), (V{1, 1, 0, 1}));
  EXPECT_THROWS(0 < Tensor(), StateError, "gt: ", "undefined tensor", "give it a value first");
}

TEST_F(Operators, MaxAndMinOfTwo) {
  const Tensor x = randn({3, 4}), y = randn({4});
  EXPECT_TRUE(same_bits(max(x, y), maximum(x, y)));
  EXPECT_TRUE(same_bits(min(x, y), minimum(x, y)));
  EXPECT_TRUE(same_bits(x.max(y), maximum(x, y)));
  EXPECT_TRUE(same_bits(x.min(y), minimum(x, y)));
  EXPECT_TRUE(same_bits(std::get<0>(max(x, 0)), std::get<0>(x.max(0)))) << "a number is a dimension";
  const Tensor w = leaf({3});
  max(w, w - 1).sum().backward();
  EXPECT_TRUE(same_bits(w.grad(), ones({3})));
  EXPECT_THROWS(max(x, ones({5})), ShapeError, "maximum: ", "[3, 4]", "[5]");
  EXPECT_THROWS(x.min(Tensor()), StateError, "minimum: ", "undefined tensor", "give it a value first");
}

TEST_F(Operators, PowInPlace) {
  const Tensor x = rand({2, 3}) + 0.5, e = randn({3}), y = x.clone();
  EXPECT_TRUE(y.pow_(e).is_same(y));
  EXPECT_TRUE(same_bits(y, pow(x, e)));
  EXPECT_TRUE(same_bits(x.clone().pow_(2.5), pow(x, 2.5)));
  EXPECT_EQ(whole(tensor({2, 3}).pow_(tensor({5, 2}))), (V{32, 9}));
  check_twice([](In in) -> Out { return {(in[0] * 0.1 + 2).pow_(in[1])}; }, {f64({2, 3}), f64({3})});

  EXPECT_THROWS(x.pow_(ones({5})), ShapeError, "pow_: ", "[2, 3]", "[5]");
  EXPECT_THROWS(x.pow_(Tensor()), StateError, "pow_: ", "undefined tensor", "give it a value first");
  EXPECT_THROWS(tensor({2, 3}).pow_(tensor({0.5, 1.0})), DTypeError, "pow_: ", "f32", "[2] i64",
                "without the underscore");
  EXPECT_THROWS(leaf({2}).pow_(e), ShapeError, "pow_: ", "[2]", "[3]");
  EXPECT_THROWS(leaf({3}).pow_(e), AutogradError, "pow_: ", "leaf", "[3] f32", "NoGradGuard");
  EXPECT_THROWS(tensor({2, 3}).pow_(-1), StateError, "pow_: ", "[2] i64", "exponent -1", ".to(kFloat)");
}

// ---- integers above 2^53

constexpr int64_t kBig = (int64_t{1} << 53) + 1;  // a double rounds it to 2^53
constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kMin = std::numeric_limits<int64_t>::min();

TEST_F(Operators, IntegersAreExact) {
  const Tensor x = tensor({0, 1, -3});
  EXPECT_EQ(whole(x + kBig), (V{kBig, kBig + 1, kBig - 3}));
  EXPECT_EQ(whole(kBig + x), (V{kBig, kBig + 1, kBig - 3}));
  EXPECT_EQ(whole(x - kBig), (V{-kBig, 1 - kBig, -3 - kBig}));
  EXPECT_EQ(whole(kBig - x), (V{kBig, kBig - 1, kBig + 3}));
  EXPECT_EQ(whole(x * kBig), (V{0, kBig, -3 * kBig}));
  EXPECT_EQ(whole(kBig * x), (V{0, kBig, -3 * kBig}));
  EXPECT_EQ(whole(x.add(kBig, 3)), (V{3 * kBig, 3 * kBig + 1, 3 * kBig - 3}));
  EXPECT_EQ(whole(x.add(x, kBig)), (V{0, 1 + kBig, -3 - 3 * kBig}));
  EXPECT_EQ(whole(x.sub(x, kBig)), (V{0, 1 - kBig, -3 + 3 * kBig}));
  EXPECT_EQ(whole(x.clamp(0, kBig)), (V{0, 1, 0}));
  EXPECT_EQ(whole((x + kBig).clamp({}, kBig)), (V{kBig, kBig, kBig - 3}));
  EXPECT_EQ(whole((x - kBig).clamp(-kBig)), (V{-kBig, 1 - kBig, -kBig}));
  EXPECT_EQ(whole(tensor({true, false}).square()), (V{1, 0}));
  EXPECT_EQ(x.clamp(-0.5, 0).dtype(), kFloat);
  EXPECT_EQ(x.clamp(-0.5, 0)[2].item<float>(), -0.5F);
  EXPECT_EQ(whole(tensor({kBig, kBig - 1}).eq(kBig)), (V{1, 0}));
  EXPECT_EQ(whole(kBig > tensor({kBig, kBig - 1})), (V{0, 1}));
  EXPECT_EQ(whole(pow(x, kBig)), (V{0, 1, whole(pow(x, tensor(kBig)))[2]}));
  EXPECT_EQ(whole(x + kMax)[0], kMax);
  EXPECT_EQ(whole(x + kMin)[1], kMin + 1);
  EXPECT_EQ(whole(tensor({int64_t{-1}}) - kMin)[0], kMax);
}

TEST_F(Operators, ClampInPlaceNeedsABound) {
  EXPECT_THROWS(ones({2}).clamp_(std::optional<Scalar>()), StateError, "clamp_: ", "give min, max or both");
}

TEST_F(Operators, IntegersAreExactInPlace) {
  const auto x = [] { return tensor({0, 1, -3}); };
  EXPECT_EQ(whole(x().add_(kBig)), (V{kBig, kBig + 1, kBig - 3}));
  EXPECT_EQ(whole(x().add_(kBig, 3)), (V{3 * kBig, 3 * kBig + 1, 3 * kBig - 3}));
  EXPECT_EQ(whole(x().sub_(kBig)), (V{-kBig, 1 - kBig, -3 - kBig}));
  EXPECT_EQ(whole(x().mul_(kBig)), (V{0, kBig, -3 * kBig}));
  EXPECT_EQ(whole(x().add_(x(), kBig)), (V{0, 1 + kBig, -3 - 3 * kBig}));
  EXPECT_EQ(whole(x().sub_(x(), kBig)), (V{0, 1 - kBig, -3 + 3 * kBig}));
  EXPECT_EQ(whole((x() + kBig).clamp_({}, kBig)), (V{kBig, kBig, kBig - 3}));
  EXPECT_EQ(whole((x() - kBig).clamp_(-kBig)), (V{-kBig, 1 - kBig, -kBig}));
}

TEST_F(Operators, NarrowIntegersWrapAndCompareByValue) {
  const int64_t far = (int64_t{1} << 60) + 5;  // equals 5 modulo 2^32
  const Tensor x = tensor({5, 6}, kInt);
  EXPECT_EQ((x + far).dtype(), kInt);
  EXPECT_EQ(whole(x + far), (V{10, 11}));
  EXPECT_EQ(whole(x == far), (V{0, 0}));
  EXPECT_EQ(whole(x < far), (V{1, 1}));
  EXPECT_EQ((x.to(kFloat) + kBig).dtype(), kFloat);
  EXPECT_EQ((tensor({true, false}) + true).dtype(), kBool);
}

TEST_F(Operators, FractionalAlphaNeedsFloatingOperands) {
  const Tensor x = tensor({1, 2});
  EXPECT_THROWS(add(x, x, 0.5), DTypeError, "add: ", "alpha = 0.5", "[2] i64", ".to(kFloat)");
  EXPECT_THROWS(sub(x, x, 0.5), DTypeError, "sub: ", "alpha = 0.5", "[2] i64", ".to(kFloat)");
  EXPECT_THROWS(x.add_(x, 0.5), DTypeError, "add_: ", "alpha = 0.5", "[2] i64", ".to(kFloat)");
  EXPECT_THROWS(x.sub_(x, 0.5), DTypeError, "sub_: ", "alpha = 0.5", "[2] i64", ".to(kFloat)");
  EXPECT_THROWS(x.add_(1, 0.5), DTypeError, "add_: ", "[2] i64", "without the underscore");
  EXPECT_TRUE(same_bits(add(x, ones({2}), 0.5), tensor({1.5, 2.5})));
}

// ---- operands that share memory with the output

TEST_F(Operators, InPlaceOpsReadOverlappingOperandsFirst) {
  const int64_t n = 100000;  // more than one thread's share
  const Tensor x = randn({n});
  Tensor a = x.clone();
  a.slice(0, 1).copy_(a.slice(0, 0, n - 1));
  EXPECT_TRUE(same_bits(a.slice(0, 1), x.slice(0, 0, n - 1)));
  a = x.clone();
  a.slice(0, 0, n - 1) += a.slice(0, 1);
  EXPECT_TRUE(same_bits(a.slice(0, 0, n - 1), x.slice(0, 0, n - 1) + x.slice(0, 1)));
  a = x.clone();
  a /= a[0];
  EXPECT_TRUE(same_bits(a, x / x[0]));
  a = x.clone().view({250, 400});
  a += a[0];
  EXPECT_TRUE(same_bits(a, x.view({250, 400}) + x.view({250, 400})[0]));
  a = x.slice(0, 0, 90000).clone().view({300, 300});
  a -= a.t();
  EXPECT_TRUE(same_bits(a, x.slice(0, 0, 90000).view({300, 300}) - x.slice(0, 0, 90000).view({300, 300}).t()));
  a = x.clone();
  a *= a;
  EXPECT_TRUE(same_bits(a, x * x));
}

}  // namespace
}  // namespace tandem::testing
