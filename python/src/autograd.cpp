// Gradients: backward, hooks, and the scopes that switch recording off.
#include <nanobind/stl/vector.h>

#include "bridge.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"

namespace tandem::python {
namespace {

/// The scope of a `with` statement: holds a C++ guard from __enter__ to __exit__. Guards change the state of a thread,
/// so both must run on one thread.
template <class Guard>
void bind_guard(nb::module_& m, const char* name) {
  struct Scope {
    std::unique_ptr<Guard> guard;
  };
  nb::class_<Scope>(m, name)
      .def(
          "__init__", [](Scope* self, bool enabled) { new (self) Scope{std::make_unique<Guard>(enabled)}; },
          "enabled"_a)
      .def("exit", [](Scope& self) { self.guard.reset(); });
}

/// Calls a Python function with the gradient. None as its result keeps the gradient.
autograd::TensorHook hook_from(nb::handle function) {
  return [callback = Callback(function)](const Tensor& grad) {
    const nb::gil_scoped_acquire gil;
    if (!callback.get().is_valid()) return Tensor();  // the interpreter is ending
    const nb::object result = callback.get()(grad);
    return result.is_none() ? Tensor() : nb::cast<Tensor>(result);
  };
}

/// Returned by register_hook().
struct HookHandle {
  Tensor tensor;
  unsigned handle;
};

std::vector<Tensor> list_or_one(nb::handle tensors) {
  if (tensors.is_none()) return {};
  if (nb::isinstance<Tensor>(tensors)) return {nb::cast<Tensor>(tensors)};
  return tensors_from(tensors);
}

nb::tuple grad(nb::handle outputs, nb::handle inputs, nb::handle grad_outputs, std::optional<bool> retain_graph,
               bool create_graph, bool allow_unused) {
  const std::vector<Tensor> out = list_or_one(outputs), in = list_or_one(inputs), seeds = list_or_one(grad_outputs);
  std::vector<Tensor> grads;
  {
    const nb::gil_scoped_release unlocked;
    grads = autograd::grad(out, in, seeds, retain_graph, create_graph, allow_unused);
  }
  nb::list result;
  for (const Tensor& g : grads) result.append(nb::cast(defined_or_none(g)));
  return nb::tuple(result);
}

}  // namespace

void bind_autograd(nb::module_& m, nb::class_<Tensor>& t) {
  bind_guard<AutoGradMode>(m, "_AutoGradMode");
  bind_guard<InferenceMode>(m, "_InferenceMode");
  m.def("is_grad_enabled", [] { return GradMode::is_enabled(); });
  m.def("_set_grad_enabled", &GradMode::set_enabled, "mode"_a);
  m.def("_grad", &grad, "outputs"_a, "inputs"_a, "grad_outputs"_a = nb::none(), "retain_graph"_a = nb::none(),
        "create_graph"_a = false, "allow_unused"_a = false);

  nb::class_<HookHandle>(m, "HookHandle").def("remove", [](HookHandle& h) { h.tensor.remove_hook(h.handle); });
  t.def_prop_rw(
       "requires_grad", [](const Tensor& x) { return x.requires_grad(); },
       [](const Tensor& x, bool on) { x.requires_grad_(on); })
      .def(
          "requires_grad_", [](Tensor& x, bool on) -> Tensor& { return x.requires_grad_(on), x; },
          "requires_grad"_a = true, nb::rv_policy::none)
      .def_prop_ro("is_leaf", [](const Tensor& x) { return x.is_leaf(); })
      .def_prop_rw(
          "grad", [](const Tensor& x) { return defined_or_none(x.grad()); },
          [](const Tensor& x, const std::optional<Tensor>& grad) {
            const OpScope op("grad");
            TANDEM_CHECK(!grad || grad->sizes() == x.sizes(), ShapeError,
                         "the gradient is {}, but the tensor is {}; they must have equal sizes",
                         to_string(grad->sizes()), to_string(x.sizes()));
            x.mutable_grad() = value_or_undefined(grad);
          },
          nb::for_setter(nb::arg("grad").none()))
      .def(
          "backward",
          [](const Tensor& x, const std::optional<Tensor>& gradient, std::optional<bool> retain_graph,
             bool create_graph) { x.backward(value_or_undefined(gradient), retain_graph, create_graph); },
          "gradient"_a = nb::none(), "retain_graph"_a = nb::none(), "create_graph"_a = false, Unlocked())
      .def("retain_grad", [](const Tensor& x) { x.retain_grad(); })
      .def(
          "register_hook",
          [](const Tensor& x, const nb::callable& hook) {
            return HookHandle{x, x.register_hook(hook_from(hook))};
          },
          "hook"_a,
          "Calls `hook` with the gradient when it is computed; a tensor that it returns replaces the gradient. A hook "
          "of a leaf lives until remove() of the returned handle, or as long as the leaf. Python's garbage collector "
          "does not see it: a hook that refers to its own leaf keeps both alive until it is removed.");
}

}  // namespace tandem::python
