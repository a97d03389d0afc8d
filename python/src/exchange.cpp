// Exchange of memory with NumPy (the buffer protocol) and with other libraries (DLPack). Nothing is copied: the memory
// lives as long as either side uses it.
#include <nanobind/ndarray.h>

#include "bridge.h"
#include "tandem/base/error.h"
#include "tandem/cuda/device.h"
#include "tandem/tensor/dlpack.h"
#include "tandem/tensor/factories.h"

namespace tandem::python {
namespace {

// ---- NumPy

/// The dtype of a buffer's elements. `format` is that of the module struct, in native byte order.
DType dtype_of_format(const std::string& format, Py_ssize_t size) {
  const std::string code = !format.empty() && (format[0] == '@' || format[0] == '=') ? format.substr(1) : format;
  const char letter = code.size() == 1 ? code[0] : '\0';
  const bool is_signed = std::string("bhilq").find(letter) != std::string::npos;
  if (letter == '?' && size == 1) return kBool;
  if (letter == 'e' && size == 2) return kHalf;
  if (letter == 'f' && size == 4) return kFloat;
  if (letter == 'd' && size == 8) return kDouble;
  const bool is_unsigned = std::string("BHILQ").find(letter) != std::string::npos;
  if (letter != '\0' && (is_signed || is_unsigned)) {
    if (size == 1) return is_signed ? kChar : kByte;
    if (size == 2) return is_signed ? kShort : kUInt16;
    if (size == 4) return is_signed ? kInt : kUInt32;
    if (size == 8) return is_signed ? kLong : kUInt64;
  }
  throw DTypeError("from_numpy", "tandem has no dtype for the buffer format '" + format + "' with " +
                                     std::to_string(size) + " bytes; convert the array with astype() first");
}

/// A tensor over the memory of an object with the buffer protocol, such as a NumPy array. The buffer stays locked, so
/// that the object cannot be resized, until the last view of the tensor is destroyed.
Tensor from_numpy(nb::handle array) {
  auto buffer = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(array.ptr(), buffer.get(), PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) nb::raise_python_error();
  const auto unlock = [](Py_buffer* b) {
    with_gil([&] {
      PyBuffer_Release(b);
      delete b;
    });
  };
  const std::shared_ptr<Py_buffer> shared(buffer.release(), unlock);
  const Py_buffer& b = *shared;
  if (b.readonly) {
    throw StateError("from_numpy", "the array is read-only, but any tensor can be written; pass a copy of the array");
  }
  const DType dtype = dtype_of_format(b.format ? b.format : "B", b.itemsize);
  if (b.ndim > kMaxRank) {
    throw ShapeError("from_numpy", "the array has " + std::to_string(b.ndim) + " dimensions; at most " +
                                       std::to_string(kMaxRank) + " are possible");
  }
  Dims sizes, strides;
  for (int i = 0; i < b.ndim; ++i) {
    const Py_ssize_t bytes = b.strides[i];
    if (bytes < 0 && b.shape[i] > 1) {
      throw ShapeError("from_numpy", "stride " + std::to_string(bytes) + " of dimension " + std::to_string(i) +
                                         " is negative; pass numpy.ascontiguousarray(array)");
    }
    if (bytes % b.itemsize != 0) {
      throw ShapeError("from_numpy", "stride " + std::to_string(bytes) + " of dimension " + std::to_string(i) +
                                         " is not a multiple of the element's " + std::to_string(b.itemsize) +
                                         " bytes; pass numpy.ascontiguousarray(array)");
    }
    sizes.push_back(b.shape[i]);
    strides.push_back(bytes < 0 ? 1 : bytes / b.itemsize);
  }
  if (reinterpret_cast<uintptr_t>(b.buf) % static_cast<size_t>(b.itemsize) != 0) {
    throw StateError("from_numpy", "the array is not aligned to its elements; pass a copy of it");
  }
  return from_blob(
      b.buf, sizes, strides, [shared](void*) {}, TensorOptions(dtype));
}

/// Returns the address of the first element for a consumer that may write at any time. Every autocast region then casts
/// weights in this memory again. Unlike Tensor::data_ptr(), the call does not count as a write, so a program can look
/// at values between forward and backward. As in PyTorch, the check of saved tensors does not see the consumer's
/// writes.
void* shared_pointer(const Tensor& x) {
  x.impl().storage->set_pointer_escaped();
  return x.raw_bytes();
}

nb::dlpack::dtype numpy_dtype(DType t) {
  using Code = nb::dlpack::dtype_code;
  const Code code = t == kBool             ? Code::Bool
                    : is_floating_point(t) ? Code::Float
                    : is_unsigned(t)       ? Code::UInt
                                           : Code::Int;
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(8 * element_size(t)), 1};
}

/// An array over the tensor's memory. It owns a share of the storage, not of the tensor, whose data may be replaced.
nb::object to_numpy(const Tensor& x, bool force) {
  if (force) return to_numpy(x.detach().cpu(), false);
  const DType t = x.dtype();
  if (t == kBFloat16 || is_float8(t)) {
    throw DTypeError("numpy", "NumPy has no " + std::string(name(t)) + "; convert with .float() first");
  }
  if (x.requires_grad()) {
    throw StateError("numpy", "the tensor requires grad, and writes to the array cannot be recorded; call " +
                                  std::string("x.detach().numpy()"));
  }
  if (!x.is_cpu()) {
    throw DeviceError("numpy", "the tensor is on " + x.device().str() + "; copy it with .cpu() first");
  }
  std::vector<size_t> sizes;
  for (int64_t size : x.sizes()) sizes.push_back(static_cast<size_t>(size));
  using Owner = std::shared_ptr<Storage>;
  auto owner = std::make_unique<Owner>(x.impl().storage);
  const nb::capsule capsule(owner.get(), [](void* p) noexcept { delete static_cast<Owner*>(p); });
  owner.release();
  return nb::cast(nb::ndarray<nb::numpy>(shared_pointer(x), sizes.size(), sizes.data(), capsule, x.strides().data(),
                                         numpy_dtype(t)));
}

// ---- DLPack

constexpr const char *kName = "dltensor", *kUsedName = "used_dltensor";
constexpr const char *kVersionedName = "dltensor_versioned", *kUsedVersionedName = "used_dltensor_versioned";

/// A capsule that owns `managed` until a consumer renames it.
template <class Managed>
nb::object capsule_of(Managed* managed, const char* name) {
  PyObject* const capsule = PyCapsule_New(managed, name, [](PyObject* self) {
    const char* const current = PyCapsule_GetName(self);
    if (!current || (std::string(current) != kName && std::string(current) != kVersionedName)) return;
    auto* const m = static_cast<Managed*>(PyCapsule_GetPointer(self, current));
    if (m && m->deleter) m->deleter(m);
  });
  if (!capsule) {
    managed->deleter(managed);
    nb::raise_python_error();
  }
  return nb::steal(capsule);
}

std::pair<int, int> dlpack_device(const Tensor& x) {
  return x.is_cpu() ? std::pair<int, int>(kDLCPU, 0) : std::pair<int, int>(kDLCUDA, x.device().index());
}

/// Waits for the work of all streams: neither side knows the other's stream.
void wait_for(const Tensor& x) {
  if (x.is_cpu()) return;
  const nb::gil_scoped_release unlocked;
  cuda::synchronize();
}

nb::object to_dlpack(const Tensor& x, nb::handle, std::optional<std::pair<int, int>> max_version,
                     std::optional<std::pair<int, int>> dl_device, std::optional<bool> copy) {
  if (dl_device && *dl_device != dlpack_device(x)) {
    throw nb::buffer_error("the tensor is on another device than the consumer wants; move it with .to() first");
  }
  if (x.requires_grad()) {
    throw nb::buffer_error(
        "the tensor requires grad, and writes by the consumer cannot be recorded; export x.detach()");
  }
  // An alias with a storage of its own, since toDLPack() counts as a write.
  const Tensor source = copy.value_or(false) ? x.clone() : x;
  const Tensor exported = from_blob(
      shared_pointer(source), source.sizes(), source.strides(), [owner = source.impl().storage](void*) {},
      source.options());
  wait_for(exported);
  if (max_version && max_version->first >= 1) return capsule_of(toDLPackVersioned(exported), kVersionedName);
  return capsule_of(toDLPack(exported), kName);
}

Tensor from_capsule(nb::handle capsule) {
  PyObject* const p = capsule.ptr();
  if (PyCapsule_IsValid(p, kVersionedName)) {
    const Tensor x =
        fromDLPackVersioned(static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(p, kVersionedName)));
    PyCapsule_SetName(p, kUsedVersionedName);
    return x;
  }
  if (PyCapsule_IsValid(p, kName)) {
    const Tensor x = fromDLPack(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(p, kName)));
    PyCapsule_SetName(p, kUsedName);
    return x;
  }
  throw StateError("from_dlpack", "the capsule is not one of DLPack, or was consumed before; ask the producer again");
}

