#include "src/optim/multi_tensor.h"

#include "tandem/amp/cast_cache.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/base/check.h"
#include "tandem/ops/overlap.h"
#include "tandem/tensor/current_capture.h"
#include "tandem/tensor/factories.h"

namespace tandem::optim {
namespace {

void bump_versions(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors) {
    if (t.defined()) t.impl().storage->bump_version();
  }
}

void check_scaling_tensor(const char* which, const Tensor& t) {
  TANDEM_CHECK(!t.defined() || (t.numel() == 1 && t.dtype() == kFloat), StateError,
               "{} is {} {}; step(scaling) needs an f32 tensor of one element", which, to_string(t.sizes()),
               name(t.dtype()));
}

Tensor moved(const Tensor& t, Device device) {
  return !t.defined() || t.device() == device ? t : t.to(device, /*non_blocking=*/true);
}

}  // namespace

void check_no_new_state(const Tensor& p) {
  if (p.is_cuda()) {
    check_not_capturing("creating a parameter's state at its first step is impossible",
                        "run a few steps before the capture");
  }
}

Tensor writable_copy(const Tensor& p) {
  const TensorImpl& impl = p.impl();
  if (impl.dtype != kFloat) return {};
  Tensor copy = amp::detail::lasting_buffer(p);
  // Two owners: the parameter, and `copy` here.
  const bool free = copy.defined() && copy.impl_ptr().use_count() == 2 && copy.impl().storage.use_count() == 1;
  return free && copy.sizes() == p.sizes() ? copy : Tensor();
}

Tensor zero_state(const Tensor& p, DType dtype) {
  check_no_new_state(p);
  return zeros_like(p, dtype);
}

Tensor zero_steps(const Tensor& p) {
  check_no_new_state(p);
  return zeros({}, TensorOptions(kFloat).device(p.device()));
}

void check_state(const char* state_name, const Tensor& state, const Tensor& p, DType dtype) {
  TANDEM_CHECK(state.defined(), StateError, "{} of a {} parameter is undefined; give it a value or erase the state",
               state_name, to_string(p.sizes()));
  TANDEM_CHECK(state.sizes() == p.sizes() && state.device() == p.device() && state.dtype() == dtype, StateError,
               "{} is {} {} on {}, but its parameter is now {} {} on {}; create a new optimizer after moving or "
               "replacing parameters",
               state_name, to_string(state.sizes()), name(state.dtype()), state.device().str(), to_string(p.sizes()),
               name(p.dtype()), p.device().str());
}

void check_scalar_state(const char* state_name, const Tensor& state, const Tensor& p) {
  TANDEM_CHECK(state.defined() && state.numel() == 1 && state.dtype() == kFloat && state.device() == p.device(),
               StateError,
               "{} of a {} parameter must be an f32 tensor of one element on {}; replace it, or erase the state",
               state_name, to_string(p.sizes()), p.device().str());
}

void check_scaling(const FusedUnscale& scaling) {
  check_scaling_tensor("inverse_scale", scaling.inverse_scale);
  check_scaling_tensor("found_inf", scaling.found_inf);
}

FusedUnscale scaling_on(const FusedUnscale& scaling, Device device) {
  return {moved(scaling.inverse_scale, device), moved(scaling.found_inf, device)};
}

void check_unscaled(const Tensor& p) {
  TANDEM_CHECK(
      !autograd::gradient_scale(p).must_be_unscaled(), StateError,
      "the gradient of a {} parameter is still multiplied by a GradScaler's scale; call scaler.step(optimizer) "
      "instead, or scaler.unscale_(optimizer) before",
      to_string(p.sizes()));
}

void check_gradient(const Tensor& p, const Tensor& grad, const FusedUnscale& scaling) {
  TANDEM_CHECK(
      is_differentiable(p.dtype()), DTypeError,
      "a parameter is {} {}; only floating tensors other than float8 can be optimized: convert it with .to(kFloat)",
      to_string(p.sizes()), name(p.dtype()));
  TANDEM_CHECK(grad.sizes() == p.sizes(), ShapeError,
               "a {} parameter has a gradient of {}; sizes must be equal: drop it with zero_grad()",
               to_string(p.sizes()), to_string(grad.sizes()));
  TANDEM_CHECK(is_differentiable(grad.dtype()), DTypeError,
               "a {} parameter has a gradient of {}; it must be floating and not float8: drop it with zero_grad()",
               to_string(p.sizes()), name(grad.dtype()));
  TANDEM_CHECK(grad.device() == p.device(), DeviceError,
               "a {} parameter is on {}, but its gradient is on {}; drop gradients with zero_grad() before moving",
               to_string(p.sizes()), p.device().str(), grad.device().str());
  if (!scaling.inverse_scale.defined()) check_unscaled(p);
}

bool shares_memory(const OptimizerTensors& call, const Tensor& p) {
  const std::shared_ptr<Storage>& storage = p.impl().storage;
  if (storage.use_count() == 1) return false;  // the usual case
  const auto [first, end] = detail::memory_of(p);
  for (const Tensor& other : call.params) {
    if (other.impl().storage != storage) continue;
    const auto [other_first, other_end] = detail::memory_of(other);
    if (first < other_end && other_first < end) return true;
  }
  return false;
}

void add_parameter(OptimizerTensors& call, Tensor updated, Tensor shadow, const Tensor& grad) {
  if (shadow.defined() || !call.shadows.empty()) {
    call.shadows.resize(call.params.size());
    call.shadows.push_back(std::move(shadow));
  }
  call.params.push_back(std::move(updated));
  call.grads.push_back(grad);
}

void finish(const OptimizerTensors& call, std::initializer_list<const std::vector<Tensor>*> states) {
  bump_versions(call.params);
  for (const std::vector<Tensor>* list : states) bump_versions(*list);
  bump_versions(call.shadows);
  for (size_t i = 0; i < call.shadows.size(); ++i) {
    const Tensor& shadow = call.shadows[i];
    // Does not apply to a remainder, nor to the parameter of a master, which the program may change.
    const bool is_cast = shadow.defined() && is_differentiable(shadow.dtype()) && !shadow.requires_grad();
    if (is_cast) amp::detail::set_lasting_copy(call.params[i], shadow);
  }
}

}  // namespace tandem::optim
