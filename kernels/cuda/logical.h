#pragma once
// Loops whose elements are counted in row-major order of the sizes, whatever the strides, and that leave out no
// dimension.
#include "kernels/cuda/geometry.h"

namespace tandem::cuda {

template <size_t N>
kernels::Walk<N> logical_walk(IntArrayRef shape, const std::array<IntArrayRef, N>& strides) {
  kernels::Walk<N> walk;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    std::array<int64_t, N> step;
    for (size_t k = 0; k < N; ++k) step[k] = strides[k][d];
    walk.append(shape[d], step);
  }
  walk.finish();
  return walk;
}

template <size_t N>
Geometry<N> logical_geometry(IntArrayRef shape, const std::array<IntArrayRef, N>& strides) {
  return make_geometry(logical_walk<N>(shape, strides));
}

/// Whether element i is at offset i in every operand.
template <size_t N>
bool is_linear(const Geometry<N>& g) {
  bool linear = g.rank == 1;
  for (size_t k = 0; k < N; ++k) linear &= g.strides[k][0] == 1;
  return linear;
}

}  // namespace tandem::cuda
