#pragma once
// Dispatch: the single entry point of every op. It checks the devices, casts the inputs as the policy table says, runs
// the body with autocast and recording off, and records a node if an input requires a gradient.
//
//   Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
//     const Op<"softmax"> op;
//     checks::floating("x", x);  // if it throws, the message begins with "softmax: "
//     return op.apply([&](const Tensor& x, std::optional<DType> dtype) {
//       Tensor y = empty_like(x, dtype.value_or(x.dtype()));
//       backend(x).softmax(y, x, dim, false);
//       return Result{y, save(y), [dim](const Backward& b) -> Grads {
//         return {softmax_backward(b.grad(), b.saved(0), dim)};
//       }};
//     }, x, dtype);
//   }
//
// Inputs are Tensor (undefined for an absent optional input), TensorList, and at most one std::optional<DType>, the
// argument that the policy f32_dtype fills in. The lambda captures all other arguments.
#include <array>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tandem/amp/autocast_off.h"
#include "tandem/amp/policy.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/node.h"
#include "tandem/autograd/observer.h"
#include "tandem/backend.h"
#include "tandem/base/op_scope.h"
#include "tandem/tensor/context.h"

#pragma GCC visibility push(default)
namespace tandem {

using autograd::Backward;
using autograd::Grads;

/// The tensors passed to `save(...)`.
struct Saved {
  std::vector<Tensor> tensors;
};
/// Lists the tensors that the backward function needs: inputs of the body, outputs or intermediates. The backward
/// function must not capture tensors. For use in the body of apply: keeps nothing if the call is not recorded.
template <class... T>
Saved save(const T&... tensors) {
  return thread_state().saves ? Saved{{tensors...}} : Saved();
}

/// What an op's body returns: outputs, saved tensors and the backward function. Without a backward function the op is
/// not differentiable. The backward function returns one gradient per input, undefined where no gradient flows.
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

/// A string literal as a template argument.
template <size_t N>
struct FixedString {
  char text[N];
  consteval FixedString(const char (&s)[N]) {
    for (size_t i = 0; i < N; ++i) text[i] = s[i];
  }
};

/// Throws DeviceError unless all defined tensors are on one device. CPU tensors of rank 0 may be combined with tensors
/// on any device.
void check_devices(ArrayRef<const Tensor*> tensors);

/// Ensures that the outputs of a body do not alias tensors that others hold:
/// - An output that shares the memory of an input becomes a view of it; an output that is the input itself is replaced
///   by an alias first, since recording would replace the input's history.
/// - An output in the memory of a cast input, which the cast cache may hold, and an output that is returned twice are
///   replaced by a copy.
/// - A view of a tensor made inside the body is no longer marked as a view, since that tensor has no history from which
///   the view could take its own.
///
/// `cast_inputs` is empty or has one entry per input.
void separate_outputs(ArrayRef<const Tensor*> inputs, ArrayRef<Tensor> cast_inputs, std::vector<Tensor>& outputs);

/// One call of an op through dispatch.
class DispatchCall {
 public:
  /// `row`: the op's row in the policy table.
  DispatchCall(const char* name, int row);
  /// For an op without a row, whose policy is `cast`.
  DispatchCall(const char* name, amp::Cast cast) : name_(name), cast_(cast) {}
  DispatchCall(const DispatchCall&) = delete;
  DispatchCall& operator=(const DispatchCall&) = delete;

  /// Tells observers that the body rounds its operands to this float8 dtype. To be called first.
  void rounds_to(DType float8) { float8_ = float8; }
  void add(const Tensor& x) { inputs_.push_back(&x); }
  void add(const TensorList& list) {
    for (const Tensor& x : list) inputs_.push_back(&x);
  }
  void add(const std::optional<DType>& dtype) { dtype_ = dtype; }

