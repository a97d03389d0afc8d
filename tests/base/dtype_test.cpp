// Dtypes: promotion against PyTorch's table, names, sizes, C++ types.
#include "tandem/base/dtype.h"

#include <gtest/gtest.h>

#include <string>

#include "support/throws.h"

namespace tandem {
namespace {

TEST(DType, PromotionMatchesPyTorch) {
  int pairs = 0;
#define X(A, B, EXPECTED)                                                     \
  EXPECT_EQ(promote_types(DType::A, DType::B), DType::EXPECTED) << #A " " #B; \
  ++pairs;
#define REFUSED(A, B)                                                                                                  \
  EXPECT_THROWS(promote_types(DType::A, DType::B), DTypeError, name(DType::A).data(), name(DType::B).data(), ".to()"); \
  ++pairs;
#include "golden/promotion.inc"
#undef X
#undef REFUSED
  EXPECT_EQ(pairs, kNumDTypes * kNumDTypes);
}

TEST(DType, SizesAndCppTypesAgree) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType t = static_cast<DType>(i);
    visit_dtype(t, [&](auto zero) {
      EXPECT_EQ(sizeof(zero), element_size(t));
      EXPECT_EQ(dtype_of<decltype(zero)>, t);
      EXPECT_TRUE((std::is_same_v<DTypeToCpp<DType::BF16>::type, BFloat16>));
    });
  }
}

TEST(DType, NamesAndCategories) {
  EXPECT_EQ(name(kHalf), "f16");
  EXPECT_EQ(name(kBFloat16), "bf16");
  EXPECT_EQ(name(kBool), "bool");
  EXPECT_EQ(name(kLong), "i64");
  for (DType t : {kHalf, kBFloat16, kFloat, kDouble}) {
    EXPECT_TRUE(is_floating_point(t));
    EXPECT_FALSE(is_integral(t, true));
  }
  for (DType t : {kByte, kChar, kShort, kInt, kLong}) {
    EXPECT_FALSE(is_floating_point(t));
    EXPECT_TRUE(is_integral(t, false));
  }
  for (DType t : {kFloat8_e4m3fn, kFloat8_e5m2, kFloat8_e8m0fnu}) {
    EXPECT_TRUE(is_floating_point(t) && is_float8(t));
    EXPECT_FALSE(is_integral(t, true) || is_differentiable(t) || is_reduced_floating_point(t));
  }
  EXPECT_TRUE(is_differentiable(kBFloat16) && !is_differentiable(kInt) && !is_float8(kBFloat16));
  EXPECT_TRUE(is_integral(kBool, true));
  EXPECT_FALSE(is_integral(kBool, false));
  EXPECT_TRUE(is_reduced_floating_point(kHalf) && is_reduced_floating_point(kBFloat16));
  EXPECT_FALSE(is_reduced_floating_point(kFloat));
}

}  // namespace
}  // namespace tandem
