#pragma once
// The position of a random kernel in its Philox stream.
#include "tandem/backend.h"

namespace tandem::cuda {

/// The state's position; in a graph, the position that the host wrote to the device before the replay.
__device__ __forceinline__ PhiloxState position_of(PhiloxState state) {
  if (state.captured) {
    state.seed = state.captured[0];
    state.offset += state.captured[1];
  }
  return state;
}

}  // namespace tandem::cuda
