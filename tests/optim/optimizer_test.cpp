// Common to all optimizers: groups, options, closures, gradients, misuse.
#include "tandem/optim/optimizer.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/throws.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

using optim::OptimizerParamGroup;

Tensor leaf(double value, DType dtype = kFloat) { return full({3}, value, dtype).requires_grad_(); }

void set_grad(const Tensor& p, double value) { p.mutable_grad() = full(p.sizes(), value, p.dtype()); }

/// A user-defined optimizer: p -= lr g, with no other overrides.
class PlainDescent : public optim::Optimizer {
 public:
  explicit PlainDescent(std::vector<Tensor> params)
      : Optimizer(std::move(params), std::make_unique<optim::SGDOptions>(0.5)) {}
  using Optimizer::step;
  Tensor step(LossClosure closure = nullptr) override {
    Tensor loss = evaluate(closure);
    NoGradGuard no_grad;
    for (const Tensor& p : parameters()) p.sub_(p.grad() * defaults().get_lr());
    return loss;
  }
};

TEST(Optimizer, StatesOfProgramsCanBeCloned) {
  struct Momentum : optim::OptimizerCloneableParamState<Momentum> {
    Tensor buffer = ones({2});
  };
  const Momentum state;
  const std::unique_ptr<optim::OptimizerParamState> copy = state.clone();
  EXPECT_TRUE(static_cast<const Momentum&>(*copy).buffer.is_same(state.buffer));
  EXPECT_THROWS(optim::OptimizerParamState().clone(), NotImplementedError, "OptimizerCloneableParamState");
}

TEST(Optimizer, StepsItsGroupsWithTheirOptions) {
  const Tensor a = leaf(1), b = leaf(1), c = leaf(1), d = leaf(1);
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{a});
  groups.emplace_back(std::vector<Tensor>{b, c}, std::make_unique<optim::SGDOptions>(0.25));
  optim::SGD sgd(groups, optim::SGDOptions(0.5));
  sgd.add_param_group(OptimizerParamGroup({d}));
  EXPECT_EQ(sgd.size(), 4U);
  EXPECT_EQ(sgd.param_groups().size(), 3U);
  EXPECT_TRUE(sgd.parameters()[3].is_same(d));
  static_cast<optim::SGDOptions&>(sgd.param_groups()[2].options()).lr(0.125);
  for (const Tensor& p : {a, b, d}) set_grad(p, 1);  // c has none
  sgd.step();
  EXPECT_EQ(a[0].item<float>(), 0.5F);
  EXPECT_EQ(b[1].item<float>(), 0.75F);
  EXPECT_EQ(c[1].item<float>(), 1.0F);
  EXPECT_EQ(d[2].item<float>(), 0.875F);
  // The optimizer copies the groups: their options do not change with the optimizer's.
  EXPECT_FALSE(groups[0].has_options());
  EXPECT_THROWS(groups[0].options(), StateError, "options");
  sgd.param_groups()[1].options().set_lr(0);
  EXPECT_EQ(groups[1].options().get_lr(), 0.25);
  EXPECT_EQ(sgd.defaults().get_lr(), 0.5);
}

TEST(Optimizer, HasAUniqueId) {
  optim::SGD a({leaf(1)}, 0.1), b({leaf(1)}, 0.1);
  EXPECT_NE(a.id(), b.id());
}

TEST(Optimizer, EvaluatesClosuresWithGradEnabled) {
  const Tensor p = leaf(2);
  optim::SGD sgd({p}, 0.25);
  NoGradGuard no_grad;
  const Tensor loss = sgd.step([&] {
    sgd.zero_grad();
    Tensor y = (p * p).sum();
    y.backward();
    return y;
  });
  EXPECT_EQ(loss.item<float>(), 12);
  EXPECT_EQ(p[0].item<float>(), 1);
  EXPECT_FALSE(GradMode::is_enabled());
  EXPECT_FALSE(sgd.step().defined());
  optim::Adam adam({p}, 0.25);
  optim::AdamW adamw({p}, 0.25);
  EXPECT_EQ(adam.step([&] { return ones({}); }).item<float>(), 1);
  EXPECT_EQ(adamw.step([&] { return ones({}); }).item<float>(), 1);
}

TEST(Optimizer, ZeroGrad) {
  const Tensor p = leaf(2), q = leaf(1);
  optim::SGD sgd({p, q}, 0.25);
  set_grad(p, 3);
  const Tensor grad = p.grad();
  sgd.zero_grad(/*set_to_none=*/false);
  EXPECT_EQ(grad.abs().sum().item<float>(), 0);
  EXPECT_FALSE(q.grad().defined());
  sgd.zero_grad();
  EXPECT_FALSE(p.grad().defined());
}

