// Tensor without ops: geometry, pointers, accessors, versions, views, undefined tensors.
#include "tandem/tensor/tensor.h"

#include <gtest/gtest.h>

#include "support/device.h"
#include "support/throws.h"
#include "tandem/backend.h"
#include "tandem/base/error.h"
#include "tandem/base/op_scope.h"
#include "tandem/cuda/device.h"
#include "tandem/tensor/context.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

TEST(Tensor, ReportsItsGeometry) {
  const Tensor x = empty({2, 3, 4}, kHalf);
  EXPECT_EQ(x.dim(), 3);
  EXPECT_EQ(x.size(-1), 4);
  EXPECT_EQ(x.stride(0), 12);
  EXPECT_EQ(x.numel(), 24);
  EXPECT_EQ(x.nbytes(), 48U);
  EXPECT_EQ(x.dtype(), kHalf);
  EXPECT_EQ(x.device().type(), testing::device_type());
  EXPECT_TRUE(x.is_floating_point());
  EXPECT_EQ(empty({}).dim(), 0);
  EXPECT_EQ(empty({}).numel(), 1);
  EXPECT_THROWS(x.size(3), IndexError, "size: ", "dimension 3", "rank 3");
  EXPECT_THROWS(x.stride(-4), IndexError, "stride: ", "dimension -4");
  EXPECT_THROWS(empty({}).size(0), IndexError, "size: ", "rank 0");
  EXPECT_THROWS(empty({}).stride(0), IndexError, "stride: ", "rank 0");
}

TEST(Tensor, ContiguityIgnoresDimensionsOfSizeOne) {
  const Tensor x = empty({4, 6});
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_FALSE(make_view(x, {6, 4}, {1, 6}, 0).is_contiguous());
  EXPECT_TRUE(make_view(x, {1, 6}, {99, 1}, 6).is_contiguous());
  EXPECT_TRUE(make_view(x, {0, 3}, {1, 7}, 0).is_contiguous());
  EXPECT_FALSE(make_view(x, {4, 3}, {6, 2}, 0).is_contiguous());
  EXPECT_FALSE(make_view(x, {4, 6}, {0, 1}, 0).is_contiguous());

  const Tensor nhwc = empty({2, 3, 4, 5}, TensorOptions().memory_format(kChannelsLast));
  EXPECT_TRUE(nhwc.is_contiguous(kChannelsLast));
  EXPECT_FALSE(nhwc.is_contiguous());
  EXPECT_FALSE(x.is_contiguous(kChannelsLast));
  EXPECT_FALSE(empty({2, 3, 4, 5}).is_contiguous(kChannelsLast));
  EXPECT_TRUE(empty({2, 1, 4, 5}).is_contiguous(kChannelsLast));  // both formats at once
}

TEST(Tensor, ViewsShareMemoryAndVersion) {
  TANDEM_TEST_ON_HOST();
  const Tensor x = arange(6, kFloat);
  const Tensor v = make_view(x, {3}, {2}, 1);
  EXPECT_EQ((v.accessor<const float, 1>()[2]), 5.0F);
  const uint64_t version = x._version();
  v.data_ptr<float>()[0] = 42;
  EXPECT_EQ(x.const_data_ptr<float>()[1], 42.0F);
  EXPECT_EQ(x._version(), version + 1);
  EXPECT_EQ(v._version(), version + 1);
  EXPECT_EQ(v.storage_offset(), 1);
  EXPECT_EQ(&v.storage(), &x.storage());
  EXPECT_FALSE(v.is_same(x));
}

TEST(Tensor, OnlyMutablePointersRaiseTheVersion) {
  TANDEM_TEST_ON_HOST();
  const Tensor x = zeros({2, 2});
  const uint64_t version = x._version();
  EXPECT_FALSE(x.storage().pointer_escaped());
  x.const_data_ptr<float>();
  x.accessor<const float, 2>();
  EXPECT_EQ(x._version(), version);
  EXPECT_FALSE(x.storage().pointer_escaped());
  x.data_ptr<float>();
  EXPECT_EQ(x._version(), version + 1);
  EXPECT_TRUE(x.storage().pointer_escaped());
  x.accessor<float, 2>()[1][0] = 3;
  EXPECT_EQ(x._version(), version + 2);
  x.data_ptr();
  EXPECT_EQ(x._version(), version + 3);
  EXPECT_EQ(x.const_data_ptr<float>()[2], 3.0F);
}

