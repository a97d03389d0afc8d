// Custom ops as autograd::Function: what forward saves, what backward receives and may return.
#include "tandem/autograd/function.h"

#include <gtest/gtest.h>

#include "autograd/support.h"
#include "tandem/amp/autocast.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/gradcheck.h"

namespace tandem::testing {
namespace {

using autograd::AutogradContext;
using autograd::Function;
using autograd::variable_list;

struct Exp : Function<Exp> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    EXPECT_FALSE(GradMode::is_enabled());
    const Tensor y = x.exp();
    ctx->save_for_backward({y});
    return y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {grads[0] * ctx->get_saved_variables()[0]};
  }
};

/// libtorch's example: a * b + a * factor, with a non-tensor argument between the tensors.
struct MulAdd : Function<MulAdd> {
  static Tensor forward(AutogradContext* ctx, const Tensor& a, double factor, const Tensor& b) {
    ctx->saved_data["factor"] = factor;
    ctx->save_for_backward({a, b});
    return a * b + a * factor;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    return {grads[0] * (saved[1] + ctx->saved_data["factor"].toDouble()), Tensor(), grads[0] * saved[0]};
  }
};

TEST(Function, OneInput) {
  const Tensor x = leaf({0, 1});
  const Tensor y = Exp::apply(x);
  EXPECT_TRUE(y.requires_grad());
  y.sum().backward();
  EXPECT_TRUE(same_bits(x.grad(), x.detach().exp()));
}

TEST(Function, GradcheckOfFirstAndSecondDerivatives) {
  const auto f = [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{MulAdd::apply(Exp::apply(x[0]), 3.0, x[1])};
  };
  const std::vector<Tensor> inputs = {leaf({0.5, -1, 2}, kDouble), leaf({1, 2, 3}, kDouble)};
  EXPECT_TRUE(autograd::gradcheck(f, inputs));
  EXPECT_TRUE(autograd::gradgradcheck(f, inputs));
}

TEST(Function, RecordsNothingIfNoInputRequiresGrad) {
  EXPECT_FALSE(Exp::apply(tensor({1.0})).requires_grad());
  const Tensor x = leaf({1});
  const NoGradGuard no_grad;
  EXPECT_FALSE(Exp::apply(x).requires_grad());
}

TEST(Function, TakesItsNameFromItsType) {
  EXPECT_NE(std::string(Exp::apply(leaf({1})).grad_fn()->op).find("Exp"), std::string::npos);
}

// ---- arguments of every kind

/// Sums all tensors, the i-th times 10^i.
struct Weighted : Function<Weighted> {
  static Tensor forward(AutogradContext*, const std::optional<Tensor>& a, int64_t, const std::vector<Tensor>& list,
                        const std::string&, const std::map<std::string, std::vector<Tensor>>& map,
                        const std::tuple<Tensor, int>& pair) {
    Tensor sum = zeros({2});
    double weight = 1;
    const auto add = [&](const Tensor& x) {
      if (x.defined()) sum = sum + x * weight;
      weight *= 10;
    };
    add(a.value_or(Tensor()));
    for (const Tensor& x : list) add(x);
    for (const auto& [key, tensors] : map) {
      for (const Tensor& x : tensors) add(x);
    }
    add(std::get<0>(pair));
    return sum;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    seen.clear();
    for (size_t i = 0; i < 5; ++i) seen.push_back(ctx->needs_input_grad(i));
    EXPECT_THROWS(ctx->needs_input_grad(5), IndexError, "needs_input_grad(5)", "5 tensors");
    const Tensor& g = grads[0];
    return {g, Tensor(), g * 10, g * 100, Tensor(), g * 1000, g * 10000};
  }
  static inline std::vector<bool> seen;
};