TEST(Optimizer, StepKeepsLeavesAndRaisesVersions) {
  const Tensor p = leaf(2);
  optim::SGD sgd({p}, optim::SGDOptions(0.25).momentum(0.5));
  const Tensor y = (p * p).sum();  // saves p
  set_grad(p, 1);
  const uint64_t before = p._version();
  sgd.step();
  EXPECT_GT(p._version(), before);
  EXPECT_TRUE(p.is_leaf() && p.requires_grad());
  EXPECT_THROWS(y.backward(), AutogradError, "mul");
}

TEST(Optimizer, AcceptsGradientsOfAnyLayout) {
  const Tensor p = zeros({2, 3}).requires_grad_(), q = zeros({2, 3}).requires_grad_();
  p.mutable_grad() = ones({1}).expand({2, 3});
  q.mutable_grad() = arange(6, kFloat).view({3, 2}).t();
  optim::SGD sgd({p, q}, 1);
  sgd.step();
  EXPECT_EQ(p.sum().item<float>(), -6);
  EXPECT_EQ(q[0][2].item<float>(), -4);
}

TEST(Optimizer, StepsMixedDtypes) {
  std::vector<Tensor> params;
  for (DType t : {kFloat, kDouble, kHalf, kBFloat16}) params.push_back(leaf(1, t));
  for (const Tensor& p : params) set_grad(p, 0.5);
  optim::SGD sgd(params, optim::SGDOptions(0.5).momentum(0.5));
  sgd.step();
  for (const Tensor& p : params) {
    EXPECT_EQ(p[0].item<double>(), 0.75);
    const auto& state = static_cast<const optim::SGDParamState&>(*sgd.state().at(&p.impl()));
    EXPECT_EQ(state.momentum_buffer().dtype(), p.dtype() == kDouble ? kDouble : kFloat);
    EXPECT_EQ(state.step().dtype(), kFloat);
  }
}

TEST(Optimizer, RefusesBadParameters) {
  const Tensor p = leaf(1);
  optim::SGD sgd({p}, 0.1);
  EXPECT_THROWS(sgd.add_param_group(OptimizerParamGroup({p})), StateError, "already", "[3]");
  EXPECT_THROWS(optim::SGD({p, p}, 0.1), StateError, "parameter 1", "already");
  EXPECT_THROWS(optim::SGD({p * 2}, 0.1), AutogradError, "parameter 0", "leaves");
  EXPECT_THROWS(optim::SGD({Tensor()}, 0.1), StateError, "undefined");
  EXPECT_THROWS(optim::SGD({zeros({2}, kLong)}, 0.1), DTypeError, "i64");
  EXPECT_THROWS(PlainDescent(std::vector<Tensor>{p, Tensor()}), StateError, "parameter 1");
  EXPECT_EQ(sgd.size(), 1U);
  // Having no parameters is an error; having no gradients is not.
  const OptimizerParamGroup nothing(std::vector<Tensor>{});
  EXPECT_THROWS(optim::SGD({nothing}, 0.1).step(), StateError, "SGD", "without any parameters");
  EXPECT_THROWS(optim::Adam({nothing}).step(), StateError, "Adam", "without any parameters");
  sgd.step();
  EXPECT_EQ(p[0].item<float>(), 1);
}

TEST(Optimizer, RefusesBadGradients) {
  const Tensor p = leaf(1), q = leaf(1);
  optim::SGD sgd({p, q}, 0.1);
  optim::Adam adam({p, q});
  set_grad(p, 1);
  q.mutable_grad() = ones({2});
  EXPECT_THROWS(sgd.step(), ShapeError, "SGD", "[3]", "[2]");
  EXPECT_THROWS(adam.step(), ShapeError, "Adam", "[3]", "[2]");
  EXPECT_EQ(p[0].item<float>(), 1);  // checked before anything is written
  q.mutable_grad() = ones({3}, kLong);
  EXPECT_THROWS(sgd.step(), DTypeError, "i64");
}

