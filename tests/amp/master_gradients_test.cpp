// Gradients of 16-bit parameters with masters accumulate in f32.
#include <gtest/gtest.h>

#include <tuple>

#include "tandem/autograd/engine.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

struct MasterGradients : ::testing::TestWithParam<std::tuple<DType, optim::MasterWeights>> {
  DType low = std::get<0>(GetParam());
  Tensor p = ones({2}, low).requires_grad_();
  optim::SGD sgd{std::vector<Tensor>{p}, optim::SGDOptions(1.0)};
  MasterGradients() { sgd.keep_master_weights(std::get<1>(GetParam())); }
};

TEST_P(MasterGradients, AccumulateInF32) {
  for (int i = 0; i < 512; ++i) (p * 1).sum().backward();
  EXPECT_EQ(p.grad().dtype(), kFloat);
  EXPECT_EQ(p.grad()[0].item<float>(), 512);
  sgd.zero_grad(/*set_to_none=*/false);
  EXPECT_EQ(p.grad().dtype(), kFloat);
  Tensor sum = zeros({2}, low);
  for (int i = 0; i < 512; ++i) sum = sum + p;  // uses in one pass
  sum.sum().backward();
  EXPECT_EQ(p.grad()[0].item<float>(), 512);
}

TEST_P(MasterGradients, ProductsWriteThemUnrounded) {
  const Tensor x = ones({257, 1}, low), w = ones({1, 2}, low).requires_grad_();
  optim::SGD of_w({w}, optim::SGDOptions(1.0));
  of_w.keep_master_weights(std::get<1>(GetParam()));
  mm(x, w).sum().backward();
  EXPECT_EQ(w.grad()[0][0].item<float>(), 257) << "256 in bf16";
  EXPECT_EQ(autograd::grad({mm(x, w).sum()}, {w})[0].dtype(), low) << "grad() returns the input's dtype";
}

TEST_P(MasterGradients, AcceptAssignedLowGradients) {
  p.mutable_grad() = full({2}, 256.0, low);
  (p * 1).sum().backward();
  EXPECT_EQ(p.grad().dtype(), kFloat);
  EXPECT_EQ(p.grad()[0].item<float>(), 257);
}

TEST_P(MasterGradients, FollowTheOptimizer) {
  const Tensor q = ones({2}, low).requires_grad_(), early = (q * 1).sum();
  sgd.add_param_group(optim::OptimizerParamGroup({q}));
  (q * 1).sum().backward();
  EXPECT_EQ(q.grad().dtype(), kFloat);
  early.backward();  // recorded before
  EXPECT_EQ(q.grad()[0].item<float>(), 2);
  sgd.zero_grad();
  sgd.keep_master_weights(optim::MasterWeights::none);
  (q * 1).sum().backward();
  EXPECT_EQ(q.grad().dtype(), low);
}

INSTANTIATE_TEST_SUITE_P(All, MasterGradients,
                         ::testing::Combine(::testing::Values(kHalf, kBFloat16),
                                            ::testing::Values(optim::MasterWeights::f32,
                                                              optim::MasterWeights::remainder)));

}  // namespace
}  // namespace tandem::testing
