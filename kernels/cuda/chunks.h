#pragma once
// Distribution of chunks in kernels over tensor lists. Internal.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/tensor_list.h"

namespace tandem::cuda {

/// Calls f(entry number, entry, begin, end) for the chunks of this block: elements [begin, end) of the entry.
template <size_t N, class F>
__device__ __forceinline__ void for_each_chunk(const uint64_t* words, int64_t count, int64_t chunks, F&& f) {
  const auto* entries = reinterpret_cast<const ListEntry<N>*>(words);
  for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const int64_t k = entry_of(entries, count, chunk);
    const ListEntry<N>& entry = entries[k];
    const int64_t begin = (chunk - entry.first_chunk) * kChunk;
    f(k, entry, begin, begin + kChunk < entry.numel ? begin + kChunk : entry.numel);
  }
}

/// The offset of element i in each operand.
template <size_t N>
__device__ __forceinline__ void offsets_of(const uint64_t* words, const ListEntry<N>& entry, int64_t i,
                                           int64_t (&offset)[N]) {
  if (entry.geometry != 0) {
    reinterpret_cast<const Geometry<N>*>(words + entry.geometry)->offsets(i, offset);
  } else {
#pragma unroll
    for (size_t k = 0; k < N; ++k) offset[k] = i;
  }
}

}  // namespace tandem::cuda