Tensor from_dlpack(nb::handle source) {
  if (PyCapsule_CheckExact(source.ptr())) return from_capsule(source);
  nb::object capsule;
  try {
    capsule = source.attr("__dlpack__")("max_version"_a = nb::make_tuple(1, 0));
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
    capsule = source.attr("__dlpack__")();  // a producer of DLPack before 1.0
  }
  const Tensor x = from_capsule(capsule);
  wait_for(x);
  return x;
}

}  // namespace

void bind_exchange(nb::module_& m, nb::class_<Tensor>& t) {
  m.def("from_numpy", &from_numpy, "array"_a,
        "A tensor over the memory of a NumPy array, or of another object with the buffer protocol.");
  m.def("from_dlpack", &from_dlpack, "source"_a,
        "A tensor over the memory of an object with __dlpack__(), such as a torch.Tensor.");
  t.def("numpy", &to_numpy, nb::kw_only(), "force"_a = false,
        nb::sig("def numpy(self, *, force: bool = False) -> numpy.typing.NDArray[typing.Any]"),
        "A NumPy array over the tensor's memory. force=True detaches, and copies from other devices.");
  t.def("__dlpack__", &to_dlpack, nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(),
        "dl_device"_a = nb::none(), "copy"_a = nb::none());
  t.def("__dlpack_device__", &dlpack_device);
  t.def(
      "data_ptr", [](const Tensor& x) { return reinterpret_cast<uintptr_t>(shared_pointer(x)); },
      "The address of the first element.");
}

}  // namespace tandem::python
