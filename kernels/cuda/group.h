#pragma once
// Group: the threads that work on one row (group_shape.h), as used in device code. Deterministic: values are combined
// in an order that depends only on the group's width.
#include "kernels/cuda/group_shape.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/loads.h"
#include "tandem/math/sum.h"

namespace tandem::cuda {

static_assert(kPerThread == detail::kRowShare);

inline Launch launch_of(const GroupShape& s) {
  const unsigned width = static_cast<unsigned>(s.width), rows = static_cast<unsigned>(s.rows);
  return {dim3(static_cast<unsigned>(s.blocks), static_cast<unsigned>(s.splits)),
          s.columns ? dim3(rows, width) : dim3(width, rows), 0};
}

/// The value of the lane whose index differs in the bits of `lanes`.
template <class T>
__device__ __forceinline__ T shuffle_xor(T v, int lanes) {
  return __shfl_xor_sync(0xffffffffu, v, lanes);
}
__device__ __forceinline__ math::Sum<float> shuffle_xor(const math::Sum<float>& v, int lanes) {
  return {shuffle_xor(v.hi, lanes), shuffle_xor(v.lo, lanes)};
}
__device__ __forceinline__ math::Sum<double> shuffle_xor(const math::Sum<double>& v, int lanes) {
  return {shuffle_xor(v.sum, lanes)};
}

template <bool kColumns>
struct Group {
  __device__ static int width() { return static_cast<int>(kColumns ? blockDim.y : blockDim.x); }
  __device__ static int thread() { return static_cast<int>(kColumns ? threadIdx.y : threadIdx.x); }
  /// The first row of this block, this thread's row relative to it, and the step to the block's next rows.
  __device__ static int64_t first_row() { return int64_t{blockIdx.x} * rows(); }
  __device__ static int64_t row() { return kColumns ? threadIdx.x : threadIdx.y; }
  __device__ static int64_t row_step() { return int64_t{gridDim.x} * rows(); }

  /// Combines v over the group and returns the result to all its threads. Every thread of the block must call it.
  template <class T, class Combine>
  __device__ static T fold(T v, Combine combine) {
    if constexpr (kColumns) {
      __shared__ T values[256];
      const unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
      __syncthreads();  // the values of the previous call have been read
      values[at] = v;
      for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.y < half) values[at] = combine(values[at], values[at + half * blockDim.x]);
      }
      __syncthreads();
      return values[threadIdx.x];
    } else {
      for (int lanes = min(width(), 32) / 2; lanes > 0; lanes /= 2) v = combine(v, shuffle_xor(v, lanes));
      if (width() <= 32) return v;
      __shared__ T warps[32];
      __syncthreads();  // the values of the previous call have been read
      if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
      __syncthreads();
      v = warps[0];
      for (int w = 1; w < width() / 32; ++w) v = combine(v, warps[w]);
      return v;
    }
  }
  template <class T>
  __device__ static T sum(T v) {
    return fold(v, [](T a, T b) { return a + b; });
  }

  /// Whether a condition, which is the same for all threads of a group, holds for any group whose threads must take the
  /// same branch as this one before they call fold. Every thread of the block must call it.
  __device__ static bool any(bool condition) {
    if (!kColumns && width() <= 32) return __any_sync(0xffffffffu, condition) != 0;
    return __syncthreads_or(condition) != 0;
  }

 private:
  __device__ static int64_t rows() { return kColumns ? blockDim.x : blockDim.y; }
};

/// This thread's kPerThread elements of the part of a row that starts at `begin`: adjacent if `packed`, else
/// interleaved with those of the group's other threads. A packed row is contiguous. With kAnyStart it may start and end
/// anywhere in memory; else `end` is a multiple of kPerThread, and so is the row's start.
template <bool kColumns, bool kAnyStart = false>
struct Share {
  int64_t begin, end;  ///< `end` of the whole row
  bool packed;
  int before = 0;  ///< kAnyStart and packed: elements from the last multiple of kPerThread in memory to the row's start

  __device__ int64_t index(int e) const {
    const int t = Group<kColumns>::thread();
    if (!packed) return begin + t + int64_t{e} * Group<kColumns>::width();
    return begin + int64_t{t} * kPerThread + e - (kAnyStart ? before : 0);
  }
  __device__ bool has(int e) const {
    const int64_t i = index(e);
    return i < end && (!kAnyStart || i >= 0);
  }
  /// Loads the elements; place(index in the row) returns an element's position.
  template <Dtypes kDtypes = Dtypes::floating, class C, class Place>
  __device__ void load(const void* data, DType t, C (&v)[kPerThread], Place place) const {
    if (is_run()) {
      const int64_t first = has(0) ? place(index(0)) : -1;
      load_runs<C, 1, kPerThread, kDtypes>(data, t, v, [&](int) { return first; });
    } else {
      int64_t places[kPerThread];
      find(places, place);
      load_runs<C, kPerThread, 1, kDtypes>(data, t, v, [&](int e) { return places[e]; });
    }
  }
  template <class C, class Place>
  __device__ void store(void* data, DType t, const C (&v)[kPerThread], Place place) const {
    if (is_run()) {
      const int64_t first = has(0) ? place(index(0)) : -1;
      store_runs<C, 1, kPerThread>(data, t, v, [&](int) { return first; });
    } else {
      int64_t places[kPerThread];
      find(places, place);
      store_runs<C, kPerThread, 1>(data, t, v, [&](int e) { return places[e]; });
    }
  }

 private:
  /// Whether the elements are in one run. With kAnyStart a row's first and last elements may be less than a run.
  __device__ bool is_run() const { return packed && (!kAnyStart || (has(0) && has(kPerThread - 1))); }
  template <class Place>
  __device__ void find(int64_t (&places)[kPerThread], Place place) const {
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) places[e] = has(e) ? place(index(e)) : -1;
  }
};

}  // namespace tandem::cuda
