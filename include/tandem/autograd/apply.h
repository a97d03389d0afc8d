#pragma once
// The one door that every op passes. It finds the device, casts the inputs by the policy table, runs the body with
// autocast and recording off, and records a node when an input needs a gradient.
//
//   Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
//     return apply<"softmax">([&](const Tensor& x, std::optional<DType> dtype) {
//       Tensor y = empty_like(x, dtype.value_or(x.dtype()));
//       backend(x).softmax(y, x, dim, false);
//       return Result{y, save(y), [dim](const Backward& b) -> Grads {
//         return {softmax_backward(b.grad(), b.saved(0), dim)};
//       }};
//     }, x, dtype);
//   }
//
// Inputs are Tensor (undefined for an optional one that is absent), TensorList, and at most one std::optional<DType>,
// the argument that the policy f32_dtype fills in. Everything else is captured.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "tandem/amp/autocast_off.h"
#include "tandem/amp/policy.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/node.h"
#include "tandem/autograd/observer.h"
#include "tandem/backend.h"
#include "tandem/base/op_scope.h"
#include "tandem/tensor/context.h"

namespace tandem {

using autograd::Backward;
using autograd::Grads;

/// The tensors of `save(...)`.
struct Saved {
  std::vector<Tensor> tensors;
};
/// Names the tensors that the backward needs: inputs of the body, outputs or intermediates. Never capture a tensor.
template <class... T>
Saved save(const T&... tensors) {
  return Saved{{tensors...}};
}

/// What an op's body returns: outputs, saved tensors, and the derivative; no derivative means not differentiable. The
/// derivative gives one gradient for each input, undefined where none flows.
struct Result {
  Result(Tensor output) : outputs{std::move(output)} {}
  Result(Tensor output, Saved s, autograd::BackwardFunction f)
      : outputs{std::move(output)}, saved(std::move(s)), backward(std::move(f)) {}
  Result(std::vector<Tensor> out, Saved s, autograd::BackwardFunction f)
      : outputs(std::move(out)), saved(std::move(s)), backward(std::move(f)) {}
  explicit Result(std::vector<Tensor> out) : outputs(std::move(out)) {}

  std::vector<Tensor> outputs;
  Saved saved;
  autograd::BackwardFunction backward;
};

namespace detail {

/// A string as a template argument.
template <size_t N>
struct FixedString {
  char text[N];
  consteval FixedString(const char (&s)[N]) { std::copy_n(s, N, text); }
};

/// Throws DeviceError unless the defined ones of these tensors are on one device. A CPU tensor of one number may stand
/// beside tensors of any device.
void check_devices(const char* op, ArrayRef<const Tensor*> tensors);

/// No output of a body may be, or change, what others hold: an output that is an input, whose history it would replace,
/// becomes a view of it; one in the memory of a cast (`cast_inputs` is empty, or has one for each input), which the
/// cast cache may hold, or given twice becomes a copy; a view of a tensor made inside is a view no more, for the body's
/// tensors have no history that could give it one.
void separate_outputs(ArrayRef<const Tensor*> inputs, ArrayRef<Tensor> cast_inputs, std::vector<Tensor>& outputs);

/// One passage through the door.
class DoorCall {
 public:
  /// Row of the policy table.
  DoorCall(const char* name, int row);
  /// An op that states its policy on the spot.
  DoorCall(const char* name, amp::Cast cast) : name_(name), cast_(cast) {}
  DoorCall(const DoorCall&) = delete;
  DoorCall& operator=(const DoorCall&) = delete;

  void add(const Tensor& x) { inputs_.push_back(&x); }
  void add(const TensorList& list) {
    for (const Tensor& x : list) inputs_.push_back(&x);
  }
  void add(const std::optional<DType>& dtype) { dtype_ = dtype; }

  /// Checks devices and casts; then autocast and recording are off until the call ends.
  void enter();
  /// Restores the thread's modes, records a node when needed, and hands out the outputs.
  std::vector<Tensor> leave(Result result, bool is_view);

