#pragma once
// Shared by the tests of op families: short names, leaves, and the check of first and second derivatives.
#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <vector>

#include "support/compare.h"
#include "support/throws.h"
#include "tandem/autograd/gradcheck.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {

using In = const std::vector<Tensor>&;
using Out = std::vector<Tensor>;

constexpr double kInf = std::numeric_limits<double>::infinity();

inline Tensor f64(IntArrayRef sizes) { return randn(sizes, kDouble).requires_grad_(); }
inline Tensor leaf(IntArrayRef sizes, DType dtype = kFloat) { return randn(sizes).to(dtype).requires_grad_(); }
inline Tensor classes(std::initializer_list<int64_t> list) { return tensor(std::vector<int64_t>(list)); }
inline bool share_memory(const Tensor& a, const Tensor& b) { return &a.storage() == &b.storage(); }
inline bool is_channels_last(const Tensor& x) { return x.is_contiguous(kChannelsLast) && !x.is_contiguous(); }

/// Checks first and second derivatives against finite differences.
inline void check_twice(const autograd::TensorFunction& f, const std::vector<Tensor>& inputs) {
  EXPECT_TRUE(autograd::gradcheck(f, inputs));
  EXPECT_TRUE(autograd::gradgradcheck(f, inputs));
}

/// Every test starts with the same random seed.
class OpTest : public ::testing::Test {
 protected:
  void SetUp() override { manual_seed(7); }
};

}  // namespace tandem::testing
