// Index tensors, masks and scattering: second derivatives, out= forms and repeated places. Values are compared with
// PyTorch through tests/cases.
#include "tandem/ops/advanced_index.h"

#include <gtest/gtest.h>

#include "support/device.h"
#include "support/op_test.h"
#include "tandem/amp/autocast.h"
#include "tandem/base/error.h"
#include "tandem/ops/masked.h"
#include "tandem/ops/out.h"
#include "tandem/ops/scatter.h"

namespace tandem {
namespace {

using namespace testing;

class AdvancedIndex : public OpTest {};

TEST_F(AdvancedIndex, SecondDerivatives) {
  const Tensor rows = tensor({2, 0, -1}), columns = tensor({1, 1, 3}), unique = tensor({2, 0, 1});
  const Tensor mask = tensor({true, false, true}), index = tensor({{0, 2, 2, 1}, {1, 1, 0, 2}});
  check_twice(
      [=](In v) -> Out {
        return {index_put(v[0], {rows, columns}, v[1], true).square()};
      },
      {f64({3, 4}), f64({3})});
  check_twice([=](In v) -> Out { return {tandem::index(v[0], {rows, columns}).square()}; }, {f64({3, 4})});
  check_twice(
      [=](In v) -> Out {
        return {index_put(v[0], {unique, columns}, v[1]).square()};
      },
      {f64({3, 4}), f64({3})});
  check_twice([=](In v) -> Out { return {tandem::index(v[0], {mask}).square()}; }, {f64({3, 2})});
  check_twice([=](In v) -> Out { return {masked_fill(v[0], mask, v[1]).square()}; }, {f64({2, 3}), f64({})});
  check_twice([=](In v) -> Out { return {index_copy(v[0], 0, unique, v[1]).square()}; }, {f64({3, 2}), f64({3, 2})});
  for (const char* reduce : {"sum", "prod", "mean", "amax"}) {
    check_twice([=](In v) -> Out { return {scatter_reduce(v[0], 0, index, v[1], reduce).square()}; },
                {f64({3, 4}), f64({2, 4})});
  }
}

TEST_F(AdvancedIndex, OutFormsGiveTheValuesOfThePlainOps) {
  const Tensor x = randn({4, 3}), rows = tensor({3, 1}), index = tensor({{0, 3, 2}, {1, 1, 0}}), src = randn({2, 3});
  const Tensor part = empty({2, 3}), all = empty({4, 3});
  EXPECT_TRUE(same_bits(gather_out(part, x, 0, index), gather(x, 0, index)));
  EXPECT_TRUE(same_bits(index_select_out(part, x, 0, rows), index_select(x, 0, rows)));
  EXPECT_TRUE(same_bits(take_out(part, x, index), take(x, index)));
  EXPECT_TRUE(same_bits(scatter_out(all, x, 0, rows.unsqueeze(1).expand({2, 3}), src), index_copy(x, 0, rows, src)));
}

TEST_F(AdvancedIndex, TheLastOfSeveralValuesWinsOnTheCpu) {
  TANDEM_TEST_ON_HOST();
  const Tensor x = zeros({3}), places = tensor({1, 1, 2, 1}), v = tensor({1.0, 2.0, 3.0, 4.0});
  const Tensor expected = tensor({0.0, 4.0, 3.0});
  EXPECT_TRUE(same_bits(index_put(x, {places}, v), expected));
  EXPECT_TRUE(same_bits(scatter(x, 0, places, v), expected));
  EXPECT_TRUE(same_bits(index_copy(x, 0, places, v), expected));
  EXPECT_TRUE(same_bits(put(x, places, v), expected));
}

TEST_F(AdvancedIndex, PromotesInAutocastRegions) {
  const Tensor x = randn({4}), low = randn({2}).to(kHalf), rows = tensor({3, 1});
  EXPECT_THROWS(index_put(x, {rows}, low), DTypeError, "index_put: ", "f32", "f16");
  amp::AutocastGuard autocast(device_type(), kHalf);
  EXPECT_EQ(index_put(x, {rows}, low).dtype(), kFloat);
  EXPECT_EQ(index_put(x.to(kHalf), {rows}, low.to(kFloat), true).dtype(), kFloat);
  EXPECT_EQ(index_copy(x, 0, rows, low).dtype(), kFloat);
}

}  // namespace
}  // namespace tandem
