// str and TANDEM_ASSERT.
#include "tandem/base/assert.h"

#include <gtest/gtest.h>

#include "support/throws.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/print.h"

namespace tandem {
namespace {

TEST(Str, JoinsWhatTheArgumentsPrint) {
  EXPECT_EQ(str(), "");
  EXPECT_EQ(str("x is ", zeros({2, 3}).sizes(), " of ", kFloat, ", ", 2.5), "x is [2, 3] of float, 2.5");
}

TEST(Assert, ThrowsTheMessage) {
  int evaluated = 0;
  const auto count = [&] { return ++evaluated; };
  TANDEM_ASSERT(1 + 1 == 2, "never ", count());
  EXPECT_EQ(evaluated, 0);
  EXPECT_THROWS(TANDEM_ASSERT(false, "got ", count(), " of ", 3), Error, "got 1 of 3", "assert_test.cpp:");
  EXPECT_THROWS(TANDEM_ASSERT(evaluated > 5), Error, "expected evaluated > 5 to be true");
}

}  // namespace
}  // namespace tandem