TEST(Optimizer, RefusesBadOptions) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const std::vector<Tensor> params{leaf(1)};
  using optim::SGDOptions;
  EXPECT_THROWS(optim::SGD(params, -0.1), StateError, "SGD", "lr = -0.1");
  EXPECT_THROWS(optim::SGD(params, nan), StateError, "lr = nan");
  EXPECT_THROWS(optim::SGD(params, inf), StateError, "lr = inf");
  EXPECT_THROWS(optim::SGD(params, SGDOptions(1).momentum(-1)), StateError, "momentum = -1");
  EXPECT_THROWS(optim::SGD(params, SGDOptions(1).weight_decay(-1)), StateError, "weight_decay = -1");
  EXPECT_THROWS(optim::SGD(params, SGDOptions(1).momentum(1).dampening(nan)), StateError, "dampening");
  EXPECT_THROWS(optim::SGD(params, SGDOptions(1).nesterov(true)), StateError, "nesterov", "momentum = 0");
  EXPECT_THROWS(optim::SGD(params, SGDOptions(1).momentum(0.9).dampening(0.1).nesterov(true)), StateError, "dampening");
  using optim::AdamOptions;
  EXPECT_THROWS(optim::Adam(params, -1), StateError, "Adam", "lr = -1");
  EXPECT_THROWS(optim::Adam(params, AdamOptions().eps(-1)), StateError, "eps = -1");
  EXPECT_THROWS(optim::Adam(params, AdamOptions().weight_decay(-1)), StateError, "weight_decay = -1");
  EXPECT_THROWS(optim::Adam(params, AdamOptions().betas({1, 0.9})), StateError, "beta 0 = 1");
  EXPECT_THROWS(optim::Adam(params, AdamOptions().betas({0.9, -0.1})), StateError, "beta 1 = -0.1");
  EXPECT_THROWS(optim::AdamW(params, optim::AdamWOptions().betas({0.9, 1.5})), StateError, "AdamW", "beta 1 = 1.5");
  // Also later: in an added group, or changed between steps.
  optim::SGD sgd(params, 0.1);
  EXPECT_THROWS(sgd.add_param_group({{leaf(1)}, std::make_unique<SGDOptions>(-1)}), StateError, "lr = -1");
  EXPECT_THROWS(sgd.add_param_group({{leaf(1)}, std::make_unique<AdamOptions>()}), StateError, "SGDOptions");
  EXPECT_EQ(sgd.size(), 1U);
  sgd.param_groups()[0].options().set_lr(nan);
  EXPECT_THROWS(sgd.step(), StateError, "lr = nan");
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(params, std::make_unique<SGDOptions>(1));
  EXPECT_THROWS(optim::Adam(groups), StateError, "AdamOptions");
}

TEST(Optimizer, DetectsMismatchedState) {
  const Tensor p = leaf(1);
  optim::SGD sgd({p}, optim::SGDOptions(0.5).momentum(0.9));
  optim::Adam adam({p});
  set_grad(p, 1);
  sgd.step();
  adam.step();
  p.set_data(zeros({5}));
  set_grad(p, 1);
  EXPECT_THROWS(sgd.step(), StateError, "momentum_buffer", "[3]", "[5]", "new optimizer");
  EXPECT_THROWS(adam.step(), StateError, "exp_avg", "[3]", "[5]");
  p.set_data(zeros({3}, kDouble));
  set_grad(p, 1);
  EXPECT_THROWS(sgd.step(), StateError, "f32", "f64");
}

TEST(Optimizer, AParameterThatReplacesAnotherHasNoState) {
  optim::Adam adam({leaf(1)});
  optim::SGD sgd({leaf(1)}, optim::SGDOptions(0.5).momentum(0.9));
  optim::SGD rounded({leaf(1, kBFloat16)}, optim::SGDOptions(0.001));
  rounded.keep_master_weights();
  for (optim::Optimizer* optimizer : {static_cast<optim::Optimizer*>(&adam), static_cast<optim::Optimizer*>(&sgd)}) {
    for (int i = 0; i < 20; ++i) {  // the allocator gives a freed address again
      std::vector<Tensor>& params = optimizer->param_groups()[0].params();
      set_grad(params[0], 1);
      optimizer->step();
      params[0] = Tensor();
      params[0] = leaf(i);
      ASSERT_FALSE(optimizer->state().contains(&params[0].impl()));
    }
  }
  for (int i = 0; i < 20; ++i) {
    std::vector<Tensor>& params = rounded.param_groups()[0].params();
    set_grad(params[0], 1);
    rounded.step();  // leaves the bf16 parameter at 1: only its master moves
    ASSERT_LT(rounded.master(params[0])[0].item<float>(), 1);
    params[0] = Tensor();
    params[0] = leaf(1, kBFloat16);
    ASSERT_EQ(rounded.master(params[0])[0].item<float>(), 1);
  }
}

TEST(Optimizer, CustomOptimizers) {
  const Tensor p = leaf(1);
  PlainDescent own({p});
  set_grad(p, 1);
  own.step();
  EXPECT_EQ(p[0].item<float>(), 0.5F);
  EXPECT_FALSE(own.supports_amp_scaling());
  EXPECT_THROWS(own.step(FusedUnscale{}), NotImplementedError, "step: ", "supports_amp_scaling");
  struct NoRate : optim::OptimizerCloneableOptions<NoRate> {};
  NoRate none;
  EXPECT_THROWS(none.get_lr(), StateError, "get_lr");
  EXPECT_THROWS(none.set_lr(1), StateError, "set_lr");
}

}  // namespace
}  // namespace tandem