TEST(Function, TensorsInContainersGetTheirGradients) {
  const Tensor a = leaf({1, 1}), b = leaf({1, 1}), c = tensor({1.0, 1.0}), d = leaf({1, 1}), e = leaf({1, 1});
  const Tensor y =
      Weighted::apply(std::optional<Tensor>(a), int64_t{7}, std::vector<Tensor>{b, c}, std::string("s"),
                      std::map<std::string, std::vector<Tensor>>{{"k", {d}}}, std::tuple<Tensor, int>(e, 1));
  EXPECT_TRUE(equals(y, {11111, 11111}));
  y.sum().backward();
  EXPECT_TRUE(equals(a.grad(), {1, 1}));
  EXPECT_TRUE(equals(b.grad(), {10, 10}));
  EXPECT_FALSE(c.grad().defined());
  EXPECT_TRUE(equals(d.grad(), {1000, 1000}));
  EXPECT_TRUE(equals(e.grad(), {10000, 10000}));
  EXPECT_EQ(Weighted::seen, (std::vector<bool>{true, true, false, true, true}));
}

struct MaybeBias : Function<MaybeBias> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const std::optional<Tensor>& bias) {
    ctx->saved_data["has_bias"] = bias.has_value();
    return bias ? x + *bias : x * 1;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {grads[0], ctx->saved_data["has_bias"].toBool() ? grads[0] : Tensor()};
  }
};

TEST(Function, AnAbsentOptionalCountsAsOneArgument) {
  const Tensor x = leaf({1, 2});
  MaybeBias::apply(x, std::optional<Tensor>()).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {1, 1}));
}

TEST(Function, SavedDataKeepsAnything) {
  autograd::SavedValue value = 3;
  EXPECT_EQ(value.toInt(), 3);
  EXPECT_EQ(value.to<int>(), 3);
  EXPECT_THROWS(value.toDouble(), StateError, "saved_data", "long", "double");
  value = 0.5F;
  EXPECT_EQ(value.toDouble(), 0.5);
  value = "text";
  EXPECT_EQ(value.toStringRef(), "text");
  value = std::vector<int64_t>{1, 2};
  EXPECT_EQ(value.toIntVector(), (std::vector<int64_t>{1, 2}));
  const Tensor x = ones({2});
  value = x;
  EXPECT_TRUE(value.toTensor().is_same(x));
  EXPECT_TRUE(autograd::SavedValue().isNone());
  EXPECT_THROWS(autograd::SavedValue().toBool(), StateError, "empty", "bool");
}

// ---- several outputs

/// (2x, 3x, the number of elements); the second output is not differentiable if `mark` is set.
struct Outputs : Function<Outputs> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x, bool mark, bool materialize) {
    ctx->set_materialize_grads(materialize);
    const variable_list y = {x * 2, x * 3, full({}, x.numel(), kLong)};
    if (mark) ctx->mark_non_differentiable({y[1]});
    return y;
  }
  static variable_list backward(AutogradContext*, variable_list grads) {
    got = grads;
    Tensor g = grads[0].defined() ? grads[0] * 2 : Tensor();
    if (grads[1].defined()) g = g.defined() ? g + grads[1] * 3 : grads[1] * 3;
    return {g, Tensor(), Tensor()};
  }
  static inline variable_list got;
};

TEST(Function, SeveralOutputs) {
  const Tensor x = leaf({1, 2});
  const variable_list y = Outputs::apply(x, false, true);
  EXPECT_TRUE(y[0].requires_grad() && y[1].requires_grad());
  EXPECT_FALSE(y[2].requires_grad()) << "integer outputs never require grad";
  (y[0] + y[1] * 10).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {32, 32}));
}

TEST(Function, UndefinedGradientsAreZerosByDefault) {
  for (const bool materialize : {true, false}) {
    const Tensor x = leaf({1, 2});
    Outputs::apply(x, false, materialize)[1].sum().backward();
    EXPECT_TRUE(equals(x.grad(), {3, 3}));
    EXPECT_EQ(Outputs::got[0].defined(), materialize);
    if (materialize) {
      EXPECT_TRUE(equals(Outputs::got[0], {0, 0}));
    }
    EXPECT_EQ(Outputs::got[2].defined(), materialize);
  }
}

TEST(Function, NonDifferentiableOutputs) {
  const Tensor x = leaf({1, 2});
  const variable_list y = Outputs::apply(x, true, true);
  EXPECT_FALSE(y[1].requires_grad());
  EXPECT_THROWS(y[1].sum().backward(), AutogradError, "does not require grad");
  y[0].sum().backward();
  EXPECT_TRUE(equals(x.grad(), {2, 2}));
}

// ---- inputs returned as outputs, and changed in place

