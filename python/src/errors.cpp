// tandem's exceptions in Python: each also derives from the built-in exception that a Python program expects.
#include <string_view>

#include "bridge.h"
#include "tandem/base/error.h"

namespace tandem::python {
namespace {

// Never released: exceptions may be translated until the interpreter ends.
struct ErrorTypes {
  PyObject *base, *shape, *dtype, *device, *index, *state, *autograd, *not_implemented, *io, *backend, *out_of_memory;
};
ErrorTypes types;

PyObject* new_type(nb::module_& m, const char* name, const char* doc, std::initializer_list<PyObject*> bases) {
  nb::list list;
  for (PyObject* base : bases) list.append(nb::handle(base));
  const std::string full_name = std::string("tandem.") + name;
  PyObject* const type = PyErr_NewExceptionWithDoc(full_name.c_str(), doc, nb::tuple(list).ptr(), nullptr);
  if (!type) nb::raise_python_error();
  m.attr(name) = nb::handle(type);
  return type;
}

template <class E>
bool is(const Error& e) {
  return dynamic_cast<const E*>(&e) != nullptr;
}

PyObject* type_of(const Error& e) {
  if (is<ShapeError>(e)) return types.shape;
  if (is<DTypeError>(e)) return types.dtype;
  if (is<DeviceError>(e)) return types.device;
  if (is<IndexError>(e)) return types.index;
  if (is<StateError>(e)) return types.state;
  if (is<AutogradError>(e)) return types.autograd;
  if (is<NotImplementedError>(e)) return types.not_implemented;
  if (is<IoError>(e)) return types.io;
  if (is<BackendError>(e)) return types.backend;
  if (is<OutOfMemoryError>(e)) return types.out_of_memory;
  return types.base;
}

}  // namespace

void bind_errors(nb::module_& m) {
  types.base = new_type(m, "Error", "Base of all errors of tandem. `op` is the function that was called, or ''.",
                        {PyExc_RuntimeError});
  PyObject* const base = types.base;
  types.shape = new_type(m, "ShapeError", "Sizes do not match.", {base, PyExc_ValueError});
  types.dtype = new_type(m, "DTypeError", "A dtype that the operation does not accept.", {base, PyExc_TypeError});
  types.device = new_type(m, "DeviceError", "Tensors on different devices, or no such device.", {base});
  types.index = new_type(m, "IndexError", "A dimension or an index out of range.", {base, PyExc_IndexError});
  types.state = new_type(m, "StateError", "A value outside an argument's domain, or a call in the wrong state.",
                         {base, PyExc_ValueError});
  types.autograd = new_type(m, "AutogradError", "Backward cannot run.", {base});
  types.not_implemented = new_type(m, "NotImplementedError", "The device has no kernel for this operation and dtype.",
                                   {base, PyExc_NotImplementedError});
  types.io = new_type(m, "IoError", "A file is missing, truncated or malformed.", {base, PyExc_OSError});
  types.backend = new_type(m, "BackendError", "A vendor library reported a failure.", {base});
  types.out_of_memory = new_type(m, "OutOfMemoryError", "Memory could not be allocated.", {base, PyExc_MemoryError});
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      // Names from a file need not be UTF-8.
      const std::string_view what = e.what();
      const nb::object text =
          nb::steal(PyUnicode_DecodeUTF8(what.data(), static_cast<Py_ssize_t>(what.size()), "replace"));
      if (!text.is_valid()) return;
      const nb::object error = nb::steal(PyObject_CallFunctionObjArgs(type_of(e), text.ptr(), nullptr));
      if (!error.is_valid()) return;  // the error of the failed call is raised instead
      const std::string op(e.op());
      const nb::object name = nb::steal(PyUnicode_FromStringAndSize(op.data(), static_cast<Py_ssize_t>(op.size())));
      if (name.is_valid()) PyObject_SetAttrString(error.ptr(), "op", name.ptr());
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    } catch (const nb::cast_error&) {  // a value in a dict, or the result of a callback
      PyErr_SetString(PyExc_TypeError, "a value has another type than the function's documentation names");
    }
  });
}

}  // namespace tandem::python
