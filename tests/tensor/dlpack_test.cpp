// Exchange of tensors in memory: what is exported, who frees it, and what is refused.
#include "tandem/tensor/dlpack.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "support/device.h"
#include "support/state.h"
#include "support/throws.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

// The layout of DLPack's header, version 1.0, on 64-bit systems.
static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, device) == 8 && offsetof(DLTensor, ndim) == 16 &&
              offsetof(DLTensor, dtype) == 20 && offsetof(DLTensor, shape) == 24 && offsetof(DLTensor, strides) == 32 &&
              offsetof(DLTensor, byte_offset) == 40);
static_assert(sizeof(DLManagedTensor) == 64 && offsetof(DLManagedTensor, manager_ctx) == 48 &&
              offsetof(DLManagedTensor, deleter) == 56);
static_assert(sizeof(DLManagedTensorVersioned) == 80 && offsetof(DLManagedTensorVersioned, manager_ctx) == 8 &&
              offsetof(DLManagedTensorVersioned, deleter) == 16 && offsetof(DLManagedTensorVersioned, flags) == 24 &&
              offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

TEST(DLPack, ExportsTheView) {
  const Tensor x = arange(24.0).reshape({2, 3, 4}), view = x.transpose(0, 2).narrow(1, 1, 2);
  DLManagedTensor* managed = toDLPack(view);
  const DLTensor& t = managed->dl_tensor;
  EXPECT_EQ(static_cast<char*>(t.data) + t.byte_offset, view.data_ptr());
  EXPECT_EQ(t.device.device_type, x.is_cpu() ? kDLCPU : kDLCUDA);
  EXPECT_EQ(t.device.device_id, x.is_cpu() ? 0 : x.device().index());
  EXPECT_EQ(IntArrayRef(t.shape, static_cast<size_t>(t.ndim)), view.sizes());
  EXPECT_EQ(IntArrayRef(t.strides, static_cast<size_t>(t.ndim)), view.strides());
  managed->deleter(managed);
}

TEST(DLPack, EveryDtypeRoundTrips) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const Tensor x = arange(6).to(static_cast<DType>(i)).reshape({2, 3}).t();
    const Tensor y = fromDLPack(toDLPack(x)), z = fromDLPackVersioned(toDLPackVersioned(x));
    for (const Tensor& t : {y, z}) {
      EXPECT_EQ(difference(t, x), "");
      EXPECT_EQ(t.strides(), x.strides());
      EXPECT_EQ(t.device(), x.device());
      EXPECT_EQ(t.data_ptr(), x.data_ptr());
    }
  }
  const auto code = [](DType dtype) {
    DLManagedTensor* managed = toDLPack(ones({1}, dtype));
    const DLDataType type = managed->dl_tensor.dtype;
    managed->deleter(managed);
    EXPECT_EQ(type.bits, 8 * element_size(dtype));
    EXPECT_EQ(type.lanes, 1);
    return type.code;
  };
  EXPECT_EQ(code(kBool), kDLBool);
  EXPECT_EQ(code(kByte), kDLUInt);
  EXPECT_EQ(code(kChar), kDLInt);
  EXPECT_EQ(code(kHalf), kDLFloat);
  EXPECT_EQ(code(kBFloat16), kDLBfloat);
}

TEST(DLPack, SharesMemoryForItsLifetime) {
  Tensor imported;
  {
    const Tensor x = zeros({3});
    imported = fromDLPack(toDLPack(x))[1];
    x.fill_(5);
  }
  EXPECT_EQ(imported.item<float>(), 5);
  for (const Dims& sizes : {Dims{}, Dims{0, 3}, Dims{1}}) {
    const Tensor y = fromDLPack(toDLPack(zeros(sizes)));
    EXPECT_EQ(y.sizes(), IntArrayRef(sizes));
  }
}

TEST(DLPack, KeepsTheMemoryThatATensorGivesUp) {
  const Tensor x = full({1000}, 3.0);
  const Tensor y = fromDLPack(toDLPack(x));
  x.set_data(zeros({1000}));
  const Tensor other = full({1000}, 5.0);  // would reuse freed memory
  EXPECT_EQ(difference(y, full({1000}, 3.0)), "");
}

TEST(DLPack, ExportCountsAsAWrite) {
  const Tensor x = zeros({3});
  const uint64_t version = x._version();
  DLManagedTensor* managed = toDLPack(x);
  EXPECT_GT(x._version(), version);
  EXPECT_TRUE(x.storage().pointer_escaped());
  managed->deleter(managed);
}

/// A tensor of another library, on the CPU.
template <class Managed>
struct Foreign {
  Foreign() {
    managed.dl_tensor = {values.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, sizes.data(), strides.data(), 4};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; };
  }
  std::vector<float> values{0, 1, 2, 3, 4, 5, 6};
  std::vector<int64_t> sizes{2, 3}, strides{1, 2};
  Managed managed{};
  int deleted = 0;
};

