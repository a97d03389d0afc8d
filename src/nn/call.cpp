#include "tandem/nn/call.h"

#include <mutex>

namespace tandem::nn {
namespace {

std::mutex mutex;

std::shared_ptr<const CallHook>& default_hook() {
  static auto* hook = new std::shared_ptr<const CallHook>;
  return *hook;
}

}  // namespace

void set_default_call_hook(std::shared_ptr<const CallHook> hook) {
  std::lock_guard lock(mutex);
  default_hook() = std::move(hook);
}

std::shared_ptr<const CallHook> default_call_hook() {
  std::lock_guard lock(mutex);
  return default_hook();
}

}  // namespace tandem::nn
