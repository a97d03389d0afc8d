// Which float8 products the device multiplies itself (tests/amp/fp8 checks their values): those with one scale for each
// operand; with blocks of 128 numbers on compute capability 9.0, and of 32 from 10.0.
#include <cublasLt.h>
#include <gtest/gtest.h>

#include "cuda_emulated/device/device.h"
#include "tandem/amp/fp8.h"
#include "tandem/backend.h"
#include "tandem/cuda/device.h"
#include "tandem/tandem.h"

namespace tandem::cuda {
namespace {

/// The products of a linear layer, forward and backward, that are done in float8.
const int64_t* float8_products(const amp::Fp8Recipe& recipe, int64_t in) {
  const Tensor x = ones({64, in}, kCUDA).requires_grad_(), w = ones({160, in}, kCUDA).requires_grad_();
  emulated::counts() = {};
  Tensor y;
  {
    const amp::Fp8AutocastGuard fp8(kCUDA, recipe);
    y = linear(x, w);
  }
  y.sum().backward();
  return emulated::counts().float8_products;
}

TEST(Float8Products, BlockScaledProductsRunInFloat8) {
  const DeviceProperties device = get_device_properties(current_device());
  const bool any = 10 * device.major + device.minor >= 89;
  EXPECT_EQ(float8_products(amp::Float8CurrentScaling(), 288)[CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F], any ? 3 : 0);
  // In the BLAS's order, A is the weight in the products of the output and of the input's gradient.
  const int64_t* of_128 = float8_products(amp::Float8BlockScaling(), 288);
  EXPECT_EQ(of_128[CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F], device.major == 9 ? 2 : 0);
  EXPECT_EQ(of_128[CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F], device.major == 9 ? 1 : 0);
  const int64_t* of_32 = float8_products(amp::MXFP8BlockScaling(), 288);
  EXPECT_EQ(of_32[CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0], device.major >= 10 ? 3 : 0);
}

// cuBLASLt adds only a bias in bf16 to an f32 result.
TEST(Float8Products, ABiasOfAnF32ResultIsAddedInF32) {
  const DeviceProperties device = get_device_properties(current_device());
  const auto codes = [](IntArrayRef sizes) { return rand(sizes, kCUDA).to(kFloat8_e4m3fn); };
  const Tensor x = codes({64, 32}), w = codes({48, 32}), bias = mul(rand({48}, kCUDA), 100), scale = ones({1}, kCUDA);
  const auto product = [&](const Tensor& added) {
    const Tensor y = empty({64, 48}, kCUDA);
    backend(y).gemm({.d = y, .a = x, .b = w.t(), .bias = added, .scales_a = {scale}, .scales_b = {scale}});
    return y;
  };
  emulated::counts() = {};
  const Tensor y = product(bias);
  synchronize();
  EXPECT_EQ(emulated::counts().float8_products[CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F],
            10 * device.major + device.minor >= 89);
  EXPECT_EQ(sub(y, add(product({}), bias)).abs().max().item<float>(), 0);
}

TEST(Float8Products, OtherSizesAreWidened) {
  for (const amp::Fp8Recipe& recipe :
       {amp::Fp8Recipe(amp::Float8BlockScaling()), amp::Fp8Recipe(amp::MXFP8BlockScaling())}) {
    const int64_t* counts = float8_products(recipe, 40);
    // The sum over the batch, for the weight's gradient, has a size that fits; its columns do not.
    for (int mode = 0; mode < 4; ++mode) EXPECT_EQ(counts[mode], 0) << mode;
  }
}

}  // namespace
}  // namespace tandem::cuda
