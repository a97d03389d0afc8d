// Splits, copies and geometry changed in place: identity, memory and history. Values are compared with PyTorch through
// tests/cases.
#include "support/op_test.h"
#include "tandem/amp/autocast.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/ops.h"

namespace tandem::testing {
namespace {

TEST(Split, PartsAreViews) {
  const Tensor x = zeros({4, 3});
  const std::vector<Tensor> parts = x.split(2), slices = x.unbind(1);
  ASSERT_EQ(parts.size(), 2U);
  ASSERT_EQ(slices.size(), 3U);
  parts[1].fill_(1);
  slices[0].fill_(2);
  EXPECT_EQ(x.sum().item<float>(), 12.0F);
}

TEST(Split, PartsWithAHistoryCannotBeChangedInPlace) {
  const Tensor w = ones({4}).requires_grad_();
  EXPECT_THROWS((w * 2).split(2)[0].mul_(2), AutogradError, "mul_: ", "clone()");
  EXPECT_THROWS((w * 2).chunk(2)[0].mul_(2), AutogradError, "mul_: ", "clone()");
}

TEST(Split, SectionsOfTensorSplitCanBeChangedInPlace) {
  const Tensor w = ones({5}).requires_grad_(), y = w * 1;
  y.tensor_split(2)[0].mul_(2);
  y.sum().backward();
  EXPECT_TRUE(equal(w.grad(), tensor({2.0F, 2.0F, 2.0F, 1.0F, 1.0F})));
}

TEST(Shuffles, AreCopies) {
  const Tensor x = arange(4.0).reshape({1, 4, 1, 1});
  for (const Tensor& y : {pixel_shuffle(x, 2), pixel_shuffle(x, 1), pixel_unshuffle(x.view({1, 1, 2, 2}), 2),
                          channel_shuffle(x, 1), channel_shuffle(x, 4), chain_matmul({x.view({2, 2})})}) {
    EXPECT_FALSE(share_memory(x, y));
  }
}

TEST(Split, GradientsOfPartsAreJoined) {
  const Tensor w = ones({4}).requires_grad_();
  const std::vector<Tensor> parts = w.split(1);
  (parts[1] * 2 + parts[3] * 3).sum().backward();
  EXPECT_EQ(w.grad()[0].item<float>(), 0.0F);
  EXPECT_EQ(w.grad()[1].item<float>(), 2.0F);
  EXPECT_EQ(w.grad()[3].item<float>(), 3.0F);
}

TEST(Copies, NeverShareMemory) {
  const Tensor x = randn({3, 4});
  for (const Tensor& y : {x.repeat({1, 1}), x.tile({1}), x.repeat_interleave(1, 0), x.narrow_copy(0, 0, 3), x.flip({}),
                          x.roll(0), rot90(x, 0), pad(x, {0, 0}), tril(x, 9), diag(x)}) {
    EXPECT_FALSE(share_memory(x, y));
    EXPECT_TRUE(y.is_contiguous());
  }
  EXPECT_TRUE(repeat(ones({3}), {2, 1}).is_contiguous());
}

TEST(Pad, KeepsTheMemoryOrder) {
  const Tensor x = randn({2, 3, 4, 5}).contiguous(kChannelsLast);
  for (const char* mode : {"constant", "reflect", "replicate", "circular"}) {
    const Tensor y = pad(x, {1, 1, 2, 1}, mode);
    EXPECT_TRUE(y.is_contiguous(kChannelsLast)) << mode;
    EXPECT_TRUE(equal(y, pad(x.contiguous(), {1, 1, 2, 1}, mode))) << mode;
  }
}

TEST(ViewsInPlace, ChangeTheGeometryForAllHolders) {
  const Tensor x = randn({2, 3}), same = x, before = x.clone(), view = x[0];
  const uint64_t version = x._version();
  x.transpose_(0, 1);
  EXPECT_EQ(same.sizes(), IntArrayRef({3, 2}));
  EXPECT_TRUE(equal(same.contiguous(), before.t().contiguous()));
  EXPECT_EQ(view.sizes(), IntArrayRef({3}));
  EXPECT_GT(x._version(), version);
  x.t_().unsqueeze_(0).squeeze_();
  EXPECT_TRUE(equal(x, before));
}

TEST(ViewsInPlace, KeepTheHistory) {
  const Tensor w = randn({2, 3}).requires_grad_(), y = w * 2;
  y.transpose_(0, 1).unsqueeze_(1);
  EXPECT_EQ(y.sizes(), IntArrayRef({3, 1, 2}));
  const Tensor factor = randn({3, 1, 2});
  (y * factor).sum().backward();
  EXPECT_TRUE(equal(w.grad(), factor.squeeze().t().contiguous() * 2));
}

TEST(ViewsInPlace, KeepTheHistoryWithoutGradMode) {
  const Tensor w = randn({2, 3}).requires_grad_(), y = w * 2;
  {
    NoGradGuard no_grad;
    y.t_();
  }
  y.sum().backward();
  EXPECT_EQ(w.grad().sizes(), IntArrayRef({2, 3}));
}

TEST(ViewsInPlace, OfAViewLeaveTheBase) {
  const Tensor w = randn({2, 2, 3}).requires_grad_(), base = w * 1, view = base[0];
  view.t_();
  view.mul_(3);  // rewrites the history of the base
  EXPECT_EQ(base.sizes(), IntArrayRef({2, 2, 3}));
  base.sum().backward();
  EXPECT_TRUE(equal(w.grad()[0].contiguous(), full({2, 3}, 3.0)));
  EXPECT_TRUE(equal(w.grad()[1].contiguous(), ones({2, 3})));
}

TEST(ViewsInPlace, SavedTensorsNoticeTheChange) {
  const Tensor w = randn({2, 2}).requires_grad_(), x = randn({2, 2}), y = w * x;
  x.t_();
  EXPECT_THROW(y.sum().backward(), AutogradError);
}

TEST(ViewsInPlace, AutocastCastsAgain) {
  const Tensor w = randn({2, 3}).requires_grad_(), x = randn({4, 3}), z = randn({4, 2});
  const amp::AutocastGuard on(x.device().type(), kBFloat16);
  const Tensor y = linear(x, w);
  {
    NoGradGuard no_grad;
    w.t_();
  }
  EXPECT_EQ(linear(z, w).sizes(), IntArrayRef({4, 3}));
}

TEST(RepeatInterleave, ReturnsIndicesInTheDtypeOfRepeats) {
  EXPECT_EQ(repeat_interleave(tensor({1, 2}, kInt)).dtype(), kInt);
  EXPECT_EQ(repeat_interleave(tensor({1, 2}, kLong)).dtype(), kLong);
}

TEST(TriuIndices, VisitsOnlyRowsWithElements) {
  EXPECT_EQ(triu_indices(int64_t{1} << 62, 3, -1).sizes(), IntArrayRef({2, 9}));
  EXPECT_THROWS(tril_indices(int64_t{1} << 62, 1L << 62, 0), ShapeError, "tril_indices: ", "int64");
}

}  // namespace
}  // namespace tandem::testing
