// Methods and functions with libtorch's names: geometry queries, resizing, conversions, packed accessors.
#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/device.h"
#include "support/throws.h"
#include "tandem/autograd/node.h"
#include "tandem/cuda/global_context.h"
#include "tandem/ops/in_place.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/special.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

TEST(GlobalContext, SetsTheSwitchesOfCuda) {
  Context& context = globalContext();
  EXPECT_EQ(context.hasCUDA(), cuda::is_available());
  EXPECT_EQ(getNumGPUs(), static_cast<size_t>(cuda::device_count()));
  EXPECT_EQ(cuda::cudnn_is_available(), cuda::is_available());
  const bool benchmark = cuda::benchmark(), deterministic = cuda::deterministic();
  const bool matmul = cuda::allow_tf32_matmul(), conv = cuda::allow_tf32_conv();
  for (const bool on : {true, false}) {
    context.setBenchmarkCuDNN(on);
    EXPECT_EQ(cuda::benchmark(), on);
    EXPECT_EQ(context.benchmarkCuDNN(), on);
    context.setDeterministicCuDNN(on);
    EXPECT_EQ(cuda::deterministic(), on);
    EXPECT_EQ(context.deterministicCuDNN(), on);
    context.setDeterministicAlgorithms(!on);
    EXPECT_EQ(context.deterministicAlgorithms(), !on);
    context.setAllowTF32CuBLAS(on);
    EXPECT_EQ(cuda::allow_tf32_matmul(), on);
    EXPECT_EQ(context.allowTF32CuBLAS(), on);
    context.setAllowTF32CuDNN(on);
    EXPECT_EQ(cuda::allow_tf32_conv(), on);
    EXPECT_EQ(context.allowTF32CuDNN(), on);
    context.setFloat32MatmulPrecision(on ? "high" : "highest");
    EXPECT_EQ(cuda::allow_tf32_matmul(), on);
    EXPECT_EQ(context.float32MatmulPrecision(), on ? Float32MatmulPrecision::HIGH : Float32MatmulPrecision::HIGHEST);
  }
  EXPECT_THROWS(context.setFloat32MatmulPrecision("higest"), StateError, "'higest' is no precision", "use highest");
  EXPECT_FALSE(cuda::allow_tf32_matmul());
  cuda::set_benchmark(benchmark);
  cuda::set_deterministic(deterministic);
  cuda::set_allow_tf32_matmul(matmul);
  cuda::set_allow_tf32_conv(conv);
}

TEST(DTypes, HaveShortNames) {
  EXPECT_EQ(zeros({1}, kF64).dtype(), kDouble);
  EXPECT_EQ(zeros({1}, kI32).dtype(), kInt);
  EXPECT_EQ(kU8, kByte);
  EXPECT_EQ(kF16, kHalf);
}

TEST(Geometry, Queries) {
  const Tensor x = zeros({2, 3, 4, 5});
  EXPECT_TRUE(x.is_non_overlapping_and_dense());
  EXPECT_TRUE(x.permute({2, 0, 3, 1}).is_non_overlapping_and_dense());
  EXPECT_FALSE(x.slice(3, 0, 2).is_non_overlapping_and_dense());
  EXPECT_FALSE(zeros({1}).expand({3}).is_non_overlapping_and_dense());
  EXPECT_EQ(x.suggest_memory_format(), MemoryFormat::Contiguous);
  EXPECT_EQ(x.contiguous(kChannelsLast).suggest_memory_format(), kChannelsLast);
  EXPECT_TRUE(x.view({-1}).is_alias_of(x));
  EXPECT_FALSE(x.clone().is_alias_of(x));
  EXPECT_TRUE(x.view({2, 3, 4, 5}).is_set_to(x));
  EXPECT_FALSE(x.view({6, 20}).is_set_to(x));
  EXPECT_TRUE(x.select(0, 1).is_view());
  EXPECT_FALSE(x.is_view());
  EXPECT_EQ(zeros({1}, TensorOptions(kCPU)).get_device(), -1);
  EXPECT_EQ(x.layout(), kStrided);
  EXPECT_TRUE(zeros({1}, kInt).is_signed());
  EXPECT_FALSE(zeros({1}, kByte).is_signed());
}

TEST(Values, IsNonzero) {
  EXPECT_TRUE(full({1, 1}, 0.5).is_nonzero());
  EXPECT_FALSE(zeros({}).is_nonzero());
  EXPECT_THROWS(zeros({2}).is_nonzero(), ShapeError, "one element");
}