TEST(DLPack, ImportsAndReleasesOnce) {
  Foreign<DLManagedTensor> foreign;
  {
    const Tensor x = fromDLPack(&foreign.managed);
    EXPECT_EQ(difference(x, tensor({{1.0, 3.0, 5.0}, {2.0, 4.0, 6.0}}, TensorOptions(kFloat).device(kCPU))), "");
    foreign.values[1] = 10;
    EXPECT_EQ(x[0][0].item<float>(), 10);
    const Tensor view = x[1];
    EXPECT_EQ(foreign.deleted, 0);
  }
  EXPECT_EQ(foreign.deleted, 1);
  foreign.managed.dl_tensor.strides = nullptr;
  EXPECT_EQ(fromDLPack(&foreign.managed).strides(), IntArrayRef({3, 1}));
  EXPECT_EQ(foreign.deleted, 2);
  foreign.managed.dl_tensor.device.device_type = kDLCUDAHost;
  EXPECT_TRUE(fromDLPack(&foreign.managed).is_cpu());
  foreign.managed.deleter = nullptr;
  EXPECT_EQ(fromDLPack(&foreign.managed).numel(), 6);
  EXPECT_EQ(foreign.deleted, 3);
}

TEST(DLPack, ReadOnlyMemoryIsCopied) {
  Foreign<DLManagedTensorVersioned> foreign;
  foreign.managed.version = {1, 3};
  EXPECT_EQ(fromDLPackVersioned(&foreign.managed).const_data_ptr<float>(), foreign.values.data() + 1);
  EXPECT_EQ(foreign.deleted, 1);
  foreign.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  const Tensor x = fromDLPackVersioned(&foreign.managed);
  EXPECT_EQ(foreign.deleted, 2);
  x.fill_(-1);
  EXPECT_EQ(foreign.values[1], 1);
}

TEST(DLPackErrors, Export) {
  EXPECT_THROWS(toDLPack(Tensor()), StateError, "toDLPack: ", "undefined");
  EXPECT_THROWS(toDLPackVersioned(ones({2}).requires_grad_()), StateError, "toDLPackVersioned: ", "[2] f32",
                "x.detach()");
}

TEST(DLPackErrors, Import) {
  EXPECT_THROWS(fromDLPack(nullptr), StateError, "fromDLPack: ", "null");
  EXPECT_THROWS(fromDLPackVersioned(nullptr), StateError, "fromDLPackVersioned: ", "null");
  Foreign<DLManagedTensor> good;
  const auto import = [&](auto change) {
    Foreign<DLManagedTensor> foreign;
    change(foreign.managed.dl_tensor, foreign);
    try {
      fromDLPack(&foreign.managed);
    } catch (...) {
      EXPECT_EQ(foreign.deleted, 0) << "the caller keeps it";
      throw;
    }
  };
  EXPECT_THROWS(import([](DLTensor& t, auto&) { t.data = nullptr; }), StateError, "null");
  EXPECT_THROWS(import([](DLTensor& t, auto&) { t.byte_offset = 2; }), StateError,
                "not a multiple of the 4 bytes of f32");
  EXPECT_THROWS(import([](DLTensor& t, auto&) { t.device.device_type = kDLROCM; }), DeviceError, "device type 10");
  EXPECT_THROWS(import([](DLTensor& t, auto&) { t.device = {kDLCUDA, 1000}; }), DeviceError, "");
  EXPECT_THROWS(import([](DLTensor& t, auto&) {
                  t.dtype = {kDLComplex, 64, 1};
                }),
                DTypeError, "type code 5 with 64 bits");
  EXPECT_THROWS(import([](DLTensor& t, auto&) { t.dtype.lanes = 4; }), DTypeError, "4 lanes");
  EXPECT_THROWS(import([](DLTensor& t, auto&) { t.ndim = 13; }), ShapeError, "13 dimensions");
  EXPECT_THROWS(import([](DLTensor& t, auto&) { t.ndim = -1; }), ShapeError, "-1 dimensions");
  EXPECT_THROWS(import([](DLTensor& t, auto&) { t.shape = nullptr; }), StateError, "no sizes");
  EXPECT_THROWS(import([](DLTensor&, auto& f) { f.sizes[0] = -2; }), ShapeError, "negative");
  EXPECT_THROWS(import([](DLTensor&, auto& f) { f.strides[0] = -1; }), ShapeError, "negative");
  EXPECT_THROWS(import([](DLTensor&, auto& f) {
                  f.sizes = {int64_t{1} << 40, int64_t{1} << 40};
                  f.managed.dl_tensor.shape = f.sizes.data();
                }),
                ShapeError, "more bytes");
  Foreign<DLManagedTensorVersioned> newer;
  newer.managed.version = {2, 0};
  EXPECT_THROWS(fromDLPackVersioned(&newer.managed), StateError, "DLPack 2.0", "ask the producer");
}

}  // namespace
}  // namespace tandem::testing
