#include "tandem/nn/call.h"

#include <mutex>

#include "tandem/base/check.h"
#include "tandem/nn/forward_hooks.h"
#include "tandem/nn/module.h"

namespace tandem::nn {
namespace {

std::mutex mutex;

struct Defaults {
  std::shared_ptr<const CallHook> of_layers, of_losses;
};
Defaults& defaults() {
  static auto* hooks = new Defaults;
  return *hooks;
}

}  // namespace

void set_default_call_hook(std::shared_ptr<const CallHook> hook, std::shared_ptr<const CallHook> of_losses) {
  std::lock_guard lock(mutex);
  defaults() = {std::move(hook), std::move(of_losses)};
}

std::shared_ptr<const CallHook> default_call_hook() {
  std::lock_guard lock(mutex);
  return defaults().of_layers;
}

std::shared_ptr<const CallHook> default_loss_call_hook() {
  std::lock_guard lock(mutex);
  return defaults().of_losses;
}

namespace detail {
namespace {

std::vector<Tensor> values_of(const std::vector<Tensor*>& tensors) {
  std::vector<Tensor> values;
  for (const Tensor* x : tensors) values.push_back(*x);
  return values;
}

void check_count(const Module& module, const char* what, size_t count, size_t expected) {
  const OpScope op(module.name().c_str());
  TANDEM_CHECK(count == expected, StateError, "a hook changed the number of {} from {} to {}; it may only replace them",
               what, expected, count);
}

}  // namespace

void HookedCall::before(const std::vector<Tensor*>& inputs) {
  inputs_ = values_of(inputs);
  if (hooks_) {
    for (const ForwardHooks::Entry& entry : hooks_->entries()) {
      if (!entry.before) continue;
      entry.before(*module_, inputs_);
      check_count(*module_, "inputs", inputs_.size(), inputs.size());
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    *inputs[i] = around_ && inputs_[i].defined() ? around_->input(inputs_[i]) : inputs_[i];
  }
}

std::shared_ptr<void> HookedCall::enter() const {
  if (!around_) return nullptr;
  for (const Tensor& x : inputs_) {
    if (x.defined()) return around_->enter(x.device());
  }
  return around_->enter(Device(kCPU));
}

void HookedCall::after(const std::vector<Tensor*>& outputs) const {
  if (around_) {
    for (Tensor* y : outputs) {
      if (y->defined()) *y = around_->output(*y);
    }
  }
  if (!hooks_) return;
  std::vector<Tensor> values = values_of(outputs);
  for (const ForwardHooks::Entry& entry : hooks_->entries()) {
    if (!entry.after) continue;
    entry.after(*module_, inputs_, values);
    check_count(*module_, "outputs", values.size(), outputs.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) *outputs[i] = values[i];
}

}  // namespace detail

}  // namespace tandem::nn
