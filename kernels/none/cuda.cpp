// The CUDA backend of a build without CUDA: every slot is empty, and no device is available.
#include "tandem/backend.h"

namespace tandem::cuda {

const Backend& backend() {
  static constexpr Backend empty = [] {
    Backend table;
    table.device = kCUDA;
    return table;
  }();
  return empty;
}

bool is_available() { return false; }

}  // namespace tandem::cuda
