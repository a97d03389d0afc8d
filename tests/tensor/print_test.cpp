// Printing, compared with the text that libtorch prints for the same tensors.
#include "tandem/tensor/print.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/memory_limit.h"
#include "support/throws.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

using Values = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Values range(int n, double start, double step) {
  Values v;
  for (int i = 0; i < n; ++i) v.push_back(start + i * step);
  return v;
}

const std::map<std::string, std::string>& expected() {
  static const std::map<std::string, std::string> texts = {
#include "golden/print_expected.inc"
  };
  return texts;
}

Tensor make(const Values& values, const std::vector<int64_t>& sizes, DType dtype) {
  const Tensor x = empty(sizes, TensorOptions(dtype).device(kCPU));
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < values.size(); ++i) x.raw<T>()[i] = Scalar(values[i]).to<T>();
  });
  return x;
}

#define STRIP(...) __VA_ARGS__
#define X(NAME, VALUES, SIZES, DTYPE) \
  TEST(Print, NAME) { EXPECT_EQ(to_string(make(STRIP VALUES, STRIP SIZES, DTYPE)), expected().at(#NAME)); }
#include "golden/print_cases.inc"
#undef X

TEST(Print, Undefined) { EXPECT_EQ(to_string(Tensor()), expected().at("undefined")); }

TEST(Print, StreamAndStridedViewsAgree) {
  const Tensor x = make(range(6, 1, 1), {3, 2}, kFloat);
  std::ostringstream out;
  out << make_view(x, {2, 3}, {1, 2}, 0);
  EXPECT_EQ(out.str(), " 1  3  5\n 2  4  6\n[ CPUFloatType{2,3} ]");
}

TEST(Print, NarrowLineHoldsOneColumn) {
  std::ostringstream out;
  print(out, make({1, 2}, {1, 2}, kFloat), 1);
  EXPECT_EQ(out.str(), "Columns 1 to 1 1\n\nColumns 2 to 2 2\n[ CPUFloatType{1,2} ]");
}

TEST(Print, SizesDtypesAndDevices) {
  const Tensor x = make({1, 2}, {1, 2}, kBFloat16);
  std::ostringstream out;
  out << x.sizes() << ' ' << x.strides() << ' ' << Dims{3} << ' ' << Dims() << ' ' << x.dtype() << ' ' << kFloat << ' '
      << x.device() << ' ' << Device("cuda:1") << ' ' << kCUDA;
  EXPECT_EQ(out.str(), "[1, 2] [2, 1] [3] [] c10::BFloat16 float cpu cuda:1 cuda");
}

TEST(Print, NumbersPrintAsInCpp) {
  std::ostringstream out, expected;
  out << Scalar(7) << ' ' << Scalar(0.1) << ' ' << Scalar(1e20) << ' ' << Scalar(kInfinity) << ' ' << Scalar(true)
      << ' ' << Half(0.5F) << ' ' << make({-3}, {}, kInt).item();
  expected << 7 << ' ' << 0.1 << ' ' << 1e20 << ' ' << kInfinity << ' ' << "true" << ' ' << 0.5 << ' ' << -3;
  EXPECT_EQ(out.str(), expected.str());
}

TEST(Print, TextLargerThanTheMemoryIsRefused) {
  const Tensor one = make({1}, {1}, kFloat);
  EXPECT_THROWS(to_string(make_view(one, {int64_t{1} << 60}, {0}, 0)), OutOfMemoryError,
                "print: ", "[1152921504606846976] f32", "print a part");
  if (!testing::MemoryLimit::is_possible()) GTEST_SKIP() << "memory cannot be limited";
  const testing::MemoryLimit limit(32 << 20);
  EXPECT_THROWS(to_string(make_view(one, {8 << 20}, {0}, 0)), OutOfMemoryError, "print: ", "[8388608] f32");
}

TEST(Print, DoesNotChangeTheVersion) {
  const Tensor x = make({1}, {1}, kFloat);
  const uint64_t version = x._version();
  to_string(x);
  EXPECT_EQ(x._version(), version);
}

}  // namespace
}  // namespace tandem
