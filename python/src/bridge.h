#pragma once
// Shared by the files of the Python extension: how arguments are converted, and the functions that bind one subject
// each.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/base/device.h"
#include "tandem/base/scalar.h"
#include "tandem/base/shape.h"
#include "tandem/tensor/options.h"
#include "tandem/tensor/state_dict.h"
#include "tandem/tensor/tensor.h"

namespace tandem::python {

namespace nb = nanobind;
using nb::literals::operator""_a;

/// Releases the GIL while the C++ function runs. Arguments and results are converted with the GIL held.
using Unlocked = nb::call_guard<nb::gil_scoped_release>;

/// A device argument: a `tandem.device` or a string, which is parsed when the function runs, so that its errors are
/// tandem's.
struct DeviceArg {
  std::optional<Device> device;
  std::string text;
  Device get() const { return device ? *device : Device(text); }
};

/// A Python object that C++ keeps, such as a hook. Copies share one reference, which is released with the GIL held, so
/// copies can be made and destroyed on any thread.
///
/// Python's garbage collector does not see the reference. At the end of the interpreter, release_all() drops all of
/// them: a hook refers to the variables of its module, and would keep them from being destroyed.
class Callback {
 public:
  explicit Callback(nb::handle object);
  /// The object; null after release_all().
  nb::handle get() const { return *object_; }
  static void release_all();

 private:
  std::shared_ptr<nb::handle> object_;
};

/// Runs `f` with the GIL held, unless the interpreter has been shut down. For deleters, which run on any thread.
template <class F>
void with_gil(F&& f) {
  if (!nb::is_alive()) return;
  const nb::gil_scoped_acquire gil;
  if (gil.is_valid()) f();
}

/// Returns an undefined tensor for None.
inline Tensor value_or_undefined(const std::optional<Tensor>& x) { return x ? *x : Tensor(); }
/// Returns None for an undefined tensor.
inline std::optional<Tensor> defined_or_none(const Tensor& x) { return x.defined() ? std::optional(x) : std::nullopt; }

/// The sizes of `zeros(2, 3)` or `zeros((2, 3))`. Throws TypeError for anything else.
Dims sizes_from(const nb::args& args);

/// A dict of Python as a StateDict and back. The tensors share memory.
StateDict state_from(const nb::dict& state);
nb::dict state_to(const StateDict& state);

/// The Python number of a scalar.
nb::object number_from(const Scalar& value);

/// A new tensor of what tandem.tensor() takes.
Tensor tensor_from(nb::handle data);

/// A Python iterable of tensors as a vector. Throws TypeError for other entries.
std::vector<Tensor> tensors_from(nb::handle iterable);

void bind_errors(nb::module_& m);
void bind_types(nb::module_& m);
nb::class_<Tensor> bind_tensor(nb::module_& m);
void bind_indexing(nb::class_<Tensor>& t);
void bind_exchange(nb::module_& m, nb::class_<Tensor>& t);
void bind_operators(nb::class_<Tensor>& t);
void bind_ops(nb::module_& m, nb::class_<Tensor>& t);
void bind_factories(nb::module_& m);
void bind_autograd(nb::module_& m, nb::class_<Tensor>& t);
void bind_function(nb::module_& m);
void bind_nn(nb::module_& m);
void bind_amp(nb::module_& m);
void bind_optim(nb::module_& m);
void bind_io(nb::module_& m);

}  // namespace tandem::python

namespace nanobind::detail {

/// Numbers of Python and of NumPy.
template <>
struct type_caster<tandem::Scalar> {
  NB_TYPE_CASTER(tandem::Scalar, const_name("bool | int | float"))

  bool from_python(handle src, uint32_t, cleanup_list*) noexcept {
    PyObject* const p = src.ptr();
    if (PyBool_Check(p)) {
      value = tandem::Scalar(p == Py_True);
      return true;
    }
    if (PyFloat_Check(p)) {
      value = tandem::Scalar(PyFloat_AS_DOUBLE(p));
      return true;
    }
    if (PyLong_Check(p)) return from_int(p);
    // NumPy's numbers. Arrays and tensors of one element can be converted to numbers, too, but are no scalars.
    if (PySequence_Check(p)) return false;
    if (PyIndex_Check(p)) {
      const object number = steal(PyNumber_Index(p));
      if (number.is_valid()) return from_int(number.ptr());
    } else if (Py_TYPE(p)->tp_as_number && Py_TYPE(p)->tp_as_number->nb_float) {
      const object number = steal(PyNumber_Float(p));
      if (number.is_valid()) {
        value = tandem::Scalar(PyFloat_AS_DOUBLE(number.ptr()));
        return true;
      }
    }
    PyErr_Clear();
    return false;
  }
  static handle from_cpp(const tandem::Scalar& scalar, rv_policy, cleanup_list*) noexcept {
    if (scalar.is_floating_point()) return PyFloat_FromDouble(scalar.to_double());
    if (scalar.is_boolean()) return PyBool_FromLong(scalar.to<bool>());
    if (scalar.kind() == tandem::kUInt64) return PyLong_FromUnsignedLongLong(scalar.to<uint64_t>());
    return PyLong_FromLongLong(scalar.to_int64());
  }

 private:
  bool from_int(PyObject* p) noexcept {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(p, &overflow);
    value = tandem::Scalar(static_cast<int64_t>(number));
    return overflow == 0;
  }
};

/// An int, or a sequence of at most kMaxRank ints.
template <>
struct type_caster<tandem::Dims> {
  NB_TYPE_CASTER(tandem::Dims, io_name("int | collections.abc.Sequence[int]", "tuple[int, ...]"))

  bool from_python(handle src, uint32_t, cleanup_list*) noexcept {
    value = tandem::Dims();
    if (PyIndex_Check(src.ptr()) && !PySequence_Check(src.ptr())) return add(src.ptr());
    if (!PyTuple_Check(src.ptr()) && !PyList_Check(src.ptr())) return false;
    PyObject* const* entries = PySequence_Fast_ITEMS(src.ptr());
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(src.ptr());
    if (count > tandem::kMaxRank) return false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!PyIndex_Check(entries[i]) || PySequence_Check(entries[i]) || !add(entries[i])) return false;
    }
    return true;
  }
  static handle from_cpp(const tandem::Dims& dims, rv_policy, cleanup_list*) noexcept {
    PyObject* const result = PyTuple_New(static_cast<Py_ssize_t>(dims.size()));
    for (size_t i = 0; result && i < dims.size(); ++i) {
      PyTuple_SET_ITEM(result, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(dims[i]));
    }
    return result;
  }

 private:
  bool add(PyObject* p) noexcept {
    const Py_ssize_t number = PyNumber_AsSsize_t(p, PyExc_OverflowError);
    if (number == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    value.push_back(number);
    return true;
  }
};

template <>
struct type_caster<tandem::python::DeviceArg> {
  NB_TYPE_CASTER(tandem::python::DeviceArg, const_name("device | str"))

  bool from_python(handle src, uint32_t, cleanup_list*) noexcept {
    value = {};
    if (PyUnicode_Check(src.ptr())) {
      const char* const text = PyUnicode_AsUTF8(src.ptr());
      if (!text) PyErr_Clear();
      if (text) value.text = text;
      return text != nullptr;
    }
    tandem::Device device;
    if (!try_cast(src, device)) return false;
    value.device = device;
    return true;
  }
};

}  // namespace nanobind::detail
