// Tensor: geometry, copies, conversion and indexing.
#include "bridge.h"
#include "tandem/tensor/indexing.h"

namespace tandem::python {
namespace {

using indexing::Slice;
using indexing::TensorIndex;

TensorIndex index_from(nb::handle index) {
  if (index.is_none()) return std::nullopt;
  if (index.ptr() == Py_Ellipsis) return indexing::Ellipsis;
  if (nb::isinstance<Tensor>(index)) return nb::cast<Tensor>(index);
  if (PyBool_Check(index.ptr())) return index.ptr() == Py_True;
  if (PySlice_Check(index.ptr())) {
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(index.ptr(), &start, &stop, &step) != 0) nb::raise_python_error();
    if (step < 0) throw nb::value_error("the step of a slice must be greater than 0; use flip() for a reversed copy");
    return Slice(start, stop, step);
  }
  if (PyIndex_Check(index.ptr()) && !PySequence_Check(index.ptr())) {
    const Py_ssize_t position = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
    if (position == -1 && PyErr_Occurred()) nb::raise_python_error();
    return int64_t{position};
  }
  if (PySequence_Check(index.ptr())) {
    const Tensor list = tensor_from(index);
    // An empty list, also a nested one, has no elements to tell that it holds positions.
    return list.numel() == 0 && (PyList_Check(index.ptr()) || PyTuple_Check(index.ptr())) ? list.to(kLong) : list;
  }
  throw nb::type_error("an index must be an int, a slice, a tensor, a list, None or ...");
}

std::vector<TensorIndex> indices_from(nb::handle index) {
  std::vector<TensorIndex> indices;
  if (!PyTuple_Check(index.ptr())) return {index_from(index)};
  if (PyTuple_GET_SIZE(index.ptr()) == 0) return {indexing::Ellipsis};
  for (nb::handle entry : nb::borrow<nb::tuple>(index)) indices.push_back(index_from(entry));
  return indices;
}

Tensor get(const Tensor& x, nb::handle index) {
  const std::vector<TensorIndex> indices = indices_from(index);
  const nb::gil_scoped_release unlocked;
  return x.index(indices);
}

template <class Value>
void set(const Tensor& x, nb::handle index, const Value& value) {
  const std::vector<TensorIndex> indices = indices_from(index);
  const nb::gil_scoped_release unlocked;
  x.index_put_(indices, value);
}

/// `x.to(dtype)`, `x.to(device)`, `x.to(device, dtype)`, `x.to(other)`.
Tensor to(const Tensor& x, std::optional<DeviceArg> device, std::optional<DType> dtype, bool non_blocking, bool copy) {
  TensorOptions options = dtype ? TensorOptions(*dtype) : TensorOptions();
  if (device) options = options.device(device->get());
  return x.to(options, non_blocking, copy);
}

}  // namespace

