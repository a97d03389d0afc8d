#pragma once
// Geometry: the offset of element i in a few tensors, for kernels that visit tensors of any strides together.
#include "kernels/cuda/divisor.h"
#include "kernels/walk.h"

namespace tandem::cuda {

/// A Walk as a kernel parameter. Element i is counted in the walk's order, the last loop fastest.
template <size_t N>
struct Geometry {
  int rank = 0;
  int64_t numel = 1;
  int64_t sizes[kMaxRank + 1];
  int64_t strides[N][kMaxRank + 1];
  Divisor divisors[kMaxRank + 1];  ///< by the sizes

  /// Adds an innermost loop.
  void append(int64_t size, const std::array<int64_t, N>& step) {
    numel *= size;
    sizes[rank] = size;
    for (size_t k = 0; k < N; ++k) strides[k][rank] = step[k];
    divisors[rank] = Divisor(size);
    ++rank;
  }
  /// The loops with the strides of one operand.
  Geometry<1> operand(size_t k) const {
    Geometry<1> one;
    for (int d = 0; d < rank; ++d) one.append(sizes[d], std::array<int64_t, 1>{strides[k][d]});
    return one;
  }
  /// offset[k] = offset of element i in operand k, in elements.
  TANDEM_HOST_DEVICE void offsets(int64_t i, int64_t (&offset)[N]) const {
    for (size_t k = 0; k < N; ++k) offset[k] = 0;
    if (numel <= kDivisorLimit) {
      split(
          static_cast<uint32_t>(i), [&](uint32_t n, int d) { return divisors[d].quotient(n); }, offset);
    } else {
      split(
          static_cast<uint64_t>(i), [&](uint64_t n, int d) { return n / static_cast<uint64_t>(sizes[d]); }, offset);
    }
  }

 private:
  template <class I, class Divide>
  TANDEM_HOST_DEVICE void split(I rest, const Divide& divide, int64_t (&offset)[N]) const {
    for (int d = rank - 1; d >= 0; --d) {
      const I quotient = d > 0 ? divide(rest, d) : 0, index = rest - quotient * static_cast<I>(sizes[d]);
      for (size_t k = 0; k < N; ++k) offset[k] += static_cast<int64_t>(index) * strides[k][d];
      rest = quotient;
    }
  }
};

template <size_t N>
Geometry<N> make_geometry(const kernels::Walk<N>& walk) {
  Geometry<N> g;
  for (size_t d = 0; d < walk.rank; ++d) {
    std::array<int64_t, N> step;
    for (size_t k = 0; k < N; ++k) step[k] = walk.strides[k][d];
    g.append(walk.sizes[d], step);
  }
  return g;
}

}  // namespace tandem::cuda
