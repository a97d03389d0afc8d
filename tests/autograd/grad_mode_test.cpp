// Guards: NoGradGuard, AutoGradMode, InferenceMode; detach.
#include "tandem/autograd/grad_mode.h"

#include <gtest/gtest.h>

#include <thread>

#include "autograd/support.h"

namespace tandem::testing {
namespace {

TEST(NoGradGuard, StopsRecording) {
  const Tensor x = leaf({2});
  NoGradGuard no_grad;
  const Tensor y = x * x;
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(y.is_leaf());
  EXPECT_EQ(y.grad_fn(), nullptr);
}

TEST(NoGradGuard, RestoresTheModeAfterAnException) {
  EXPECT_TRUE(GradMode::is_enabled());
  try {
    NoGradGuard outer;
    {
      AutoGradMode inner(true);
      EXPECT_TRUE(GradMode::is_enabled());
    }
    EXPECT_FALSE(GradMode::is_enabled());
    throw StateError("on purpose");
  } catch (const StateError&) {
  }
  EXPECT_TRUE(GradMode::is_enabled());
}

TEST(NoGradGuard, DoesNotAffectOtherThreads) {
  NoGradGuard no_grad;
  bool enabled = false;
  std::thread([&] { enabled = GradMode::is_enabled(); }).join();
  EXPECT_TRUE(enabled);
}

TEST(NoGradGuard, LeavesCanStillBeCreated) {
  NoGradGuard no_grad;
  const Tensor x = zeros({2}, TensorOptions().requires_grad(true));
  EXPECT_TRUE(x.requires_grad());
}

TEST(AutoGradMode, RecordsInsideNoGradGuard) {
  const Tensor x = leaf({3});
  NoGradGuard no_grad;
  Tensor y;
  {
    AutoGradMode on(true);
    y = x * x;
  }
  y.backward();
  EXPECT_TRUE(equals(x.grad(), {6}));
}

TEST(InferenceMode, MakesTensorsWithoutHistory) {
  const Tensor x = leaf({3});
  InferenceMode inference;
  EXPECT_TRUE(InferenceMode::is_enabled());
  EXPECT_FALSE(GradMode::is_enabled());
  EXPECT_FALSE((x * x).requires_grad());
}

TEST(InferenceMode, RestoresTheModes) {
  {
    InferenceMode inference;
    {
      InferenceMode off(false);
      EXPECT_FALSE(InferenceMode::is_enabled());
    }
    EXPECT_TRUE(InferenceMode::is_enabled());
  }
  EXPECT_FALSE(InferenceMode::is_enabled());
  EXPECT_TRUE(GradMode::is_enabled());
}

TEST(InferenceMode, ItsTensorsCannotBeRecorded) {
  const Tensor x = leaf({3});
  Tensor y;
  {
    InferenceMode inference;
    y = x * x;
  }
  EXPECT_THROWS(x * y, AutogradError, "mul", "InferenceMode", "clone");
  EXPECT_THROWS(y.requires_grad_(), AutogradError, "InferenceMode");
  EXPECT_NO_THROW(y * y);  // nothing to record
  const Tensor z = x * y.clone();
  z.backward();
  EXPECT_TRUE(equals(x.grad(), {9}));
}

TEST(InferenceMode, FactoriesMakeInferenceTensorsToo) {
  const Tensor x = leaf({3});
  Tensor y;
  {
    InferenceMode inference;
    y = ones({1});
  }
  EXPECT_THROW(x * y, AutogradError);
}

TEST(InferenceMode, CanBeSwitchedOffInside) {
  const Tensor x = leaf({3});
  {
    InferenceMode inference;
    {
      InferenceMode off(false);
      EXPECT_TRUE(GradMode::is_enabled());
      const Tensor w = leaf({2}), y = w * x;
      EXPECT_TRUE(y.requires_grad());
      y.backward();
      EXPECT_TRUE(equals(w.grad(), {3}));
    }
    EXPECT_FALSE(GradMode::is_enabled());
  }
  NoGradGuard no_grad;
  {
    InferenceMode off(false);
    EXPECT_TRUE(GradMode::is_enabled());  // as in libtorch
  }
  EXPECT_FALSE(GradMode::is_enabled());
}

TEST(InferenceMode, ItsTensorsCannotBeChangedInPlaceOutside) {
  const Tensor x = leaf({3, 4});
  Tensor y;
  {
    InferenceMode inference;
    y = ones({2});
    y.mul_(2);
  }
  const char* message = "Inplace update to inference tensor outside InferenceMode is not allowed";
  EXPECT_THROWS(y.mul_(2), AutogradError, "mul_", message, "clone()");
  EXPECT_THROWS(y.add_(x), AutogradError, "add_", message);
  EXPECT_THROWS(y.view({2, 1}).fill_(0), AutogradError, "fill_", message);
  EXPECT_THROWS(y.detach().zero_(), AutogradError, message);
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(equals(y, {2, 2}));
  const Tensor z = y.clone();
  z.mul_(x);
  z.sum().backward();
  EXPECT_TRUE(equals(x.grad(), {2, 2}));
  {
    InferenceMode again;
    y.mul_(2);
  }
  NoGradGuard no_grad;
  y.mul_(2);
  EXPECT_TRUE(equals(y, {8, 8}));
}

TEST(InferenceMode, ViewsOfOrdinaryTensorsStayOrdinary) {
  const Tensor x = leaf({3, 4}), c = tensor({1.0, 2.0, 5.0});
  Tensor view, of_leaf;
  {
    InferenceMode inference;
    view = c.narrow(0, 0, 2).view({2, 1}).squeeze(1);
    of_leaf = x.narrow(0, 0, 1);
  }
  (view * x).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {1, 2}));
  EXPECT_THROWS(of_leaf.add_(leaf({1})), AutogradError, "view of a leaf");
  view.add_(x);  // writes into c
  c.sum().backward();
  EXPECT_TRUE(equals(x.grad(), {2, 3}));
}

