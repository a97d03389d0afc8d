#pragma once
// AutocastOff: the scope in which no input is cast, whatever region the thread is in.
#include "tandem/tensor/context.h"

namespace tandem::amp {

/// Switches autocast off for every device on this thread, and back as it was at the end of the scope.
class [[nodiscard]] AutocastOff {
 public:
  AutocastOff() {
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
