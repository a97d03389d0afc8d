#include "tandem/nn/call.h"

#include <mutex>

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

}  // namespace tandem::nn
