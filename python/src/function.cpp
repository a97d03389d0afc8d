// autograd.Function: ops with a derivative, written in Python. The class is in python/tandem/autograd.
#include "tandem/autograd/function.h"

#include <set>

#include "bridge.h"
#include "tandem/base/error.h"

namespace tandem::python {
namespace {

using autograd::AutogradContext;
using autograd::FunctionCall;

/// What backward needs: the Python class, and the context object that forward received.
struct PythonCall {
  Callback function, context;
};

/// The text stays valid until the program ends, as FunctionCall requires.
const char* interned(const std::string& name) {
  static auto& names = *new std::set<std::string>;  // guarded by the GIL
  return names.insert(name).first->c_str();
}

nb::list list_of(const std::vector<Tensor>& tensors) {
  nb::list list;
  for (const Tensor& x : tensors) list.append(nb::cast(defined_or_none(x)));
  return list;
}

/// The tensors of a result: one, None or a sequence of both.
std::vector<Tensor> results_from(nb::handle result) {
  std::vector<Tensor> tensors;
  const auto add = [&](nb::handle x) { tensors.push_back(x.is_none() ? Tensor() : nb::cast<Tensor>(x)); };
  if (result.is_none() || nb::isinstance<Tensor>(result)) {
    add(result);
  } else {
    for (nb::handle x : nb::iter(result)) add(x);
  }
  return tensors;
}

std::vector<Tensor> backward(AutogradContext* ctx, std::vector<Tensor> grads) {
  const nb::gil_scoped_acquire gil;
  const auto call = ctx->saved_data.at("python").to<PythonCall>();
  if (!call.context.get().is_valid()) throw AutogradError("", "the interpreter is ending");
  const nb::object context = nb::borrow(call.context.get()), function = nb::borrow(call.function.get());
  context.attr("_saved") = nb::tuple(list_of(ctx->get_saved_variables()));
  nb::object result;
  try {
    result = function.attr("backward")(context, *nb::tuple(list_of(grads)));
  } catch (...) {
    context.attr("_saved") = nb::none();
    throw;
  }
  context.attr("_saved") = nb::none();
  return results_from(result);
}

nb::object apply(nb::handle function, nb::handle context, const nb::tuple& arguments) {
  FunctionCall call(interned(nb::cast<std::string>(function.attr("__name__"))), &backward, {});
  nb::list is_tensor;
  for (nb::handle x : arguments) {
    is_tensor.append(nb::isinstance<Tensor>(x));
    if (nb::isinstance<Tensor>(x)) {
      call.add(nb::cast<Tensor>(x));
    } else {
      call.add_other();
    }
  }
  AutogradContext* const ctx = call.enter();
  nb::list needs_input_grad;
  size_t number = 0;
  for (nb::handle flag : is_tensor) {
    needs_input_grad.append(nb::cast<bool>(flag) ? ctx->needs_input_grad(number++) : false);
  }
  context.attr("needs_input_grad") = nb::tuple(needs_input_grad);
  const nb::object result = function.attr("forward")(context, *arguments);
  ctx->save_for_backward(results_from(context.attr("_saved")));
  ctx->mark_dirty(results_from(context.attr("_dirty")));
  context.attr("_saved") = nb::none();
  context.attr("_dirty") = nb::make_tuple();
  ctx->saved_data["python"] = PythonCall{Callback(function), Callback(context)};
  const std::vector<Tensor> outputs = call.leave(results_from(result));
  return nb::isinstance<Tensor>(result) ? nb::cast(outputs.at(0)) : nb::tuple(list_of(outputs));
}

}  // namespace

void bind_function(nb::module_& m) { m.def("_apply_function", &apply, "function"_a, "context"_a, "arguments"_a); }

}  // namespace tandem::python
