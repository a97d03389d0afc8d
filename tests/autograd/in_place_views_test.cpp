// In-place ops on views: every kind of view, op, dtype and later use against finite differences and closed forms.
#include <gtest/gtest.h>

#include <functional>

#include "autograd/support.h"
#include "support/sanitizers.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/gradcheck.h"
#include "tandem/tensor/indexing.h"

namespace tandem::testing {
namespace {

using indexing::None;
using indexing::Slice;
using Tensors = std::vector<Tensor>;

// ---- autograd::grad, whose traversal relies on the order in which nodes were created

TEST(InPlaceViewGrad, GradientsPassThroughUpdatedViews) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x * 1.5, v = y.narrow(0, 0, 2);
  v.mul_(10.0);
  EXPECT_TRUE(equals(autograd::grad({(v * v).sum() + y.sum()}, {x})[0], {465, 915, 1.5, 1.5}));
  const Tensor w = y.view({2, 2});
  y.mul_(2);
  EXPECT_TRUE(equals(autograd::grad({(w * w).sum()}, {x})[0], {1800, 3600, 54, 72}));
}

TEST(InPlaceViewGrad, StaleViewsAsOperandsInputsAndOutputs) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x * 2;
  const Tensor a = y.narrow(0, 0, 2), b = y.narrow(0, 2, 2);
  y.mul_(3);
  EXPECT_TRUE(equals(autograd::grad({a}, {x}, {tensor({1.0, 10.0})}, true)[0], {6, 60, 0, 0}));
  y.mul_(5);
  const Tensor loss = (a * b).sum();
  const Tensors g = autograd::grad({loss}, {a, x}, {}, true);
  EXPECT_TRUE(equals(g[0], {90, 120}));
  EXPECT_TRUE(equals(g[1], {2700, 3600, 900, 1800}));
  y.mul_(7);
  b.mul_(a.clone());
  EXPECT_TRUE(equals(autograd::grad({b.sum()}, {x})[0], {3 * 210. * 210, 4 * 210. * 210, 210. * 210, 2 * 210. * 210}));
}

struct Named {
  const char* name;
  std::function<Tensor(const Tensor&)> of;
};
const std::vector<Named>& views() {
  static const std::vector<Named> all{
      {"itself", [](const Tensor& y) { return y; }},
      {"narrow", [](const Tensor& y) { return y.narrow(1, 1, 2); }},
      {"t", [](const Tensor& y) { return y.t(); }},
      {"select", [](const Tensor& y) { return y.select(0, 1); }},
      {"slice by 2", [](const Tensor& y) { return y.slice(1, 0, 4, 2); }},
      {"view",
       [](const Tensor& y) {
         return y.view({2, 6});
       }},
      {"unsqueeze", [](const Tensor& y) { return y.unsqueeze(1); }},
      {"a chain", [](const Tensor& y) { return y.t().narrow(0, 1, 2).unsqueeze(0); }},
      {"flatten", [](const Tensor& y) { return y.flatten().narrow(0, 3, 5); }},
      {"index",
       [](const Tensor& y) {
         return y.index({Slice(1), None, 0});
       }},
  };
  return all;
}

struct Change {
  const char* name;
  std::function<void(const Tensor&, const Tensor&)> run;
};
const std::vector<Change>& changes() {
  static const std::vector<Change> all{
      {"mul_", [](const Tensor& v, const Tensor& o) { v.mul_(o); }},
      {"add_", [](const Tensor& v, const Tensor& o) { v.add_(o, 2); }},
      {"sub_", [](const Tensor& v, const Tensor& o) { v.sub_(o, 0.5); }},
      {"div_", [](const Tensor& v, const Tensor& o) { v.div_(o + 3); }},
      {"exp_", [](const Tensor& v, const Tensor&) { v.exp_(); }},
      {"tanh_", [](const Tensor& v, const Tensor&) { v.tanh_(); }},
      {"pow_", [](const Tensor& v, const Tensor&) { v.pow_(3); }},
      {"fill_", [](const Tensor& v, const Tensor&) { v.fill_(2); }},
      {"copy_", [](const Tensor& v, const Tensor& o) { v.copy_(o * o); }},
      {"addcmul_", [](const Tensor& v, const Tensor& o) { v.addcmul_(o, o, 0.3); }},
      {"index_put_", [](const Tensor& v, const Tensor& o) { v.index_put_({0}, o * 2); }},
      {"by its own copy", [](const Tensor& v, const Tensor&) { v.mul_(v.clone()); }},
      {"twice", [](const Tensor& v, const Tensor& o) { v.mul_(o).sigmoid_(); }},
  };
  return all;
}

