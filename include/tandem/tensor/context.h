#pragma once
// The modes of a thread: gradient recording, inference, default device, autocast. Guards elsewhere set and restore
// them.
#include <cstdint>
#include <memory>

#include "tandem/base/device.h"
#include "tandem/base/dtype.h"

namespace tandem {

namespace amp {
class PolicyOverrides;
}
namespace autograd {
class Observers;
}

/// Autocast of one device type on one thread.
struct AutocastState {
  bool enabled = false;
  DType dtype = kHalf;
};

/// Everything that a guard may change on a thread. New threads start with the defaults, and with the process's autocast
/// states (set_initial_autocast).
struct ThreadState {
  bool grad_mode = true;
  bool inference_mode = false;
  Device default_device;
  AutocastState autocast[kNumDeviceTypes] = {{false, kBFloat16}, {false, kHalf}};
  bool autocast_cache_enabled = true;
  int autocast_nesting = 0;
  /// Set by PolicyGuard; null when the table of policy.h holds unchanged.
  std::shared_ptr<const amp::PolicyOverrides> policy;
  /// Those who look at the ops of this thread (autograd/observer.h); null when nobody does.
  std::shared_ptr<const autograd::Observers> observers;
};

namespace detail {
/// The state that a thread starts with.
ThreadState initial_thread_state();
}  // namespace detail

/// Sets how threads that have not started yet see autocast of a device type.
void set_initial_autocast(DeviceType type, const AutocastState& state);

/// The calling thread's state.
inline ThreadState& thread_state() {
  static thread_local ThreadState state = detail::initial_thread_state();
  return state;
}

}  // namespace tandem
