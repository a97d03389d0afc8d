#pragma once
// Optimizer states with fewer bits than the compute type; see math/optim_state.h.
#include <array>
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem::kernels {

/// Whether any of the states is bf16 or e4m3fn. Null lists are absent.
template <size_t N>
bool any_compact(const std::array<const std::vector<Tensor>*, N>& states) {
  for (const std::vector<Tensor>* list : states) {
    if (!list) continue;
    for (const Tensor& state : *list) {
      if (state.impl().dtype == kBFloat16 || state.impl().dtype == kFloat8_e4m3fn) return true;
    }
  }
  return false;
}

}  // namespace tandem::kernels