struct Identity : Function<Identity> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x; }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 10}; }
};

TEST(Function, MayReturnAnInput) {
  const Tensor w = leaf({1, 2});
  const Tensor y = Identity::apply(w);
  EXPECT_FALSE(y.is_same(w));
  EXPECT_TRUE(w.is_leaf());
  (y * 2 + w).sum().backward();
  EXPECT_TRUE(equals(w.grad(), {21, 21}));
  EXPECT_THROWS(Identity::apply(w * 1).mul_(2), AutogradError, "clone()");
}

/// x *= 3, in place; saves the result.
struct Triple : Function<Triple> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    x.mul_(3);
    ctx->mark_dirty({x});
    ctx->save_for_backward({x});
    return x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    saved = ctx->get_saved_variables()[0];
    return {grads[0] * 3};
  }
  static inline Tensor saved;
};

TEST(Function, InputsChangedInPlace) {
  const Tensor w = leaf({1, 2}), x = w * 2;
  const Tensor y = Triple::apply(x);
  EXPECT_TRUE(y.is_same(x));
  (x * tensor({1.0, 10.0})).sum().backward();
  EXPECT_TRUE(equals(w.grad(), {6, 60}));
  EXPECT_TRUE(equals(Triple::saved, {6, 12}));
  EXPECT_THROWS(Triple::apply(w), AutogradError, "Triple", "leaf", "NoGradGuard");
}

TEST(Function, ChangedViewRewritesItsBase) {
  const Tensor w = leaf({1, 2, 3}), x = w * 2;
  Triple::apply(x.narrow(0, 1, 2));
  EXPECT_TRUE(equals(x, {2, 12, 18}));
  x.sum().backward();
  EXPECT_TRUE(equals(w.grad(), {2, 6, 6}));
}

TEST(Function, MarkDirtyInvalidatesSavedTensors) {
  const Tensor w = leaf({1, 2}), x = w * 2, y = x * x;
  Triple::apply(x);
  EXPECT_THROWS(y.sum().backward(), AutogradError, "mul", "changed in place");
}

// ---- saved tensors

TEST(Function, DetectsChangedSavedTensors) {
  const Tensor a = leaf({1, 2}) * 1, b = leaf({3, 4});
  const Tensor y = MulAdd::apply(a, 1.0, b);
  a.mul_(2);
  EXPECT_THROWS(y.sum().backward(), AutogradError, "MulAdd", "changed in place", "saved tensor 0");
  const Tensor x = leaf({1}), z = Exp::apply(x);
  z.mul_(2);
  EXPECT_THROWS(z.sum().backward(), AutogradError, "Exp", "changed in place");
}

TEST(Function, BackwardTwiceNeedsRetainGraph) {
  const Tensor x = leaf({1}), y = Exp::apply(x);
  y.backward({}, true);
  y.backward();
  EXPECT_THROWS(y.backward(), AutogradError, "Exp", "retain_graph");
}

TEST(Function, SavedOutputMakesNoCycle) {
  const int64_t before = 0;
  std::weak_ptr<TensorImpl> alive;
  {
    const Tensor x = leaf({1}), y = Exp::apply(x);
    alive = y.impl_ptr();
  }
  EXPECT_EQ(alive.use_count(), before);
}

TEST(Function, DeepChainsAreFreedWithoutRecursion) {
  Tensor x = leaf({0});
  for (int i = 0; i < 50000; ++i) x = Identity::apply(x * 0.1);
  x.sum().backward();
}

// ---- modes and dtypes

struct Throws : Function<Throws> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x.view({5}); }
  static variable_list backward(AutogradContext*, variable_list grads) { return grads; }
};

TEST(Function, ErrorInForwardRestoresTheModes) {
  EXPECT_THROWS(Throws::apply(leaf({1})), ShapeError, "view");
  EXPECT_TRUE(GradMode::is_enabled());
}

TEST(Function, GradientsAreConvertedToTheInputsDType) {
  const Tensor x = leaf({1, 2}, kBFloat16);
  MulAdd::apply(x, 1.0, leaf({1, 1})).sum().backward();
  EXPECT_EQ(x.grad().dtype(), kBFloat16);
}

}  // namespace
}  // namespace tandem::testing
