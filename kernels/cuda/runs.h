#pragma once
// Runs: adjacent elements that one thread processes together, in accesses of up to 16 bytes. The one place that decides
// which tensors the vectorised kernels accept. Plain host code.
#include "kernels/cuda/geometry.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {

/// Whether the data can be accessed 16 bytes at a time.
inline bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }
inline bool is_aligned(const Tensor& x) { return is_aligned(x.raw_bytes()); }

/// Whether x divides into runs of `length` elements along dimension d, all of them contiguous and aligned like the
/// first.
inline bool in_runs(const Tensor& x, size_t d, int64_t length) {
  if (d >= x.sizes().size() || x.strides()[d] != 1 || x.sizes()[d] % length != 0 || !is_aligned(x)) return false;
  for (size_t i = 0; i < x.sizes().size(); ++i) {
    if (i != d && x.sizes()[i] > 1 && x.strides()[i] % length != 0) return false;
  }
  return true;
}

/// Whether the first `count` loops over operand k, of a Walk or a Geometry, step from run to run.
template <class Loops>
bool steps_in_runs(const Loops& loops, size_t k, size_t count, int64_t length) {
  for (size_t d = 0; d < count; ++d) {
    if (loops.sizes[d] > 1 && loops.strides[k][d] % length != 0) return false;
  }
  return true;
}

/// Whether the innermost loop divides into runs of `length` elements that are contiguous and aligned in operand 0 and
/// in each other operand, unless that does not move in the loop. Operands without data do not matter. A single loop may
/// leave a rest.
template <size_t N>
bool in_runs(const kernels::Walk<N>& walk, void* const (&data)[N], int64_t length) {
  const size_t last = walk.rank - 1;
  if (walk.rank > 1 && walk.sizes[last] % length != 0) return false;
  for (size_t k = 0; k < N; ++k) {
    if (!data[k] || (k > 0 && walk.strides[k][last] == 0)) continue;
    if (walk.strides[k][last] != 1 || !is_aligned(data[k])) return false;
    if (!steps_in_runs(walk, k, last, length)) return false;
  }
  return true;
}

/// The loops over complete runs.
template <size_t N>
Geometry<N> runs_of(kernels::Walk<N> walk, int64_t length) {
  const size_t last = walk.rank - 1;
  walk.sizes[last] /= length;
  for (size_t k = 0; k < N; ++k) walk.strides[k][last] *= length;
  return make_geometry(walk);
}

}  // namespace tandem::cuda
