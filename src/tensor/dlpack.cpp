#include "tandem/tensor/dlpack.h"

#include <cstdint>
#include <memory>

#include "tandem/base/check.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

// ---- export

DLDataType dlpack_type(DType t) {
  const int code = t == kBool             ? kDLBool
                   : t == kBFloat16       ? kDLBfloat
                   : t == kFloat8_e4m3fn  ? kDLFloat8_e4m3fn
                   : t == kFloat8_e5m2    ? kDLFloat8_e5m2
                   : t == kFloat8_e8m0fnu ? kDLFloat8_e8m0fnu
                   : is_floating_point(t) ? kDLFloat
                   : is_unsigned(t)       ? kDLUInt
                                          : kDLInt;
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(8 * element_size(t)), 1};
}

/// An exported tensor. Keeps the memory alive, also if set_data() gives the tensor another.
template <class Managed>
struct Export {
  std::shared_ptr<Storage> memory;
  Dims sizes, strides;
  Managed managed{};
};

template <class Managed>
std::unique_ptr<Export<Managed>> new_export(const Tensor& x) {
  TANDEM_CHECK(x.defined(), StateError, "the tensor is undefined; give it a value first");
  TANDEM_CHECK(!x.requires_grad(), StateError,
               "the tensor {} {} requires grad, and writes by the consumer cannot be recorded; export x.detach()",
               to_string(x.sizes()), name(x.dtype()));
  auto exported = std::make_unique<Export<Managed>>();
  exported->memory = x.impl().storage;
  exported->sizes = Dims(x.sizes());
  exported->strides = Dims(x.strides());
  DLTensor& t = exported->managed.dl_tensor;
  t.data = x.numel() > 0 ? x.data_ptr() : nullptr;  // counts as a write: the consumer may do so at any time
  t.device = x.is_cpu() ? DLDevice{kDLCPU, 0} : DLDevice{kDLCUDA, x.device().index()};
  t.ndim = static_cast<int32_t>(x.dim());
  t.dtype = dlpack_type(x.dtype());
  t.shape = exported->sizes.begin();
  t.strides = exported->strides.begin();
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](Managed* self) { delete static_cast<Export<Managed>*>(self->manager_ctx); };
  return exported;
}

// ---- import

DType dtype_of_dlpack(const DLDataType& type) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DLDataType own = dlpack_type(static_cast<DType>(i));
    if (own.code == type.code && own.bits == type.bits && type.lanes == 1) return static_cast<DType>(i);
  }
  TANDEM_THROW(DTypeError, "DLPack's type code {} with {} bits and {} lanes has no dtype here; convert it first",
               type.code, type.bits, type.lanes);
}

Device device_of_dlpack(const DLDevice& device) {
  if (device.device_type == kDLCPU || device.device_type == kDLCUDAHost) return Device(kCPU);
  TANDEM_CHECK(device.device_type == kDLCUDA, DeviceError,
               "DLPack's device type {} is neither the CPU nor CUDA; copy the tensor to one of them first",
               static_cast<int>(device.device_type));
  accelerator().check_available();
  const int count = accelerator().device_count();
  TANDEM_CHECK(device.device_id >= 0 && device.device_id < count, DeviceError,
               "the tensor is on CUDA device {}, but there are {} devices; copy it to one of them", device.device_id,
               count);
  return Device(kCUDA, device.device_id);
}

/// A tensor over the memory of `t`, without an owner.
Tensor view_of_dlpack(const DLTensor& t, const std::function<void(void*)>& deleter) {
  TANDEM_CHECK(t.ndim >= 0 && t.ndim <= kMaxRank, ShapeError, "the tensor has {} dimensions; at most {} are possible",
               t.ndim, kMaxRank);
  const auto rank = static_cast<size_t>(t.ndim);
  TANDEM_CHECK(rank == 0 || t.shape, StateError, "a tensor of {} dimensions has no sizes; the producer must set them",
               rank);
  const DType dtype = dtype_of_dlpack(t.dtype);
  const Device device = device_of_dlpack(t.device);
  const IntArrayRef sizes(t.shape, rank);
  const Dims strides = t.strides ? Dims(IntArrayRef(t.strides, rank)) : contiguous_strides(sizes);
  char* const data = t.data ? static_cast<char*>(t.data) + t.byte_offset : nullptr;
  TANDEM_CHECK(reinterpret_cast<uintptr_t>(data) % element_size(dtype) == 0, StateError,
               "the data begin at an address that is not a multiple of the {} bytes of {}; copy the tensor first",
               element_size(dtype), name(dtype));
  return from_blob(data, sizes, strides, deleter, TensorOptions(dtype).device(device));
}

template <class Managed>
Tensor import(Managed* managed) {
  return view_of_dlpack(managed->dl_tensor, [managed](void*) {
    if (managed->deleter) managed->deleter(managed);
  });
}

}  // namespace

DLManagedTensor* toDLPack(const Tensor& x) {
  const OpScope op("toDLPack");
  return &new_export<DLManagedTensor>(x).release()->managed;
}

DLManagedTensorVersioned* toDLPackVersioned(const Tensor& x) {
  const OpScope op("toDLPackVersioned");
  auto exported = new_export<DLManagedTensorVersioned>(x);
  exported->managed.version = {1, 0};
  return &exported.release()->managed;
}

Tensor fromDLPack(DLManagedTensor* managed) {
  const OpScope op("fromDLPack");
  TANDEM_CHECK(managed, StateError, "the pointer is null; pass what the producer returned");
  return import(managed);
}

Tensor fromDLPackVersioned(DLManagedTensorVersioned* managed) {
  const OpScope op("fromDLPackVersioned");
  TANDEM_CHECK(managed, StateError, "the pointer is null; pass what the producer returned");
  TANDEM_CHECK(managed->version.major == 1, StateError,
               "the tensor is in the form of DLPack {}.{}, but tandem knows 1.x; ask the producer for that version",
               managed->version.major, managed->version.minor);
  if ((managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0) return import(managed);
  Tensor copy = view_of_dlpack(managed->dl_tensor, {}).clone();
  if (managed->deleter) managed->deleter(managed);
  return copy;
}

}  // namespace tandem
