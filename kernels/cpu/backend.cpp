// The CPU backend: assigns a function to each slot.
#include "kernels/cpu/kernels.h"

namespace tandem::cpu {

const Backend& backend() {
  static constexpr Backend table = [] {
    Backend table;
    table.device = kCPU;
#define TANDEM_SLOT(NAME, SIGNATURE) table.NAME = NAME;
#include "tandem/backend.inc"
    return table;
  }();
  return table;
}

}  // namespace tandem::cpu
