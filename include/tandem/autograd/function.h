#pragma once
// Function: a user-defined op with its derivative, like libtorch's torch::autograd::Function.
//
//   struct Exp : autograd::Function<Exp> {
//     static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
//       const Tensor y = x.exp();
//       ctx->save_for_backward({y});
//       return y;
//     }
//     static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
//       return {grads[0] * ctx->get_saved_variables()[0]};
//     }
//   };
//   const Tensor y = Exp::apply(x);
//
// For autocast in forward and backward see tandem/amp/custom_function.h.
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/autograd/arguments.h"
#include "tandem/autograd/saved_value.h"
#include "tandem/base/type_name.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::autograd {

using Variable = Tensor;
using variable_list = std::vector<Tensor>;
using tensor_list = variable_list;

/// Data that forward keeps for backward, and properties of its outputs. One per call of Function::apply.
class AutogradContext {
 public:
  ~AutogradContext();
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;

  /// Non-tensor data. A tensor stored here is not checked for in-place changes, and storing an output here leaks it.
  std::unordered_map<std::string, SavedValue> saved_data;

  /// In forward: saves inputs, outputs or other tensors for backward. Double backward flows only through saved inputs
  /// and outputs. A second call replaces the first.
  void save_for_backward(variable_list to_save);
  /// In backward: returns the tensors of save_for_backward. Throws AutogradError if one was changed in place since.
  variable_list get_saved_variables() const;
  /// In forward: declares that these inputs were changed in place. Each must also be returned.
  void mark_dirty(const variable_list& inputs);
  /// In forward: declares that no gradient flows into these outputs. Unnecessary for integer outputs.
  void mark_non_differentiable(const variable_list& outputs);
  /// Sets whether backward gets zeros (the default) or undefined tensors for outputs into which no gradient flowed.
  void set_materialize_grads(bool value);
  /// Whether the i-th tensor among forward's arguments needs a gradient; for others backward may return an undefined
  /// tensor. Throws IndexError if `i` is out of range.
  bool needs_input_grad(size_t i) const;

 private:
  friend class FunctionCall;
  friend class UserNode;
  AutogradContext();
  struct State;
  std::unique_ptr<State> state_;
};

/// The part of Function::apply around forward. Internal.
class FunctionCall {
 public:
  using Backward = variable_list (*)(AutogradContext*, variable_list);
  /// How the function behaves under autocast; see amp::CustomFunction.
  struct Amp {
    bool keeps_autocast = false;  ///< backward runs with forward's autocast state, else with autocast off
    std::optional<DType> cast_inputs;
  };

  /// `name` must stay valid until the program ends.
  FunctionCall(const char* name, Backward backward, const Amp& amp);
  ~FunctionCall();
  FunctionCall(const FunctionCall&) = delete;
  FunctionCall& operator=(const FunctionCall&) = delete;

  /// Add the next argument: add() a tensor (defined or not), add_other() anything else.
  void add(const Tensor& x);
  void add_other();
  /// Switches recording off until leave().
  AutogradContext* enter();
  /// Returns an input as forward receives it: cast to Amp::cast_inputs if autocast is on for its device.
  Tensor cast(const Tensor& x);
  /// Records the call and returns the outputs.
  variable_list leave(variable_list outputs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

namespace detail {

/// The name of a function's type; the text is never freed.
template <class T>
const char* function_name() {
  static const std::string& name = *new std::string(type_name(typeid(T)));
  return name.c_str();
}

template <class T>
void add_argument(FunctionCall& call, const T& x) {
  bool found = false;
  visit_tensors(x, [&](const Tensor& t) {
    call.add(t);
    found = true;
  });
  constexpr bool is_list = holds_tensors<T> && requires { x.size(); };
  if (!found && !is_list) call.add_other();
}

template <class T>
auto cast_argument(FunctionCall& call, const T& x) {
  auto copy = owned(x);
  visit_tensors(copy, [&](Tensor& t) { t = call.cast(t); });
  return copy;
}

template <class T, bool Casts, class... Args>
auto call_function(const FunctionCall::Amp& amp, Args&&... args) {
  FunctionCall call(
      function_name<T>(),
      [](AutogradContext* ctx, variable_list grads) -> variable_list { return T::backward(ctx, std::move(grads)); },
      amp);
  (add_argument(call, args), ...);
  AutogradContext* ctx = call.enter();
  auto output = [&] {
    if constexpr (Casts) {
      return T::forward(ctx, cast_argument(call, args)...);
    } else {
      return T::forward(ctx, std::forward<Args>(args)...);
    }
  }();
  using Output = decltype(output);
  static_assert(std::is_same_v<Output, Tensor> || std::is_same_v<Output, variable_list>,
                "forward of a Function returns a Tensor or a variable_list");
  if constexpr (std::is_same_v<Output, Tensor>) {
    return std::move(call.leave({std::move(output)})[0]);
  } else {
    return call.leave(std::move(output));
  }
}

}  // namespace detail

/// Base of a user-defined op: `struct MyOp : autograd::Function<MyOp>` with
///
///   static Tensor forward(AutogradContext* ctx, ...);         or variable_list, for several outputs
///   static variable_list backward(AutogradContext* ctx, variable_list grads);
///
/// forward may take any arguments. Nothing in it is recorded; autocast applies to ops in it as elsewhere. Gradients
/// flow to the tensors among the arguments: Tensor, and std::optional, std::vector, TensorList, std::array, std::map,
/// std::tuple and std::pair of tensors, nested to any depth. backward receives one gradient per output and returns one
/// per argument, or one per tensor of a container; the gradient must be undefined for an argument that is not a tensor,
/// and may be for a tensor that needs none. A gradient to whose sizes the input broadcasts is summed to the input's
/// sizes. If backward consists of ops, it can be differentiated again. It runs with autocast off.
///
/// A backward pass throws AutogradError if backward returns a wrong number of gradients or a gradient for an argument
/// that is not a tensor, ShapeError or DTypeError for a gradient that does not fit its input.
/// Source: libtorch's torch/csrc/autograd/custom_function.h.
template <class T>
struct Function {
  /// Runs T::forward on the arguments, records T::backward if a tensor needs a gradient, and returns what forward
  /// returns.
  template <class... Args>
  static auto apply(Args&&... args) {
    return detail::call_function<T, false>({}, std::forward<Args>(args)...);
  }
};

}  // namespace tandem::autograd
#pragma GCC visibility pop
