#pragma once
// logical_geometry: a Geometry whose elements are counted in row-major order of the sizes, whatever the strides.
#include "kernels/cuda/geometry.h"

namespace tandem::cuda {

template <size_t N>
Geometry<N> logical_geometry(IntArrayRef shape, const std::array<IntArrayRef, N>& strides) {
  kernels::Walk<N> walk;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    std::array<int64_t, N> step;
    for (size_t k = 0; k < N; ++k) step[k] = strides[k][d];
    walk.append(shape[d], step);
  }
  walk.finish();
  return make_geometry(walk);
}

/// Whether element i is at offset i in every operand.
template <size_t N>
bool is_linear(const Geometry<N>& g) {
  bool linear = g.rank == 1;
  for (size_t k = 0; k < N; ++k) linear &= g.strides[k][0] == 1;
  return linear;
}

}  // namespace tandem::cuda
