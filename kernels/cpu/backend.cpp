// The CPU backend: assigns a function to each slot.
#include "kernels/cpu/kernels.h"

namespace tandem::cpu {

const Backend& backend() {
  static constexpr Backend table = [] {
    Backend table;
    table.device = kCPU;
    TANDEM_SLOTS(TANDEM_FILL_SLOT)
    return table;
  }();
  return table;
}

}  // namespace tandem::cpu
