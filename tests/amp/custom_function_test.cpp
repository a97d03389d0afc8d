// Custom functions under autocast: backward sees the state of forward, and inputs inside containers are cast.
// PyTorch's test_autocast_custom_enabled and test_autocast_custom_cast_inputs.
#include "tandem/amp/custom_function.h"

#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/device.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/gradcheck.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using autograd::AutogradContext;
using autograd::variable_list;

/// The autocast state during a pass.
struct Seen {
  bool enabled;
  DType dtype;
  amp::Cast softmax;
  static Seen now() {
    return {amp::is_autocast_enabled(device_type()), amp::get_autocast_dtype(device_type()),
            amp::get_policy("softmax")};
  }
  friend bool operator==(const Seen&, const Seen&) = default;
};
Seen forward_saw, backward_saw;

/// a b, in the precision of the region.
template <class Base>
struct MatMul : Base {
  static Tensor forward(AutogradContext* ctx, const Tensor& a, const Tensor& b) {
    forward_saw = Seen::now();
    ctx->save_for_backward({a, b});
    return a.mm(b);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    backward_saw = Seen::now();
    const variable_list saved = ctx->get_saved_variables();
    return {grads[0].mm(saved[1].t()), saved[0].t().mm(grads[0])};
  }
};
struct PlainMM : MatMul<autograd::Function<PlainMM>> {};
struct AutocastMM : MatMul<amp::CustomFunction<AutocastMM>> {};
struct MyMM32 : MatMul<amp::CustomFunction<MyMM32, kFloat>> {};
struct MyMM16 : MatMul<amp::CustomFunction<MyMM16, kHalf>> {};

Tensor weight(double value) { return full({2, 2}, value).requires_grad_(); }

TEST(CustomFunction, BackwardRunsUnderTheAutocastOfForward) {
  for (const DType dtype : {kBFloat16, kHalf}) {
    const Tensor a = weight(1), b = weight(2);
    Tensor y;
    {
      amp::AutocastGuard region(device_type(), dtype);
      amp::PolicyGuard policies({{"softmax", amp::Cast::lower}});
      y = AutocastMM::apply(a, b);
    }
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(forward_saw, (Seen{true, dtype, amp::Cast::lower}));
    y.sum().backward();
    EXPECT_EQ(backward_saw, forward_saw);
    EXPECT_FALSE(amp::is_autocast_enabled(device_type()));
    EXPECT_EQ(a.grad().dtype(), kFloat);
    EXPECT_TRUE(near(a.grad(), full({2, 2}, 4.0), kExact));
    EXPECT_TRUE(near(b.grad(), full({2, 2}, 2.0), kExact));
  }
}

TEST(CustomFunction, BackwardIgnoresRegionsOpenedAfterForward) {
  const Tensor a = weight(1), b = weight(2);
  const Tensor y = AutocastMM::apply(a, b);
  {
    amp::AutocastGuard region(device_type());
    y.sum().backward();
  }
  EXPECT_FALSE(forward_saw.enabled);
  EXPECT_FALSE(backward_saw.enabled);
}

TEST(CustomFunction, PlainFunctionRunsBackwardWithoutAutocast) {
  const Tensor a = weight(1), b = weight(2);
  amp::AutocastGuard region(device_type(), kBFloat16);
  // forward() saves its f32 inputs unchanged. Outside the region, backward multiplies them by a bf16 gradient and
  // throws.
  const Tensor y = PlainMM::apply(a, b);
  EXPECT_TRUE(forward_saw.enabled);
  EXPECT_THROWS(y.sum().backward(), DTypeError, "bf16", "f32");
  EXPECT_FALSE(backward_saw.enabled);
}

TEST(CustomFunction, CastInputsRunsBothPassesWithoutAutocast) {
  for (const DType input : {kFloat, kBFloat16, kHalf}) {
    const Tensor a = full({2, 2}, 1.0, input).requires_grad_(), b = weight(2);
    Tensor y;
    {
      amp::AutocastGuard region(device_type());
      y = MyMM32::apply(a, b);
      EXPECT_TRUE(amp::is_autocast_enabled(device_type()));
    }
    EXPECT_EQ(y.dtype(), kFloat);
    EXPECT_FALSE(forward_saw.enabled);
    y.sum().backward();
    EXPECT_FALSE(backward_saw.enabled);
    EXPECT_EQ(a.grad().dtype(), input) << "the dtype before the cast";
    EXPECT_EQ(b.grad().dtype(), kFloat);
  }
}

