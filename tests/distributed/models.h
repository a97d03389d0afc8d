#pragma once
// Small models and data for the tests of data-parallel training. All values follow from formulas, because threads share
// the random generator.
#include <cmath>

#include "distributed/ranks.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

/// Numbers in (-1, 1) that depend on the index and `seed`.
inline Tensor numbers(IntArrayRef sizes, int64_t seed, DType dtype = kDouble) {
  const Tensor x = empty(sizes, TensorOptions(kDouble).device(kCPU));
  double* p = x.data_ptr<double>();
  for (int64_t i = 0; i < x.numel(); ++i) p[i] = std::sin(static_cast<double>(1 + i * 13 + seed * 101));
  return x.to(get_default_device(), dtype);
}

struct MlpImpl : nn::Module {
  explicit MlpImpl(int64_t seed) : fc1(6, 8), fc2(8, 3) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    to(kDouble);
    const NoGradGuard no_grad;
    for (const Tensor& p : parameters()) p.copy_(numbers(p.sizes(), seed++) * 0.5);
  }
  Tensor forward(const Tensor& x) { return fc2(tanh(fc1(x))); }
  nn::Linear fc1, fc2;
};

/// The rows of `x` that belong to a rank of `ranks`.
inline Tensor part_of(const Tensor& x, int rank, int ranks) {
  const int64_t rows = x.size(0) / ranks;
  return x.narrow(0, rank * rows, rows);
}

inline Tensor mean_square(const Tensor& y, const Tensor& target) { return (y - target).square().mean(); }

/// Expects equal gradients, up to the rounding of sums in another order.
inline void expect_close(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].defined(), expected[i].defined()) << "tensor " << i;
    if (!actual[i].defined()) continue;
    EXPECT_TRUE(allclose(actual[i], expected[i], tolerance, tolerance)) << "tensor " << i;
  }
}

inline std::vector<Tensor> gradients_of(const nn::Module& module) {
  std::vector<Tensor> grads;
  for (const Tensor& p : module.parameters()) grads.push_back(p.grad());
  return grads;
}

/// Expects the same bits on all ranks.
inline void expect_same_on_all_ranks(const Group& group, const Tensor& x) {
  std::vector<Tensor> all;
  for (int r = 0; r < group->size(); ++r) all.push_back(empty_like(x));
  group->all_gather(all, x.detach().contiguous());
  for (const Tensor& other : all) EXPECT_TRUE(equal(other, x));
}

}  // namespace tandem::testing
