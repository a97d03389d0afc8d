#pragma once
// Function: an op with a derivative of the user's own. libtorch's torch::autograd::Function.
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

namespace tandem::autograd {

using Variable = Tensor;
using variable_list = std::vector<Tensor>;

/// What forward keeps for backward, and says about its outputs. One for each call of Function::apply.
class AutogradContext {
 public:
  ~AutogradContext();
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;

  /// What is no tensor. A tensor here has no version check, and an output here is never freed.
  std::unordered_map<std::string, SavedValue> saved_data;

  /// In forward: keeps inputs, outputs or other tensors for backward. Only gradients through inputs and outputs can be
  /// differentiated again. The last call counts.
  void save_for_backward(variable_list to_save);
  /// In backward: the tensors of save_for_backward. Throws AutogradError when one was changed in place since.
  variable_list get_saved_variables() const;
  /// In forward: these inputs were changed in place. Each must be returned too.
  void mark_dirty(const variable_list& inputs);
  /// In forward: no gradient flows into these outputs. Integer outputs are such anyway.
  void mark_non_differentiable(const variable_list& outputs);
  /// Whether backward gets zeros, as it does by default, or undefined tensors for outputs into which no gradient
  /// flowed.
  void set_materialize_grads(bool value);
  /// Whether the i-th of the tensors among forward's arguments wants a gradient; backward may leave others undefined.
  /// Throws IndexError.
  bool needs_input_grad(size_t i) const;

 private:
  friend class FunctionCall;
  friend class UserNode;
  AutogradContext();
  struct State;
  std::unique_ptr<State> state_;
};

/// What Function::apply does around forward. Internal.
class FunctionCall {
 public:
  using Backward = variable_list (*)(AutogradContext*, variable_list);
  /// How a function goes with autocast; see amp::CustomFunction.
  struct Amp {
    bool keeps_autocast = false;  ///< backward runs under the autocast of forward, else outside
    std::optional<DType> cast_inputs;
  };

  /// `name` must live for ever.
  FunctionCall(const char* name, Backward backward, const Amp& amp);
  ~FunctionCall();
  FunctionCall(const FunctionCall&) = delete;
  FunctionCall& operator=(const FunctionCall&) = delete;

  /// The arguments, in order: a tensor (undefined or not), or something else.
  void add(const Tensor& x);
  void add_other();
  /// From here on nothing is recorded, until leave().
  AutogradContext* enter();
  /// An input as forward gets it.
  Tensor cast(const Tensor& x);
  /// Records the call and hands out the outputs.
  variable_list leave(variable_list outputs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

namespace detail {

/// The name of a function's type, for ever.
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

/// Base of an op of the user's own: `struct MyOp : autograd::Function<MyOp>` with
///
///   static Tensor forward(AutogradContext* ctx, ...);         or variable_list, for several outputs
///   static variable_list backward(AutogradContext* ctx, variable_list grads);
///
/// forward takes any arguments. Nothing in it is recorded; ops in it are cast by autocast as anywhere. Gradients flow
/// to the tensors among the arguments: Tensor, std::optional, std::vector, TensorList, std::array, std::map, std::tuple
/// and std::pair of tensors, to any depth. backward gets one gradient for each output and returns one for each
/// argument, and one for each tensor of a container; undefined for what is no tensor, or wants none. A gradient that
/// broadcasts to its input's sizes is expanded from them: it is summed. Written in ops, backward can be differentiated
/// again. backward runs outside autocast regions.
///
/// Thrown by backward: AutogradError for a wrong number of gradients, or one where there is no tensor; ShapeError and
/// DTypeError for a gradient that does not fit its input.
/// Source: libtorch's torch/csrc/autograd/custom_function.h.
template <class T>
struct Function {
  template <class... Args>
  static auto apply(Args&&... args) {
    return detail::call_function<T, false>({}, std::forward<Args>(args)...);
  }
};

}  // namespace tandem::autograd
