#include "tandem/tensor/context.h"

#include <mutex>

namespace tandem {
namespace {

std::mutex mutex;

ThreadState& initial() {
  static auto* state = new ThreadState;
  return *state;
}

}  // namespace

void set_initial_autocast(DeviceType type, const AutocastState& state) {
  std::lock_guard lock(mutex);
  initial().autocast[static_cast<int>(type)] = state;
}

ThreadState detail::initial_thread_state() {
  std::lock_guard lock(mutex);
  return initial();
}

}  // namespace tandem
