#pragma once
// Geometry: the offset of element i in a few tensors, for kernels that visit tensors of any strides together.
#include "kernels/walk.h"
#include "tandem/base/macros.h"

namespace tandem::cuda {

/// A Walk as a kernel parameter. Element i is counted in the walk's order, the last loop fastest.
template <size_t N>
struct Geometry {
  int rank = 0;
  int64_t numel = 0;
  int64_t sizes[kMaxRank + 1];
  int64_t strides[N][kMaxRank + 1];

  /// offset[k] = offset of element i in operand k, in elements.
  TANDEM_HOST_DEVICE void offsets(int64_t i, int64_t (&offset)[N]) const {
    for (size_t k = 0; k < N; ++k) offset[k] = 0;
    // 64-bit divisions cost several times as much as 32-bit ones.
    if (numel <= 0x7fffffff) {
      uint32_t rest = static_cast<uint32_t>(i);
      for (int d = rank - 1; d >= 0; --d) {
        const uint32_t size = static_cast<uint32_t>(sizes[d]), quotient = d > 0 ? rest / size : 0;
        add(rest - quotient * size, d, offset);
        rest = quotient;
      }
    } else {
      uint64_t rest = static_cast<uint64_t>(i);
      for (int d = rank - 1; d >= 0; --d) {
        const uint64_t size = static_cast<uint64_t>(sizes[d]), quotient = d > 0 ? rest / size : 0;
        add(rest - quotient * size, d, offset);
        rest = quotient;
      }
    }
  }

 private:
  TANDEM_HOST_DEVICE void add(uint64_t index, int d, int64_t (&offset)[N]) const {
    for (size_t k = 0; k < N; ++k) offset[k] += static_cast<int64_t>(index) * strides[k][d];
  }
};

template <size_t N>
Geometry<N> make_geometry(const kernels::Walk<N>& walk) {
  Geometry<N> g;
  g.rank = static_cast<int>(walk.rank);
  g.numel = walk.numel;
  for (size_t d = 0; d < walk.rank; ++d) {
    g.sizes[d] = walk.sizes[d];
    for (size_t k = 0; k < N; ++k) g.strides[k][d] = walk.strides[k][d];
  }
  return g;
}

}  // namespace tandem::cuda
