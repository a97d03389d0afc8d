#pragma once
// logical_geometry: a Geometry whose elements are counted in row-major order of the sizes, whatever the strides.
#include "kernels/cuda/geometry.h"

namespace tandem::cuda {

template <size_t N>
Geometry<N> logical_geometry(IntArrayRef shape, const std::array<IntArrayRef, N>& strides) {
  kernels::Walk<N> walk;
  for (size_t d = 0; d < shape.size(); ++d) {
    walk.numel *= shape[d];
    if (shape[d] == 1) continue;
    std::array<int64_t, N> step;
    for (size_t k = 0; k < N; ++k) step[k] = strides[k][d];
    bool joins = walk.rank > 0;
    for (size_t k = 0; k < N && joins; ++k) joins = walk.strides[k][walk.rank - 1] == step[k] * shape[d];
    if (joins) {
      walk.sizes[walk.rank - 1] *= shape[d];
      for (size_t k = 0; k < N; ++k) walk.strides[k][walk.rank - 1] = step[k];
    } else {
      walk.add(shape[d], step);
    }
  }
  std::array<int64_t, N> one;
  one.fill(1);
  if (walk.rank == 0) walk.add(1, one);
  return make_geometry(walk);
}

/// True when element i lies at i in every operand.
template <size_t N>
bool is_linear(const Geometry<N>& g) {
  bool linear = g.rank == 1;
  for (size_t k = 0; k < N; ++k) linear &= g.strides[k][0] == 1;
  return linear;
}

}  // namespace tandem::cuda
