// What the case table does not show of sorting, scans and search. Values are compared with PyTorch through tests/cases.
#include "tandem/ops/sort.h"

#include <cmath>

#include "support/op_test.h"
#include "tandem/autograd/grad_mode.h"

namespace tandem::testing {
namespace {

class SortTest : public OpTest {};

TEST_F(SortTest, OutFunctionsWriteValuesAndIndices) {
  const Tensor x = randn({4, 6}), values = full({4, 6}, 7.0), indices = zeros({4, 6}, kLong);
  const auto [sorted, order] = sort(x, 0, true);
  const auto [v, i] = sort_out(values, indices, x, 0, true);
  EXPECT_TRUE(v.is_same(values) && i.is_same(indices));
  EXPECT_TRUE(same_bits(values, sorted) && same_bits(indices, order));

  const auto [top, places] = topk(x, 2, 1, false);
  const Tensor few = empty({4, 2}, kDouble), at = empty({4, 2}, kLong);
  topk_out(few, at, x, 2, 1, false);
  EXPECT_TRUE(same_bits(few, top.to(kDouble)) && same_bits(at, places));

  const Tensor out = empty({4, 6});
  EXPECT_TRUE(same_bits(cumsum_out(out, x, 1), cumsum(x, 1)));
  EXPECT_TRUE(same_bits(cumprod_out(out, x, 0), cumprod(x, 0)));
}

TEST_F(SortTest, OutMayBeTheInput) {
  const Tensor x = randn({9}), want = std::get<0>(sort(x)), order = argsort(x), indices = empty({9}, kLong);
  sort_out(x, indices, x);
  EXPECT_TRUE(same_bits(x, want) && same_bits(indices, order));
}

TEST_F(SortTest, RefusedOutCallKeepsBothOutputs) {
  const Tensor x = randn({4}), values = full({4}, 7.0), indices = zeros({3}, kLong);
  EXPECT_THROWS(sort_out(values, indices, x), ShapeError, "sort_out: ");
  EXPECT_TRUE(same_bits(values, full({4}, 7.0)));
}

TEST_F(SortTest, EachNanIsDistinct) {
  const auto [values, inverse, counts] = _unique2(tensor({NAN, 1.0F, NAN, 1.0F}), true, true, true);
  EXPECT_EQ(to_string(values.sizes()), "[3]");
  EXPECT_EQ(values_of(inverse), (std::vector<double>{1, 0, 2, 0}));
  EXPECT_EQ(values_of(counts), (std::vector<double>{2, 1, 1}));
}

TEST_F(SortTest, NumbersAreFoundBesideNan) {
  for (int64_t nans = 0; nans <= 9; ++nans) {
    const Tensor x = randn({9});
    x.narrow(0, 0, nans).fill_(NAN);
    EXPECT_TRUE(near(isin(x, x), eq(x, x), kExact)) << nans;
    const Tensor sorted = std::get<0>(sort(x)), place = searchsorted(sorted, sorted.narrow(0, 0, 9 - nans));
    EXPECT_TRUE(near(place, arange(9 - nans).to(kLong), kExact)) << nans;
  }
}

TEST_F(SortTest, UniqueGivesOnlyWhatIsAskedFor) {
  const auto [values, inverse] = _unique(tensor({2, 1, 2}, kLong), false, true);
  EXPECT_EQ(values_of(values), (std::vector<double>{1, 2}));
  EXPECT_EQ(values_of(inverse), (std::vector<double>{1, 0, 1}));
  const auto [rows, none, counts] = unique_dim(zeros({0, 3}), 0);
  EXPECT_EQ(to_string(rows.sizes()), "[0, 3]");
  EXPECT_EQ(none.numel() + counts.numel(), 0);
  EXPECT_EQ(values_of(std::get<0>(unique_consecutive(tensor({1, 1, 2, 1}, kLong)))), (std::vector<double>{1, 2, 1}));
}

TEST_F(SortTest, QuantilesOfLowDtypesAreComputedInF32) {
  const Tensor x = arange(11, kFloat).to(kHalf);
  const Tensor y = quantile(x, 0.25);
  EXPECT_EQ(y.dtype(), kHalf);
  EXPECT_EQ(y.item<double>(), 2.5);
  EXPECT_EQ(quantile(x, tensor({0.25, 1.0})).dtype(), kHalf);
}

TEST_F(SortTest, GradientOfCumprodWithZerosOfAllRanks) {
  check_twice([](In v) -> Out { return {cumprod(v[0], 1)}; },
              {tensor({{2.0, 0.0, 3.0, 0.0}, {1.0, 2.0, 0.0, 4.0}}, kDouble).requires_grad_()});
  check_twice([](In v) -> Out { return {cumprod(v[0], 0)}; }, {tensor(0.0, kDouble).requires_grad_()});
}

TEST_F(SortTest, InPlaceScansAreRecorded) {
  const Tensor x = leaf({3, 4}), y = x.clone();
  y.cumsum_(1);
  const Tensor z = y.clone();
  z.cumprod_(0);
  z.sum().backward();
  const Tensor x2 = x.detach().requires_grad_();
  cumprod(cumsum(x2, 1), 0).sum().backward();
  EXPECT_TRUE(same_bits(x.grad(), x2.grad()));
}

}  // namespace
}  // namespace tandem::testing
