#pragma once
// AutocastOff: a scope in which autocast is off for all devices.
#include "tandem/tensor/context.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Switches autocast off on this thread for all device types until the end of the scope, which restores the previous
/// state.
class AutocastOff {
 public:
  [[nodiscard]] AutocastOff() {
    AutocastState* states = thread_state().autocast;
    for (int d = 0; d < kNumDeviceTypes; ++d) {
      enabled_[d] = states[d].enabled;
      states[d].enabled = false;
    }
  }
  ~AutocastOff() {
    for (int d = 0; d < kNumDeviceTypes; ++d) thread_state().autocast[d].enabled = enabled_[d];
  }
  AutocastOff(const AutocastOff&) = delete;
  AutocastOff& operator=(const AutocastOff&) = delete;

 private:
  bool enabled_[kNumDeviceTypes];
};

}  // namespace tandem::amp
#pragma GCC visibility pop