TEST(Detach, SharesDataAndVersionWithoutHistory) {
  const Tensor x = leaf({3});
  const Tensor y = x * 2, d = y.detach();
  EXPECT_FALSE(d.requires_grad());
  EXPECT_TRUE(d.is_leaf());
  EXPECT_EQ(d.const_data_ptr<float>(), y.const_data_ptr<float>());
  d.add_(1);
  EXPECT_TRUE(equals(y, {7}));
  EXPECT_EQ(d._version(), y._version());
}

TEST(Detach, StopsTheGradient) {
  const Tensor x = leaf({3});
  (x * x.detach()).backward();
  EXPECT_TRUE(equals(x.grad(), {3}));
}

TEST(Detach, WritesInvalidateSavedTensors) {
  const Tensor x = leaf({3});
  const Tensor h = x * 2, y = h * h;
  h.detach().add_(1);
  EXPECT_THROWS(y.backward(), AutogradError, "mul", "changed in place");
}

TEST(Detach, InPlace) {
  const Tensor x = leaf({3});
  const Tensor y = x * 2;
  y.detach_();
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(y.is_leaf());
  EXPECT_THROWS((x * 2).view({1, 1}).detach_(), AutogradError, "detach_", "view");
}

TEST(Detach, ResultsInPlaceThatEndInAViewOfTheirOwn) {
  const Tensor w = ones({2, 3}), x = ones({2, 4, 3}).requires_grad_();
  for (const Tensor& y : {linear(x, w, {}), max_pool1d(x, {3}), unsqueeze(x * 2, 0)}) {
    ASSERT_TRUE(y.is_view());
    const Tensor loss = y.sum();
    y.detach_();
    EXPECT_FALSE(y.requires_grad() || y.is_view());
    y.add_(1);
    x.mutable_grad() = Tensor();
    loss.backward();
    EXPECT_TRUE(x.grad().defined());
  }
  const Tensor y = linear(x, w, {}), part = y[0];
  EXPECT_THROWS(part.detach_(), AutogradError, "detach_", "view of another tensor");
}

TEST(SetData, KeepsTheTensorsIdentity) {
  const Tensor x = leaf({1, 2});
  const Tensor handle = x;
  x.set_data(tensor({5.0, 6.0, 7.0}));
  EXPECT_TRUE(equals(handle, {5, 6, 7}));
  EXPECT_TRUE(handle.requires_grad());
  (handle * handle).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {10, 12, 14}));
}

TEST(IsLeaf, FollowsPyTorch) {
  const Tensor x = leaf({1});
  EXPECT_TRUE(x.is_leaf());
  EXPECT_TRUE(tensor({1.0}).is_leaf());
  EXPECT_FALSE((x * 2).is_leaf());
  EXPECT_TRUE((tensor({1.0}) * 2).is_leaf());
  EXPECT_FALSE(x.view({1, 1}).is_leaf());
  EXPECT_TRUE(x.detach().is_leaf());
}

}  // namespace
}  // namespace tandem::testing
