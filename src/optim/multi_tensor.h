#pragma once
// One backend call for all parameters of a group that share device and dtype: how optimizers build the call and
// complete it.
#include <initializer_list>
#include <iterator>
#include <vector>

#include "tandem/backend.h"

namespace tandem::optim {

/// The dtype in which a step on `p` computes and keeps its state.
inline DType compute_dtype(const Tensor& p) { return p.dtype() == kDouble ? kDouble : kFloat; }
/// Throws StateError during the capture of a CUDA graph, which would create the state of `p` again at every replay.
void check_no_new_state(const Tensor& p);
/// A zero-filled state tensor with the shape of `p`.
Tensor zero_state(const Tensor& p, DType dtype);
inline Tensor zero_state(const Tensor& p) { return zero_state(p, compute_dtype(p)); }
/// A step count of 0 on `p`'s device.
Tensor zero_steps(const Tensor& p);
/// Throws unless `state`, kept for `p` under `state_name`, still fits it: `p` may have been moved or replaced.
void check_state(const char* state_name, const Tensor& state, const Tensor& p, DType dtype);
inline void check_state(const char* state_name, const Tensor& state, const Tensor& p) {
  check_state(state_name, state, p, compute_dtype(p));
}
/// Throws StateError unless `state`, kept for `p` under `state_name`, is f32 with one element on its device.
void check_scalar_state(const char* state_name, const Tensor& state, const Tensor& p);
/// check_scalar_state() of a step count.
inline void check_steps(const Tensor& steps, const Tensor& p) { check_scalar_state("step", steps, p); }

/// Throws unless the tensors of `scaling` are f32 with one element.
void check_scaling(const FusedUnscale& scaling);
/// `scaling` with its tensors on `device`.
FusedUnscale scaling_on(const FusedUnscale& scaling, Device device);
/// Throws unless `p` is floating and its gradient fits it, and StateError if the gradient is still multiplied by a loss
/// scale that `scaling` does not divide by.
void check_gradient(const Tensor& p, const Tensor& grad, const FusedUnscale& scaling);
/// The part of check_gradient() on the scale.
void check_unscaled(const Tensor& p);
/// The low-precision copy of `p` that the step may overwrite. Undefined if there is none or if it has other owners: a
/// graph that has not run backward, or a cast cache. The next cast then makes a new copy.
Tensor writable_copy(const Tensor& p);
/// Whether a parameter of `call` overlaps the memory of `p`.
bool shares_memory(const OptimizerTensors& call, const Tensor& p);
/// Adds the tensor that a step updates for one parameter, its gradient and, if defined, the shadow that is written
/// along with it.
void add_parameter(OptimizerTensors& call, Tensor updated, Tensor shadow, const Tensor& grad);
/// Runs after the backend's call: raises the versions of the tensors that it wrote, and marks the low-precision copies
/// as valid. Also correct if found_inf suppressed the writes, since each copy held its parameter's value before.
void finish(const OptimizerTensors& call, std::initializer_list<const std::vector<Tensor>*> states);

/// Calls run(calls) for each run of calls whose parameters are on one type of device.
template <class Call, class Run>
void for_each_device_type(ArrayRef<Call> calls, const Run& run) {
  for (size_t first = 0, end = 0; first < calls.size(); first = end) {
    const DeviceType type = calls[first].params[0].device().type();
    while (end < calls.size() && calls[end].params[0].device().type() == type) ++end;
    run(calls.slice(first, end - first));
  }
}

/// The calls of one step.
template <class Call>
class CallList {
 public:
  /// Returns the call for `p`'s device and dtype; a new one is a copy of `settings`. Parameters that share memory go
  /// into separate calls, in order. So their updates do not race, and a later update invalidates the low-precision
  /// copies written by an earlier one, since it raises the version.
  Call& call_for(const Tensor& p, const Call& settings, const FusedUnscale& scaling, size_t expected) {
    for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
      if (call->params[0].device() != p.device() || call->params[0].dtype() != p.dtype()) continue;
      if (!shares_memory(*call, p)) return *call;
      break;
    }
    Call& call = calls_.emplace_back(settings);
    call.scaling = scaling_on(scaling, p.device());
    call.params.reserve(expected);
    call.grads.reserve(expected);
    return call;
  }
  void move_to(std::vector<Call>& all) {
    all.insert(all.end(), std::make_move_iterator(calls_.begin()), std::make_move_iterator(calls_.end()));
  }

 private:
  std::vector<Call> calls_;
};

}  // namespace tandem::optim
