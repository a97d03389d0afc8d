#pragma once
// User-defined ops, dispatched like the built-in ones.
#include <string>
#include <utility>
#include <vector>

#include "tandem/autograd/apply.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// custom_op with several outputs.
template <tandem::detail::FixedString Name, class F, class... In>
std::vector<Tensor> custom_op_n(Cast cast, F&& forward, const In&... inputs) {
  const UserCodeScope op(Name.text);
  tandem::detail::DispatchCall call(Name.text, cast);
  return tandem::detail::pass(call, false, forward, inputs...);
}

/// Runs `forward` on `inputs` as an op named `Name` with the autocast policy `cast`. `forward` gets the cast inputs and
/// returns a Result (see autograd/apply.h). Inputs are Tensor or TensorList. Throws AutogradError if `forward` returns
/// no defined tensor.
///
///   Tensor y = amp::custom_op<"my_gelu">(amp::Cast::f32, [](const Tensor& x) {
///     return Result{gelu(x), save(x), [](const Backward& b) -> Grads {
///       return {my_gelu_backward(b.grad(), b.saved(0))};
///     }};
///   }, x);
template <tandem::detail::FixedString Name, class F, class... In>
Tensor custom_op(Cast cast, F&& forward, const In&... inputs) {
  std::vector<Tensor> outputs = custom_op_n<Name>(cast, forward, inputs...);
  if (outputs.empty() || !outputs[0].defined()) {
    throw AutogradError(Name.text, "the body returned no tensor; return at least one that is defined");
  }
  return std::move(outputs[0]);
}

}  // namespace tandem::amp
#pragma GCC visibility pop
