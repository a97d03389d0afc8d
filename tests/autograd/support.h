#pragma once
// Shared by the autograd tests.
#include <gtest/gtest.h>

#include <vector>

#include "support/compare.h"
#include "support/throws.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/node.h"
#include "tandem/base/error.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

/// An f32 leaf of rank 1 that requires grad.
inline Tensor leaf(const std::vector<double>& values, DType dtype = kFloat) {
  return tensor(values, dtype).requires_grad_();
}

/// Compares with these values in row-major order, exactly.
inline ::testing::AssertionResult equals(const Tensor& x, const std::vector<double>& expected) {
  return near(x, expected, kExact);
}

}  // namespace tandem::testing