/// Other results computed from the base after the change.
enum class Later { base_and_view, another_view, a_view_of_another_view };

TEST(InPlaceViewGrad, DerivativesOfEveryViewAndOp) {
  const Tensor x = tensor({{0.3, -0.8, 1.1, 0.5}, {-0.4, 0.9, 0.2, -1.3}, {0.7, 0.6, -0.1, 0.4}}, kDouble);
  const Tensors inputs{x.requires_grad_(), leaf({0.7}, kDouble)};
  for (const Named& view : views()) {
    for (const Change& change : changes()) {
      for (Later later : {Later::base_and_view, Later::another_view, Later::a_view_of_another_view}) {
        const auto f = [&](const Tensors& in) {
          const Tensor y = in[0] * 1.5, v = view.of(y);
          Tensor other = later == Later::base_and_view ? y : y.t();
          if (later == Later::a_view_of_another_view) other = other.narrow(0, 0, 2);
          change.run(v, in[1]);
          return Tensors{(y * y * y).sum() + (v * v).sum() + (other * other).sum()};
        };
        SCOPED_TRACE(::testing::Message() << change.name << " on " << view.name << ", " << static_cast<int>(later));
        EXPECT_NO_THROW(autograd::gradcheck(f, inputs, 1e-6, 1e-5, 1e-3, true, 0, true, kSlowRun));
        EXPECT_NO_THROW(autograd::gradgradcheck(f, inputs, {}, 1e-6, 1e-5, 1e-3, true, 0, true, kSlowRun));
      }
    }
  }
}

TEST(InPlaceViewGrad, StaleExpandedViewSumsItsGradients) {
  const Tensor x = leaf({2, 3});
  const Tensor y = x * 1, wide = y.unsqueeze(1).expand({2, 5});
  y.mul_(10);
  wide.sum().backward();
  EXPECT_TRUE(equals(x.grad(), {50, 50}));
}

// ---- operands of a wider dtype: computed in the wider dtype, stored in self's

TEST(InPlaceViewDtypes, WiderOperandsGetGradients) {
  const std::vector<Change> ops{
      {"mul_", [](const Tensor& v, const Tensor& o) { v.mul_(o); }},
      {"add_", [](const Tensor& v, const Tensor& o) { v.add_(o, 2); }},
      {"sub_", [](const Tensor& v, const Tensor& o) { v.sub_(o); }},
      {"div_", [](const Tensor& v, const Tensor& o) { v.div_(o); }},
      {"addcmul_", [](const Tensor& v, const Tensor& o) { v.addcmul_(o, o); }},
  };
  // d/dx and d/do for x = 1, 2 and o = 2, 4, exact in every dtype.
  const std::vector<std::vector<double>> gx{{2, 4}, {1, 1}, {1, 1}, {0.5, 0.25}, {1, 1}};
  const std::vector<std::vector<double>> go{{1, 2}, {2, 2}, {-1, -1}, {-0.25, -0.125}, {4, 8}};
  for (DType narrow : {kHalf, kBFloat16, kFloat}) {
    for (DType wide : {kFloat, kDouble}) {
      for (size_t i = 0; i < ops.size(); ++i) {
        for (bool whole : {false, true}) {
          SCOPED_TRACE(::testing::Message()
                       << ops[i].name << " of " << name(wide) << " on " << name(narrow) << (whole ? "" : ", a view"));
          const Tensor x = leaf({1, 2}), o = leaf({2, 4}, wide), rest = leaf({7, 8});
          const Tensor y = whole ? x.to(narrow) * 1 : cat({x, rest}).to(narrow);
          ops[i].run(whole ? y : y.narrow(0, 0, 2), o);
          y.to(kFloat).sum().backward();
          EXPECT_TRUE(equals(x.grad(), gx[i]));
          EXPECT_TRUE(equals(o.grad(), go[i]));
          EXPECT_EQ(o.grad().dtype(), wide);
          EXPECT_TRUE(whole || equals(rest.grad(), {1, 1}));
        }
      }
    }
  }
}