  const Tensor& take(const Tensor&) { return cast_inputs_.empty() ? *inputs_[next_++] : cast_input(next_++); }
  TensorList take(const TensorList& list) {
    const size_t first = next_;
    next_ += list.size();
    return cast_inputs_.empty() ? list : TensorList(&cast_inputs_[first], list.size());
  }
  std::optional<DType> take(const std::optional<DType>&) const { return dtype_; }

 private:
  const Tensor& cast_input(size_t i) const { return cast_inputs_[i]; }
  void check_and_cast();
  void cast_by_policy();
  void enter_observed();
  void record(Result& result, std::vector<Tensor>& outputs, bool is_view);

  const char* name_;
  amp::Cast cast_;
  std::vector<const Tensor*> inputs_;
  std::vector<Tensor> cast_inputs_;  // empty when nothing was cast, else one for each input
  std::optional<DType> dtype_;
  size_t next_ = 0;
  /// The modes inside the body, restored by leave() or when an exception passes.
  struct Inside {
    explicit Inside(const char* name) : op(name) {}
    OpScope op;
    NoGradGuard no_grad;
    amp::AutocastOff no_autocast;
  };
  std::optional<Inside> inside_;
  std::unique_ptr<autograd::Observation> observation_;  // null when nobody looks
};

template <class F, class... In>
std::vector<Tensor> pass(DoorCall& call, bool is_view, F&& forward, const In&... inputs) {
  (call.add(inputs), ...);
  call.enter();
  // Braces fix the order in which take() walks the inputs.
  std::tuple<decltype(call.take(inputs))...> arguments{call.take(inputs)...};
  Result result = std::apply(forward, arguments);
  return call.leave(std::move(result), is_view);
}

template <FixedString Name>
consteval int checked_row() {
  constexpr int row = amp::policy_row(Name.text);
  static_assert(row >= 0, "this op has no row in include/tandem/amp/policy.h");
  return row;
}

}  // namespace detail

/// Runs an op of one output.
template <detail::FixedString Name, class F, class... In>
Tensor apply(F&& forward, const In&... inputs) {
  detail::DoorCall call(Name.text, detail::checked_row<Name>());
  return std::move(detail::pass(call, false, forward, inputs...)[0]);
}

/// Runs an op of several outputs.
template <detail::FixedString Name, class F, class... In>
std::vector<Tensor> apply_n(F&& forward, const In&... inputs) {
  detail::DoorCall call(Name.text, detail::checked_row<Name>());
  return detail::pass(call, false, forward, inputs...);
}

/// Runs an op whose output shares the storage of its first input.
template <detail::FixedString Name, class F, class... In>
Tensor apply_view(F&& forward, const In&... inputs) {
  detail::DoorCall call(Name.text, detail::checked_row<Name>());
  return std::move(detail::pass(call, true, forward, inputs...)[0]);
}

/// Changes `self` in place. Autocast does not touch in-place calls.
/// `direct(self)` writes into self's memory and is used when nothing is recorded; `out_of_place(old)` computes the same
/// as a recorded op from a snapshot of self. Throws AutogradError on a leaf that requires grad or a view of one, on a
/// tensor of InferenceMode outside of it, and, when the change is recorded, on a view of a tensor with a history that
/// was made without recording, or by an op that is no view op.
const Tensor& apply_in_place(const char* name, const Tensor& self, ArrayRef<Tensor> others,
                             const std::function<void(const Tensor&)>& direct,
                             const std::function<Tensor(const Tensor&)>& out_of_place);

/// Writes the result of an op into `out`, resizing nothing. Autocast does not touch `out=` calls; nothing is recorded.
/// Throws ShapeError or DTypeError when `out` does not fit, AutogradError when an operand or `out` requires grad.
const Tensor& apply_out(const char* name, const Tensor& out, const std::function<Tensor()>& op,
                        ArrayRef<Tensor> operands);

/// True when an op over these inputs would be recorded.
bool is_recording(ArrayRef<Tensor> inputs);

}  // namespace tandem
