#include "tandem/autograd/apply.h"

#include <algorithm>

#include "tandem/amp/cast_cache.h"
#include "tandem/amp/gradient_dtype.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem {

bool is_recording(ArrayRef<Tensor> inputs) {
  if (!thread_state().grad_mode) return false;
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& x) { return x.defined() && x.requires_grad(); });
}

namespace detail {

void check_devices(ArrayRef<const Tensor*> tensors) {
  const Tensor* first = nullptr;
  for (const Tensor* x : tensors) {
    if (!x->defined()) continue;
    if (!first || (first->is_cpu() && first->dim() == 0)) {
      first = x;
    } else {
      TANDEM_CHECK(x->device() == first->device() || (x->is_cpu() && x->dim() == 0), DeviceError,
                   "inputs on different devices: {} {} is on {}, {} {} is on {}; move them with .to(device)",
                   to_string(first->sizes()), tandem::name(first->dtype()), first->device().str(),
                   to_string(x->sizes()), tandem::name(x->dtype()), x->device().str());
    }
  }
}

DispatchCall::DispatchCall(const char* name, int row)
    : name_(name),
      cast_(amp::detail::current_policy(row)),
      moves_(amp::policy_table[static_cast<size_t>(row)].role == amp::Role::moves) {}

void DispatchCall::enter() {
  if (thread_state().observers) [[unlikely]] {
    enter_observed();
  } else {
    check_and_cast();
  }
  recorded_ = thread_state().grad_mode && std::any_of(inputs_.begin(), inputs_.end(), [](const Tensor* x) {
                return x->defined() && x->requires_grad();
              });
  inside_.emplace(recorded_);
}

void DispatchCall::enter_observed() {
  const amp::CastCacheStats before = amp::autocast_cache_stats();
  const bool caller_gave_dtype = dtype_.has_value();
  autograd::show_entry(inputs_);
  check_and_cast();
  const amp::CastCacheStats now = amp::autocast_cache_stats();
  observation_ = std::make_unique<autograd::Observation>(
      autograd::ObservedOp{.name = name_,
                           .policy = cast_,
                           .inputs = inputs_,
                           .cast_inputs = cast_inputs_,
                           .dtype = dtype_,
                           .dtype_from_policy = dtype_ && !caller_gave_dtype,
                           .float8 = float8_,
                           .cache = {.entries = now.entries - before.entries,
                                     .bytes = now.bytes - before.bytes,
                                     .hits = now.hits - before.hits,
                                     .misses = now.misses - before.misses,
                                     .uncached = now.uncached - before.uncached,
                                     .cast_bytes = now.cast_bytes - before.cast_bytes}});
  observation_->before();
}

void DispatchCall::check_and_cast() {
  const ThreadState& state = thread_state();
  for (const Tensor* x : inputs_) {
    if (!x->defined()) continue;
    x->impl().storage->data();  // applies a postponed factor before kernels run
    if (is_storage_only(x->dtype()) && !moves_) [[unlikely]]
      throw_storage_only_arithmetic(x->dtype());
  }
  check_devices(inputs_);
  if (cast_ != amp::Cast::keep && (state.autocast[0].enabled || state.autocast[1].enabled)) cast_by_policy();
}

void DispatchCall::cast_by_policy() {
  const ThreadState& state = thread_state();
  // Cast::banned applies to every dtype.
  auto region = [&](const Tensor& x) -> const AutocastState* {
    if (!x.defined()) return nullptr;
    if (cast_ != amp::Cast::banned && (!is_differentiable(x.dtype()) || x.dtype() == kDouble)) return nullptr;
    const AutocastState& a = state.autocast[static_cast<int>(x.device().type())];
    return a.enabled ? &a : nullptr;
  };
  const AutocastState* active = nullptr;
  DType widest = kFloat;
  for (const Tensor* x : inputs_) {
    if (const AutocastState* a = region(*x)) {
      widest = active ? promote_types(widest, x->dtype()) : x->dtype();
      active = a;
    }
  }
  if (!active) return;
  switch (cast_) {
    case amp::Cast::keep:
      return;
    case amp::Cast::banned:
      amp::detail::throw_banned(name_);
    case amp::Cast::f32_dtype:
      if (!dtype_) dtype_ = kFloat;
      return;
    case amp::Cast::lower:
      widest = active->dtype;
      break;
    case amp::Cast::f32:
      widest = kFloat;
      break;
    case amp::Cast::promote:
      break;
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& x = *inputs_[i];
    if (!region(x) || x.dtype() == widest) continue;
    if (cast_inputs_.empty()) {
      cast_inputs_.reserve(inputs_.size());
      for (const Tensor* original : inputs_) cast_inputs_.push_back(*original);
    }
    cast_inputs_[i] = amp::detail::cached_cast(x, widest);
  }
}

void separate_outputs(ArrayRef<const Tensor*> inputs, ArrayRef<Tensor> cast_inputs, std::vector<Tensor>& outputs) {
  auto shares = [](const Tensor& x, const Tensor& y) { return x.defined() && x.impl().storage == y.impl().storage; };
  auto copied = [](const Tensor& y) {
    Tensor copy = empty_like(y);
    backend(copy).copy(copy, y);
    return copy;
  };
  for (size_t o = 0; o < outputs.size(); ++o) {
    Tensor& y = outputs[o];
    if (!y.defined()) continue;
    bool is_view = false;
    for (size_t i = 0; i < inputs.size() && !is_view; ++i) {
      const Tensor& x = *inputs[i];
      is_view = shares(x, y);
      if (is_view) {
        if (y.is_same(x)) y = autograd::alias(x);
        autograd::track_view(y, x);
      } else if (!cast_inputs.empty() && shares(cast_inputs[i], y)) {
        y = copied(y);
      }
    }
    if (!is_view && y.impl().is_view) {
      autograd::meta(y).view.reset();
      y.impl().is_view = false;
    }
    for (size_t p = 0; p < o; ++p) {
      if (outputs[p].is_same(y)) y = copied(y);
    }
  }
}

std::vector<Tensor> DispatchCall::leave(Result result, bool is_view) {
  inside_.reset();
  std::vector<Tensor> outputs = std::move(result.outputs);
  // A view of a cast is not a view of the input; the cast's memory may belong to the cast cache.
  is_view = is_view && (cast_inputs_.empty() || cast_inputs_[0].is_same(*inputs_[0]));
  if (is_view) {
    autograd::track_view(outputs[0], *inputs_[0]);
  } else {
    separate_outputs(inputs_, cast_inputs_, outputs);
  }
  if (recorded_ && result.backward) record(result, outputs, is_view);
  if (observation_) [[unlikely]] {
    observation_->op.outputs = outputs;
    observation_->after();
    observation_.reset();
  }
  return outputs;
}

void DispatchCall::record(Result& result, std::vector<Tensor>& outputs, bool is_view) {
  std::vector<autograd::Edge> next;
  next.reserve(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& x = *inputs_[i];
    TANDEM_CHECK(!x.defined() || !x.impl().is_inference, AutogradError,
                 "input {} was created under InferenceMode and cannot be recorded; clone() it first", i);
    next.push_back(autograd::gradient_edge(x));
  }
  auto node = std::make_shared<autograd::OpNode>(name_, std::move(next));
  const bool lower = amp::gradient_dtype() == amp::GradientDType::Lower && !cast_inputs_.empty();
  node->wanted.reserve(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const autograd::Edge& edge = node->next[i];  // to a leaf with a master: f32
    const DType own = inputs_[i]->defined() ? inputs_[i]->dtype() : kFloat;
    node->wanted.push_back(edge ? edge.node->outputs[edge.input].dtype : own);
    if (lower) node->rounding.push_back(cast_inputs_[i].defined() ? cast_inputs_[i].dtype() : kFloat);
  }
  node->saved.reserve(result.saved.tensors.size());
  for (const Tensor& s : result.saved.tensors) {
    size_t input = cast_inputs_.empty() ? inputs_.size() : 0;
    while (input < cast_inputs_.size() && !(cast_inputs_[input].is_same(s) && !inputs_[input]->is_same(s))) ++input;
    if (input < inputs_.size() && s.defined()) {
      node->saved.emplace_back(s, node->next[input], inputs_[input]->dtype());
    } else {
      node->saved.push_back(autograd::SavedTensor::of(s, outputs));
    }
  }
  node->backward = std::move(result.backward);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& y = outputs[i];
    node->outputs.emplace_back(y);
    if (!is_differentiable(y.dtype())) continue;
    autograd::set_history(y, node, static_cast<uint32_t>(i));
    if (!is_view && y.impl().is_view) autograd::meta(y).view->has_own_history = true;
  }
}

}  // namespace detail
}  // namespace tandem