TEST(InPlaceViewDtypes, MaskWithoutGradient) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x.to(kHalf);
  y.narrow(0, 0, 2).mul_(tensor({10.0, 10.0}));
  y.to(kFloat).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {10, 10, 1, 1}));
}

TEST(InPlaceViewDtypes, AddmmKeepsItsFactors) {
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}).requires_grad_(), a = ones({2, 2}).requires_grad_();
  const Tensor y = x * 1;
  y.narrow(0, 0, 2).addmm_(a, ones({2, 2}), 3, 2);
  y.sum().backward();
  EXPECT_TRUE(equals(x.grad(), {3, 3, 3, 3, 1, 1}));
  EXPECT_TRUE(equals(a.grad(), {4, 4, 4, 4}));
}

// ---- references held by the graph

TEST(InPlaceViewGraph, SavedTensorsAreReleased) {
  const Tensor x = leaf({1, 2, 3});
  Tensor y = x * 2;
  std::weak_ptr<Storage> saved;
  {
    const Tensor factor = x.narrow(0, 0, 2) + 1;
    saved = factor.impl().storage;
    y.narrow(0, 0, 2).mul_(factor);
  }
  const Tensor loss = y.sum();
  EXPECT_FALSE(saved.expired());
  loss.backward();
  EXPECT_TRUE(saved.expired());
  EXPECT_TRUE(equals(x.grad(), {6, 10, 2}));
  EXPECT_THROWS(loss.backward(), AutogradError, "mul", "retain_graph");
}

// ---- views created without recording

TEST(InPlaceViewOfALeaf, MadeUnderNoGradGuardIsRefused) {
  const Tensor w = leaf({1, 2, 3}), t = leaf({1, 1});
  Tensor v;
  {
    NoGradGuard no_grad;
    v = w.narrow(0, 0, 2);
  }
  EXPECT_THROWS(v.add_(t), AutogradError, "add_", "a view of a leaf that requires grad", "NoGradGuard");
  EXPECT_THROWS(v.mul_(t * 2), AutogradError, "mul_", "leaf");
  EXPECT_TRUE(w.is_leaf());
  EXPECT_THROWS(v.mul_(2), AutogradError, "mul_", "a view of a leaf that requires grad");
  EXPECT_TRUE(equals(w, {1, 2, 3}));
  {
    NoGradGuard no_grad;
    v.mul_(2);
    v.add_(t);
  }
  EXPECT_TRUE(w.is_leaf());
  (w * w).sum().backward();
  EXPECT_TRUE(equals(w.grad(), {6, 10, 6}));
}

TEST(InPlaceViewOfALeaf, BaseThatLaterRequiresGradIsRefused) {
  const Tensor w = tensor({1.0, 2.0}), v = w.narrow(0, 0, 1);
  w.requires_grad_();
  EXPECT_THROWS(v.add_(leaf({1})), AutogradError, "leaf");
  EXPECT_THROWS(v.mul_(2), AutogradError, "leaf");
  EXPECT_TRUE(w.is_leaf());
}

TEST(InPlaceViewOfALeaf, OfAResultUnderNoGradGuardIsRefused) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  Tensor v, u;
  {
    NoGradGuard no_grad;
    v = y.narrow(0, 0, 1);
  }
  {
    InferenceMode inference;
    u = y.narrow(0, 0, 1);
  }
  EXPECT_THROWS(v.add_(leaf({1})), AutogradError, "add_", "NoGradGuard", "detach()");
  EXPECT_THROWS(v.add_(1), AutogradError, "add_", "NoGradGuard", "detach()");
  EXPECT_THROWS(u.add_(leaf({1})), AutogradError, "add_", "InferenceMode");
  v.detach().add_(leaf({1}));  // a separate tensor over the same memory
  y.sum().backward();
  EXPECT_TRUE(equals(x.grad(), {2, 2}));
}

TEST(InPlaceViewOfALeaf, BaseWithoutGradMayBeChanged) {
  const Tensor x = leaf({1, 2}), base = zeros({4});
  Tensor v;
  {
    NoGradGuard no_grad;
    v = base.narrow(0, 0, 2);
  }
  v.add_(x);
  (base * 3).sum().backward();
  EXPECT_TRUE(equals(x.grad(), {3, 3}));
}

}  // namespace
}  // namespace tandem::testing