nb::class_<Tensor> bind_tensor(nb::module_& m) {
  nb::class_<Tensor> t(m, "Tensor", nb::is_weak_referenceable(),
                       "An n-dimensional array. Tensors that share memory are views of one storage.");
  t.def(nb::init<const Tensor&>(), "other"_a, "Makes another handle of the same tensor.")
      .def_prop_ro("shape", [](const Tensor& x) { return Dims(x.sizes()); })
      .def("size", [](const Tensor& x) { return Dims(x.sizes()); })
      .def(
          "size", [](const Tensor& x, int64_t dim) { return x.size(dim); }, "dim"_a)
      .def("stride", [](const Tensor& x) { return Dims(x.strides()); })
      .def(
          "stride", [](const Tensor& x, int64_t dim) { return x.stride(dim); }, "dim"_a)
      .def("storage_offset", [](const Tensor& x) { return x.storage_offset(); })
      .def_prop_ro("ndim", [](const Tensor& x) { return x.dim(); })
      .def("dim", [](const Tensor& x) { return x.dim(); })
      .def("numel", [](const Tensor& x) { return x.numel(); })
      .def("element_size", [](const Tensor& x) { return x.element_size(); })
      .def_prop_ro("nbytes", [](const Tensor& x) { return x.nbytes(); })
      .def_prop_ro("dtype", [](const Tensor& x) { return x.dtype(); })
      .def_prop_ro("device", [](const Tensor& x) { return x.device(); })
      .def_prop_ro("is_cuda", [](const Tensor& x) { return x.is_cuda(); })
      .def("is_floating_point", [](const Tensor& x) { return x.is_floating_point(); })
      .def("is_contiguous", [](const Tensor& x) { return x.is_contiguous(); })
      .def(
          "is_same", [](const Tensor& x, const Tensor& y) { return x.is_same(y); }, "other"_a,
          "Whether both are handles of one tensor: attributes such as `grad` return a new handle at each access.")
      .def(
          "is_alias_of", [](const Tensor& x, const Tensor& y) { return x.is_alias_of(y); }, "other"_a)
      .def_prop_ro("_version", [](const Tensor& x) { return x._version(); })
      .def(
          "item",
          [](const Tensor& x) {
            Scalar value;
            {
              const nb::gil_scoped_release unlocked;
              value = x.item();
            }
            return value;
          },
          "The value of a tensor with one element. Waits for the device.")
      .def("__hash__", [](nb::handle self) { return reinterpret_cast<uintptr_t>(self.ptr()) >> 4; });

  t.def("to", &to, "device"_a = nb::none(), "dtype"_a = nb::none(), "non_blocking"_a = false, "copy"_a = false,
        Unlocked())
      .def(
          "to",
          [](const Tensor& x, DType dtype, bool non_blocking, bool copy) { return x.to(dtype, non_blocking, copy); },
          "dtype"_a, "non_blocking"_a = false, "copy"_a = false, Unlocked())
      .def(
          "to",
          [](const Tensor& x, const Tensor& other, bool non_blocking, bool copy) {
            return x.to(other, non_blocking, copy);
          },
          "other"_a, "non_blocking"_a = false, "copy"_a = false, Unlocked())
      .def(
          "type_as", [](const Tensor& x, const Tensor& other) { return x.type_as(other); }, "other"_a, Unlocked())
      .def(
          "cpu", [](const Tensor& x) { return x.cpu(); }, Unlocked())
      .def(
          "cuda", [](const Tensor& x) { return x.cuda(); }, Unlocked())
      .def(
          "contiguous", [](const Tensor& x) { return x.contiguous(); }, Unlocked())
      .def(
          "clone", [](const Tensor& x) { return x.clone(); }, Unlocked())
      .def(
          "set_data", [](const Tensor& x, const Tensor& other) { x.set_data(other); }, "other"_a,
          "Replaces the data of this tensor but keeps its identity.")
      .def("_mark_parameter", [](const Tensor& x) { x.impl().is_parameter = true; });
#define TANDEM_CONVERSION(NAME, DTYPE) \
  t.def(                               \
      NAME, [](const Tensor& x) { return x.to(DTYPE); }, Unlocked())
  TANDEM_CONVERSION("float", kFloat);
  TANDEM_CONVERSION("double", kDouble);
  TANDEM_CONVERSION("half", kHalf);
  TANDEM_CONVERSION("bfloat16", kBFloat16);
  TANDEM_CONVERSION("int", kInt);
  TANDEM_CONVERSION("long", kLong);
  TANDEM_CONVERSION("bool", kBool);
#undef TANDEM_CONVERSION
  return t;
}

void bind_indexing(nb::class_<Tensor>& t) {
  t.def("__getitem__", &get, "index"_a.none())
      .def("__setitem__", &set<Tensor>, "index"_a.none(), "value"_a)
      .def("__setitem__", &set<Scalar>, "index"_a.none(), "value"_a)
      .def("__len__", [](const Tensor& x) {
        if (x.dim() == 0) throw nb::type_error("a tensor without dimensions has no len()");
        return x.size(0);
      });
}

}  // namespace tandem::python