  /// Checks devices and casts the inputs, then switches autocast and recording off until the call ends.
  void enter();
  /// Restores the thread's modes, records a node if needed, and returns the outputs.
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
  bool moves_ = false;  // takes float8
  std::vector<const Tensor*> inputs_;
  std::vector<Tensor> cast_inputs_;  // empty if nothing was cast, else one per input
  std::optional<DType> dtype_, float8_;
  size_t next_ = 0;
  bool recorded_ = false;
  /// The thread's modes inside the body. leave(), or the destructor after an exception, restores the previous ones.
  struct Inside {
    explicit Inside(bool saves) : outer_saves(std::exchange(thread_state().saves, saves)) {}
    ~Inside() { thread_state().saves = outer_saves; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    NoGradGuard no_grad;
    amp::AutocastOff no_autocast;
    bool outer_saves;
  };
  std::optional<Inside> inside_;
  std::unique_ptr<autograd::Observation> observation_;  // null without observers
};

template <class F, class... In>
std::vector<Tensor> pass(DispatchCall& call, bool is_view, F&& forward, const In&... inputs) {
  (call.add(inputs), ...);
  call.enter();
  // Braced initialization fixes the evaluation order: take() must be called once per input, in order.
  std::tuple<decltype(call.take(inputs))...> arguments{call.take(inputs)...};
  Result result = std::apply(forward, arguments);
  return call.leave(std::move(result), is_view);
}

}  // namespace detail

/// A running op of the policy table; the first line of the op's function. Until it goes out of scope, errors begin with
/// the op's name (see OpScope).
template <detail::FixedString Name>
class [[nodiscard]] Op : public OpScope {
 public:
  Op() : OpScope(Name.text) {}

  /// Runs an op with one output.
  template <class F, class... In>
  Tensor apply(F&& forward, const In&... inputs) const {
    return std::move(pass(false, forward, inputs...)[0]);
  }
  /// Runs an op with several outputs.
  template <class F, class... In>
  std::vector<Tensor> apply_n(F&& forward, const In&... inputs) const {
    return pass(false, forward, inputs...);
  }
  /// Runs an op whose output shares the storage of its first input.
  template <class F, class... In>
  Tensor apply_view(F&& forward, const In&... inputs) const {
    return std::move(pass(true, forward, inputs...)[0]);
  }

 private:
  template <class F, class... In>
  static std::vector<Tensor> pass(bool is_view, F& forward, const In&... inputs) {
    constexpr int row = amp::policy_row(Name.text);
    static_assert(row >= 0, "this op has no row in include/tandem/amp/policy.h");
    detail::DispatchCall call(Name.text, row);
    return detail::pass(call, is_view, forward, inputs...);
  }
};

/// Changes `self` in place. Autocast does not affect in-place calls. `direct(self)` writes to self's memory and is used
/// if nothing is recorded; otherwise `out_of_place(old)` computes the same as a recorded op, from a snapshot of self.
///
/// Throws AutogradError for an inference tensor outside InferenceMode. If the change is recorded, also for a leaf that
/// requires grad or a view of one, and for a view of a tensor with a history if the view was made without recording or
/// by an op that is not a view op.
const Tensor& apply_in_place(const OpScope& op, const Tensor& self, ArrayRef<Tensor> others,
                             const std::function<void(const Tensor&)>& direct,
                             const std::function<Tensor(const Tensor&)>& out_of_place);

/// Writes what `compute` returns into `out`, which is not resized. Autocast does not affect `out=` calls, and nothing
/// is recorded. Throws ShapeError or DTypeError if `out` does not fit, AutogradError if an operand or `out` requires
/// grad while recording is on.
const Tensor& apply_out(const Tensor& out, const std::function<Tensor()>& compute, ArrayRef<Tensor> operands);

/// Throws DTypeError if one of these only holds values, unless the op only moves elements.
void check_storage_only(const OpScope& op, ArrayRef<const Tensor*> tensors);

/// True if an op with these inputs would be recorded.
bool is_recording(ArrayRef<Tensor> inputs);

}  // namespace tandem
#pragma GCC visibility pop
