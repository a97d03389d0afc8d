// What the optimizers derived from MultiTensorOptimizer have in common, apart from formulas and errors.
#include "tandem/optim/multi_tensor_optimizer.h"

#include <gtest/gtest.h>

#include "optim/tested_optimizers.h"
#include "support/state.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using namespace optim;  // NOLINT(google-build-using-namespace)

Tensor leaf_with_gradient(double gradient, DType dtype = kFloat) {
  const Tensor p = ones({3}, dtype).requires_grad_();
  p.mutable_grad() = full({3}, gradient, dtype);
  return p;
}

TEST(MultiTensorOptimizer, DerivedClassesAreNotSteppedFused) {
  struct Mine : RMSprop {
    using RMSprop::RMSprop;
  };
  struct Fused : RMSprop {
    using RMSprop::RMSprop;
    bool overrides_step() const override { return false; }
  };
  const Tensor p = leaf_with_gradient(1);
  EXPECT_TRUE(RMSprop({p}).steps_fused());
  EXPECT_FALSE(Mine({p}).steps_fused());
  EXPECT_TRUE(Fused({p}).steps_fused());
}

TEST(MultiTensorOptimizer, OptionsSetLaterCreateTheirState) {
  const Tensor p = leaf_with_gradient(2);
  RMSprop rmsprop({p});
  rmsprop.step();
  const auto& state = static_cast<const RMSpropParamState&>(*rmsprop.state().at(&p.impl()));
  EXPECT_FALSE(state.momentum_buffer().defined() || state.grad_avg().defined());
  auto& options = static_cast<RMSpropOptions&>(rmsprop.param_groups()[0].options());
  options.momentum(0.5).centered(true);
  rmsprop.step();
  EXPECT_TRUE(state.momentum_buffer().defined() && state.grad_avg().defined());
  EXPECT_EQ(state.step().item<float>(), 2);
  options.momentum(0);
  const Tensor buffer = state.momentum_buffer().clone();
  rmsprop.step();
  EXPECT_EQ(difference(state.momentum_buffer(), buffer), "") << "without momentum the buffer stays";
}

TEST(MultiTensorOptimizer, InitialStates) {
  const Tensor p = leaf_with_gradient(0);
  Adagrad adagrad({p}, AdagradOptions().initial_accumulator_value(0.5));
  NAdam nadam({p});
  adagrad.step();
  nadam.step(FusedUnscale{{}, ones({})});  // skipped
  EXPECT_EQ(static_cast<AdagradParamState&>(*adagrad.state().at(&p.impl())).sum()[1].item<float>(), 0.5F);
  const auto& state = static_cast<const NAdamParamState&>(*nadam.state().at(&p.impl()));
  EXPECT_EQ(state.mu_product().item<float>(), 1);
  EXPECT_EQ(state.step().item<float>(), 0);
}

TEST(MultiTensorOptimizer, StepsMixedDtypes) {
  for (const TestedOptimizer& tested : tested_optimizers()) {
    std::vector<Tensor> params;
    for (const DType t : {kFloat, kDouble, kHalf, kBFloat16}) params.push_back(leaf_with_gradient(0.5, t));
    const auto optimizer = tested.make(params, 0.125);
    optimizer->step();
    const double expected = params[1][0].item<double>();
    EXPECT_LT(expected, 1) << tested.name;
    const double tolerances[] = {1e-6, 0, 1e-3, 8e-3};
    for (size_t k = 0; k < params.size(); ++k) {
      EXPECT_NEAR(params[k][0].item<double>(), expected, tolerances[k]) << tested.name;
    }
    if (tested.name == "AdamWCompact") continue;  // moment_dtypes_test.cpp
    for (const auto& item : state_below(optimizer->state_dict(), "state.2")) EXPECT_EQ(item.value().dtype(), kFloat);
  }
}

TEST(MultiTensorOptimizer, LionStepsByTheSign) {
  const Tensor p = leaf_with_gradient(0);
  p.mutable_grad() = tensor({3.0F, -1e-20F, 0.0F});
  Lion lion({p}, LionOptions(0.25));
  lion.step();
  EXPECT_EQ(difference(p, tensor({0.75F, 1.25F, 1.0F})), "");
}

}  // namespace
}  // namespace tandem::testing
