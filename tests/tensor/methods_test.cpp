// Tensor methods: data(), conversions and copies like another tensor and by memory format, hooks that return nothing.
#include "support/compare.h"
#include "support/device.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/cast_cache.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

Tensor leaf(IntArrayRef sizes) { return ones(sizes).requires_grad_(); }

// ---- data()

TEST(Data, SharesMemoryWithoutHistory) {
  const Tensor w = leaf({2, 3}), y = w * 2;
  for (const Tensor& x : {w, y, w.t(), y[1]}) {
    const Tensor d = x.data();
    EXPECT_EQ(d.raw_bytes(), x.raw_bytes());
    EXPECT_TRUE(d.sizes() == x.sizes() && d.strides() == x.strides() && d.dtype() == x.dtype());
    EXPECT_TRUE(d.is_leaf() && !d.requires_grad());
  }
  w.data().fill_(7);  // as in libtorch: allowed for a leaf that requires grad, without NoGradGuard
  EXPECT_TRUE(same_bits(w.detach(), full({2, 3}, 7.0F)));
  EXPECT_TRUE(w.is_leaf() && w.requires_grad());
  EXPECT_THROWS(Tensor().data(), StateError, "undefined tensor", "give it a value first");
}

TEST(Data, HasItsOwnVersion) {
  const Tensor w = leaf({3}), x = ones({3});
  const Tensor y = (w * x).sum();
  const uint64_t version = x._version();
  const Tensor d = x.data();
  d.mul_(5);
  EXPECT_EQ(x._version(), version);
  y.backward();  // not detected, as in libtorch: the gradient uses the new values
  EXPECT_TRUE(same_bits(w.grad(), full({3}, 5.0F)));

  const Tensor z = (w * x).sum();
  x.detach().mul_(2);  // detach() shares the version
  EXPECT_THROWS(z.backward(), AutogradError, "mul");
}

TEST(Data, OutlivesItsTensor) {
  Tensor d = full({1000}, 3).data();
  const Tensor other = full({1000}, 4);
  EXPECT_TRUE(same_bits(d, full({1000}, 3)));
}

TEST(Data, AutocastDetectsWritesThroughIt) {
  const Tensor x = ones({1, 1}), w = leaf({1, 1});
  const NoGradGuard no_grad;
  const Tensor held = w.data();
  {
    const amp::AutocastGuard autocast(device_type(), kBFloat16);
    EXPECT_EQ(mm(x, w).item<float>(), 1);
    w.data().fill_(2);
    EXPECT_EQ(mm(x, w).item<float>(), 2) << "cast again after the call";
  }
  held.fill_(3);
  const amp::AutocastGuard autocast(device_type(), kBFloat16);
  EXPECT_EQ(mm(x, w).item<float>(), 3) << "no cast outlives its region";
}

// ---- conversions

TEST(Conversions, LikeAnotherTensor) {
  const Tensor x = leaf({2, 2}), like = zeros({5}, kBFloat16);
  EXPECT_EQ(x.to(like).dtype(), kBFloat16);
  EXPECT_EQ(x.type_as(like).dtype(), kBFloat16);
  EXPECT_TRUE(x.to(zeros({1})).is_same(x));
  EXPECT_TRUE(x.type_as(x).is_same(x));
  EXPECT_FALSE(x.to(x, false, true).is_same(x)) << "copy";
  x.to(like).sum().backward();
  EXPECT_TRUE(same_bits(x.grad(), ones({2, 2})));
  EXPECT_THROWS(x.to(Tensor()), StateError, "to: ", "other is an undefined tensor", "give it a value first");
  EXPECT_THROWS(x.type_as(Tensor()), StateError, "type_as: ", "other is an undefined tensor");
  EXPECT_THROWS(Tensor().type_as(x), StateError, "type_as: ", "undefined tensor", "give it a value first");
}

TEST(Conversions, MemoryFormats) {
  const Tensor x = arange(24, kFloat).view({1, 2, 3, 4}).requires_grad_();
  const Tensor last = x.to(kChannelsLast);
  EXPECT_TRUE(last.is_contiguous(kChannelsLast) && !last.is_contiguous());
  EXPECT_TRUE(same_bits(last, x));
  EXPECT_TRUE(last.to(kChannelsLast).is_same(last));
  EXPECT_FALSE(last.to(kChannelsLast, false, true).is_same(last));
  EXPECT_TRUE(x.to(MemoryFormat::Preserve).is_same(x));
  EXPECT_TRUE(last.to(MemoryFormat::Contiguous).is_contiguous());
  EXPECT_TRUE(same_bits(last.to(MemoryFormat::Contiguous), x));
  last.sum().backward();
  EXPECT_TRUE(same_bits(x.grad(), ones({1, 2, 3, 4})));

  const Tensor both = x.to(TensorOptions(kHalf).memory_format(kChannelsLast));  // in one pass
  EXPECT_TRUE(both.is_contiguous(kChannelsLast) && !both.is_contiguous() && both.dtype() == kHalf);
  EXPECT_TRUE(same_bits(both, x.to(kHalf)));
  EXPECT_TRUE(empty({1, 2, 3, 4}, kChannelsLast).is_contiguous(kChannelsLast));

  EXPECT_THROWS(ones({2, 3}).to(kChannelsLast), ShapeError, "to: ", "rank 4", "[2, 3]", "Contiguous");
  EXPECT_THROWS(Tensor().to(kChannelsLast), StateError, "undefined tensor", "give it a value first");
}

TEST(Conversions, CloneInAMemoryFormat) {
  const Tensor x = arange(24, kFloat).view({1, 2, 3, 4}).requires_grad_();
  const Tensor last = x.clone(kChannelsLast);
  EXPECT_TRUE(last.is_contiguous(kChannelsLast) && !last.is_contiguous());
  EXPECT_TRUE(same_bits(last, x));
  EXPECT_TRUE(last.clone().strides() == last.strides()) << "Preserve is the default";
  EXPECT_TRUE(last.clone(MemoryFormat::Contiguous).is_contiguous());
  EXPECT_TRUE(same_bits(clone(x.transpose(1, 2), MemoryFormat::Contiguous), x.transpose(1, 2)));
  last.sum().backward();
  EXPECT_TRUE(same_bits(x.grad(), ones({1, 2, 3, 4})));
  EXPECT_THROWS(ones({2, 3}).clone(kChannelsLast), ShapeError, "clone: ", "rank 4", "[2, 3]", "Contiguous");
}

// ---- hooks

TEST(Hooks, ReturningNothingKeepTheGradient) {
  const Tensor w = leaf({2});
  double seen = 0;
  int calls = 0;
  w.register_hook([&](const Tensor& g) { seen += g.sum().item<double>(); });
  const unsigned handle =
      w.register_hook([calls = &calls](Tensor g) mutable { *calls += static_cast<int>(g.numel()); });
  w.register_hook([](Tensor g) { return g * 10; });  // a hook that returns a gradient
  (w * 3).sum().backward();
  EXPECT_EQ(seen, 6);
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(same_bits(w.grad(), full({2}, 30.0F)));
  w.remove_hook(handle);
  (w * 3).sum().backward();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(seen, 12);
  EXPECT_THROWS(ones({2}).register_hook([](const Tensor&) {}), AutogradError, "register_hook: ", "[2]",
                "requires_grad_()");
}

}  // namespace
}  // namespace tandem::testing