TEST(CustomFunction, CastInputsDoesNothingOutsideRegions) {
  const Tensor y = MyMM16::apply(weight(1), weight(2));
  EXPECT_EQ(y.dtype(), kFloat);
  amp::AutocastGuard off(device_type(), {}, false);
  EXPECT_EQ(MyMM16::apply(weight(1), weight(2)).dtype(), kFloat);
}

/// Records the dtypes of all its arguments.
struct Containers : amp::CustomFunction<Containers, kHalf> {
  using Nested = std::map<std::string, std::vector<std::pair<Tensor, int>>>;
  static Tensor forward(AutogradContext*, const Tensor& x, const Nested& nested, const std::tuple<Tensor, Tensor>& more,
                        const std::string& text, const Tensor& absent) {
    dtypes = {x.dtype()};
    for (const auto& [key, list] : nested) {
      for (const auto& [t, number] : list) dtypes.push_back(t.dtype());
    }
    dtypes.push_back(std::get<0>(more).dtype());
    dtypes.push_back(std::get<1>(more).dtype());
    EXPECT_EQ(text, "text");
    EXPECT_FALSE(absent.defined());
    EXPECT_FALSE(amp::is_autocast_enabled(device_type()));
    return x * 2;
  }
  static variable_list backward(AutogradContext*, variable_list grads) {
    return {grads[0] * 2, {}, {}, {}, {}, {}, {}};
  }
  static inline std::vector<DType> dtypes;
};

TEST(CustomFunction, CastInputsCastsTensorsInContainers) {
  const Tensor x = ones({2}).requires_grad_();
  const auto call = [&] {
    return Containers::apply(x, Containers::Nested{{"k", {{ones({1}), 1}, {ones({1}, kDouble), 2}}}},
                             std::tuple<Tensor, Tensor>(ones({1}, kInt), ones({1}, kBFloat16)), std::string("text"),
                             Tensor());
  };
  {
    amp::AutocastGuard region(device_type());
    const Tensor y = call();
    EXPECT_EQ(Containers::dtypes, (std::vector<DType>{kHalf, kHalf, kDouble, kInt, kHalf}));
    y.sum().backward();
    EXPECT_EQ(x.grad().dtype(), kFloat);
    EXPECT_TRUE(near(x.grad(), {2, 2}, kExact));
  }
  call();
  EXPECT_EQ(Containers::dtypes, (std::vector<DType>{kFloat, kFloat, kDouble, kInt, kBFloat16}));
}

/// x^3, computed from a saved cast of x.
struct Cube : amp::CustomFunction<Cube, kFloat> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {grads[0] * x * x * 3};
  }
};

TEST(CustomFunction, DoubleBackwardWorksThroughASavedCast) {
  // PyTorch's custom_fwd saves a cast without history, so its second derivative is 0.
  const Tensor x = full({1}, 2.0, kBFloat16).requires_grad_();
  Tensor y;
  {
    amp::AutocastGuard region(device_type());
    y = Cube::apply(x);
  }
  const Tensor first = autograd::grad({y}, {x}, {}, {}, true)[0];
  EXPECT_TRUE(near(first, {12}, kExact));
  EXPECT_TRUE(near(autograd::grad({first}, {x})[0], {12}, kExact));
  const auto f = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{Cube::apply(in[0])}; };
  const std::vector<Tensor> inputs = {full({2}, 1.5, kDouble).requires_grad_()};
  EXPECT_TRUE(autograd::gradgradcheck(f, inputs));
}

/// Overwrites its input, which is a cast made for this call.
struct InPlace : amp::CustomFunction<InPlace, kHalf> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x.mul_(0).add_(7); }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 0}; }
};

TEST(CustomFunction, OverwritingACastKeepsTheCachedOne) {
  const Tensor w = weight(3);
  amp::AutocastGuard region(device_type(), kHalf);
  const Tensor before = mm(ones({2, 2}), w);
  EXPECT_EQ(InPlace::apply(w)[0][0].item<float>(), 7);
  EXPECT_TRUE(same_bits(mm(ones({2, 2}), w), before));
  EXPECT_EQ(w[0][0].item<float>(), 3);
}

}  // namespace
}  // namespace tandem::testing
