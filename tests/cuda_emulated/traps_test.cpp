// An index out of range stops the kernel.
#include <gtest/gtest.h>

#include "cuda_emulated/emulator.h"
#include "kernels/cuda/kernels.h"
#include "kernels/raw_tensors.h"
#include "tandem/cuda/math_mode.h"

namespace tandem::testing {
namespace {

TEST(EmulatedIndex, OutOfRangeTraps) {
  using cuda::emulated::Trap;
  const Tensor x = tensor_of(std::vector<double>(10, 1), kFloat), y = tensor_of(std::vector<double>(600, 7), kFloat);
  for (double bad : {-1.0, 10.0, 1e9}) {
    for (DType dtype : {kLong, kInt}) {
      std::vector<double> indices(600, 3);
      indices[200] = bad;
      const Tensor index = tensor_of(indices, dtype);
      EXPECT_THROW(cuda::gather(y, x, 0, index), Trap);
      EXPECT_THROW(cuda::index_select(y, x, 0, index), Trap);
      EXPECT_THROW(cuda::scatter_add(x, 0, index, y), Trap);
      EXPECT_THROW(cuda::index_add(x, 0, index, y), Trap);
      cuda::set_deterministic(true);
      EXPECT_THROW(cuda::scatter_add(x, 0, index, y), Trap);
      EXPECT_THROW(cuda::index_add(x, 0, index, y), Trap);
      cuda::set_deterministic(false);
    }
  }
}

TEST(EmulatedCrossEntropy, ClassOutOfRangeTraps) {
  const Tensor x = tensor_of(std::vector<double>(30, 1), kFloat), logits = make_view(x, {10, 3}, {3, 1}, 0);
  const Tensor loss = empty({10}), max = empty({10}), log_sum = empty({10}), none;
  for (double bad : {-1.0, 3.0, 1e9}) {
    for (DType dtype : {kLong, kInt}) {
      std::vector<double> target(10, 2);
      target[7] = bad;
      EXPECT_THROW(cuda::cross_entropy(loss, none, max, log_sum, logits, tensor_of(target, dtype), none, -100),
                   cuda::emulated::Trap);
    }
  }
}

}  // namespace
}  // namespace tandem::testing