TEST(Resize, KeepsTheElementsInMemory) {
  const Tensor x = arange(6).to(kFloat);
  x.resize_({2, 2});
  EXPECT_TRUE(equal(x, tensor({0.f, 1.f, 2.f, 3.f}).view({2, 2})));
  x.resize_({6});
  EXPECT_TRUE(equal(x, arange(6).to(kFloat)));
  const Tensor view = x.view({3, 2});
  x.resize_({4, 2});
  EXPECT_TRUE(equal(x.flatten().slice(0, 0, 6), arange(6).to(kFloat)));
  EXPECT_FALSE(view.is_alias_of(x));
  EXPECT_TRUE(equal(view.flatten(), arange(6).to(kFloat)));
  x.resize_as_(zeros({3}));
  EXPECT_EQ(x.numel(), 3);
  x.resize_({0});
  EXPECT_EQ(x.numel(), 0);
  EXPECT_THROWS(x.resize_({-1}), ShapeError, "resize_: ", "[-1]");
  EXPECT_THROWS(ones({2}).requires_grad_().resize_({3}), AutogradError, "resize_: ", "[2]");
}

TEST(Set, SharesTheSource) {
  const Tensor x = zeros({2}), source = arange(3);
  x.set_(source);
  EXPECT_TRUE(x.is_set_to(source));
  EXPECT_EQ(x.dtype(), kLong);
  EXPECT_THROWS(ones({2}).requires_grad_().set_(source), AutogradError, "set_: ");
  Tensor y = x;
  y.reset();
  EXPECT_FALSE(y.defined());
  EXPECT_TRUE(x.defined());
}

TEST(To, TakesFiveArguments) {
  const Tensor x = randn({1, 2, 3, 4});
  const Tensor y = x.to(Device(kCPU), kDouble, false, true, kChannelsLast);
  EXPECT_EQ(y.dtype(), kDouble);
  EXPECT_TRUE(y.is_contiguous(kChannelsLast));
  EXPECT_TRUE(equal(x.to(TensorOptions(kDouble), false, false, nullopt), x.to(kDouble)));
  EXPECT_FALSE(x.to(kFloat, false, true, nullopt).is_alias_of(x));
}

TEST(PackedAccessor, HoldsSizesAndStrides) {
  const Tensor x = arange(6, TensorOptions(kCPU)).to(kFloat).view({2, 3});
  const auto a = x.packed_accessor32<float, 2>();
  const auto b = x.t().packed_accessor64<float, 2>();
  EXPECT_EQ(a.size(1), 3);
  EXPECT_EQ(a.stride(0), 3);
  EXPECT_EQ(a[1][2], 5);
  EXPECT_EQ(b[2][1], 5);
  a[0][0] = 7;
  EXPECT_EQ(x[0][0].item<float>(), 7);
  EXPECT_THROWS((x.packed_accessor32<double, 2>()), DTypeError, "packed_accessor: ", "f32");
  EXPECT_THROWS((x.packed_accessor64<float, 1>()), ShapeError, "rank 1");
  EXPECT_THROWS((zeros({1}).expand({int64_t{1} << 32}).packed_accessor32<float, 1>()), ShapeError, "packed_accessor64");
}

TEST(Names, NodesHaveLibtorchsForm) {
  const Tensor x = ones({2}).requires_grad_();
  EXPECT_EQ((x + 2).grad_fn()->name(), "AddBackward0");
  EXPECT_EQ(log_softmax(x, 0).grad_fn()->name(), "LogSoftmaxBackward0");
  const Tensor y = x * 2;
  EXPECT_FALSE(y.retains_grad());
  y.retain_grad();
  EXPECT_TRUE(y.retains_grad());
}

TEST(InPlaceFunctions, AreTheMethods) {
  const Tensor x = tensor({-1.f, 2.f});
  EXPECT_TRUE(relu_(x).is_same(x));
  EXPECT_TRUE(equal(x, tensor({0.f, 2.f})));
  fill_(x, 0.25);
  EXPECT_TRUE(equal(sqrt_(x), full({2}, 0.5)));
  EXPECT_TRUE(equal(special::expit(x), sigmoid(x)));
  EXPECT_TRUE(equal(x.reshape_as(zeros({2, 1})).mT(), x.view({1, 2})));
}

TEST(Scalars, HaveLibtorchsConversions) {
  EXPECT_EQ(Scalar(2.75).toLong(), 2);
  EXPECT_EQ(Scalar(3).toDouble(), 3.0);
  EXPECT_TRUE(Scalar(true).isIntegral(true));
  EXPECT_FALSE(Scalar(true).isIntegral(false));
}

}  // namespace
}  // namespace tandem
