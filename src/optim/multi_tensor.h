#pragma once
// One backend call for all parameters of a group that share device and dtype: how SGD and Adam build it and what they
// do after it.
#include <initializer_list>
#include <vector>

#include "tandem/backend.h"

namespace tandem::optim {

/// The dtype that a step on `p` computes in, and in which it keeps its state.
inline DType compute_dtype(const Tensor& p) { return p.dtype() == kDouble ? kDouble : kFloat; }
/// Throws StateError while a CUDA graph is being captured: it would make the state of `p` anew at every replay.
void check_no_new_state(const Tensor& p);
/// State of the form of `p`, filled with zeros.
Tensor zero_state(const Tensor& p);
/// A step count of 0 on `p`'s device.
Tensor zero_steps(const Tensor& p);
/// Throws unless `state`, kept for `p` under `state_name`, still fits it: `p` may have been moved or replaced since.
void check_state(const char* optimizer, const char* state_name, const Tensor& state, const Tensor& p);
/// Throws StateError unless `steps` counts the steps of `p`: f32, one element, on its device.
void check_steps(const char* optimizer, const Tensor& steps, const Tensor& p);

/// Throws unless the tensors of `scaling` are f32 of one element.
void check_scaling(const char* optimizer, const StepScaling& scaling);
/// `scaling` with its tensors on `device`.
StepScaling scaling_on(const StepScaling& scaling, Device device);
/// Throws unless `p` is floating and its gradient fits it.
void check_gradient(const char* optimizer, const Tensor& p, const Tensor& grad);
/// The low-precision copy of `p` that the step may overwrite; undefined when there is none, or when somebody else still
/// holds it: a graph that has not run backward, a cast cache. Then the next cast makes a new one.
Tensor writable_copy(const Tensor& p);
/// Whether a parameter of `call` has elements in the memory of `p`.
bool shares_memory(const OptimizerTensors& call, const Tensor& p);
/// Adds what a step updates for one parameter, its gradient and, where it has one, what is written along.
void add_parameter(OptimizerTensors& call, Tensor updated, Tensor shadow, const Tensor& grad);
/// After the backend's call: raises the versions of what it wrote, and declares the low-precision copies valid. Also
/// right when found_inf made the call write nothing, since each copy held its parameter's value before.
void finish(const OptimizerTensors& call, std::initializer_list<const std::vector<Tensor>*> states);

/// The calls of one step.
template <class Call>
class CallList {
 public:
  /// The call for `p`'s device and dtype; a new one is a copy of `settings`. Parameters that share memory come into
  /// calls of their own, in order: the updates do not race, and a later one ends the low-precision copies that an
  /// earlier one has written, since it raises the version.
  Call& call_for(const Tensor& p, const Call& settings, const StepScaling& scaling, size_t expected) {
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
  std::vector<Call>& calls() { return calls_; }

 private:
  std::vector<Call> calls_;
};

}  // namespace tandem::optim