TEST(Tensor, PointersAndAccessorsCheckTypeAndRank) {
  TANDEM_TEST_ON_HOST();
  const Tensor x = empty({2, 3}, kHalf);
  const uint64_t version = x._version();
  EXPECT_THROWS(x.data_ptr<float>(), DTypeError, "data_ptr: ", "f16", "f32");
  EXPECT_THROWS(x.const_data_ptr<BFloat16>(), DTypeError, "const_data_ptr: ", "f16", "bf16");
  EXPECT_THROWS((x.accessor<float, 2>()), DTypeError, "accessor: ", "f16", "f32");
  EXPECT_THROWS((x.accessor<Half, 3>()), ShapeError, "accessor: ", "rank 3", "rank 2", "[2, 3]");
  EXPECT_EQ(x._version(), version) << "a refused call changes nothing";
}

TEST(Tensor, AccessorsFollowStrides) {
  TANDEM_TEST_ON_HOST();
  const Tensor x = arange(24, kInt);
  const Tensor permuted = make_view(x, {4, 3, 2}, {1, 4, 12}, 0);
  const auto a = permuted.accessor<int, 3>();
  EXPECT_EQ(a[3][2][1], 3 + 8 + 12);
  a[3][2][1] = -1;
  EXPECT_EQ(x.const_data_ptr<int>()[23], -1);
  EXPECT_EQ(a.size(1), 3);
  EXPECT_EQ(a[0].stride(0), 4);
  EXPECT_EQ(a[1][2].size(0), 2);
}

TEST(Tensor, ItemReadsOneElementOfAnyDtype) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const Tensor x = full({1, 1}, 1, static_cast<DType>(i));
    EXPECT_EQ(x.item<double>(), 1.0);
    EXPECT_EQ(x.item<int>(), 1);
    EXPECT_EQ(x.item().is_floating_point(), is_floating_point(x.dtype()));
  }
  EXPECT_TRUE(tensor(true).item().is_boolean());
  EXPECT_EQ(tensor(std::vector<int64_t>{INT64_MAX}).item<int64_t>(), INT64_MAX);
  EXPECT_EQ(make_view(arange(5), {}, {}, 3).item<int64_t>(), 3);
  EXPECT_THROWS(empty({2, 1}).item(), ShapeError, "item: ", "[2, 1]", "f32");
  EXPECT_THROWS(empty({0}).item<float>(), ShapeError, "item: ", "[0]");
}

TEST(Tensor, UndefinedTensorsAreRefusedByName) {
  const Tensor x;
  EXPECT_FALSE(x.defined());
  EXPECT_THROWS(x.strides(), StateError, "undefined tensor");
  EXPECT_THROWS(x.item(), StateError, "undefined tensor");
  EXPECT_THROWS(x.data_ptr<float>(), StateError, "undefined tensor");
  EXPECT_THROWS(empty_like(x), StateError, "undefined tensor");
  EXPECT_THROWS(empty({2}, x.dtype()), DTypeError, "empty: ", "undefined tensor");
  EXPECT_THROWS(full({2}, 1, x.scalar_type()), DTypeError, "full: ", "undefined tensor");
  EXPECT_THROWS(ones({2}).to(x.dtype()), DTypeError, "to: ", "undefined tensor");
  EXPECT_THROWS(x.normal_(), StateError, "normal_: ", "undefined tensor");
}

TEST(Backend, EmptySlotErrorNamesOpDeviceAndDtype) {
  const Tensor x = empty({2}, kBFloat16);
  const Kernel<void(const Tensor&, int64_t)> slot;
  const OpScope running("conv3d");
  EXPECT_THROWS(slot(x, 1), NotImplementedError, "conv3d: ", "bf16", name(testing::device_type()));
}

TEST(Backend, AbsentDeviceIsRefused) {
  if (cuda::is_available()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_THROWS(empty({2}, kCUDA), DeviceError, "cuda is not available", "kCPU");
  EXPECT_THROWS(backend(kCUDA), DeviceError, "cuda is not available");
}

}  // namespace
}  // namespace tandem
