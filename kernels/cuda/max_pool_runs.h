#pragma once
// Maxima over row-major images with windows of Kernel columns that are two columns apart: each thread takes several
// columns. Included by pool.cu alone, whose contract holds here.
#include <algorithm>
#include <initializer_list>

#include "kernels/cuda/element.h"
#include "kernels/cuda/image.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/loads.h"
#include "kernels/cuda/windows.h"

namespace tandem::cuda {
namespace {

template <class T>
using Compute = typename ComputeOf<T>::type;

/// Calls body(i) for all positions, in a grid-stride loop.
template <class F>
__device__ __forceinline__ void for_each_position(int64_t numel, F&& body) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numel; i += step) body(i);
}

/// Outputs per thread, adjacent in a row, and the inputs from the first to the one before the next thread's first.
constexpr int kRunOutputs = 4, kRunInputs = 2 * kRunOutputs;

/// Whether accesses can be wide: the windows of a run cover kRunInputs aligned inputs, for a kernel of 3 columns also
/// the one before these, and all rows divide into runs.
template <int Kernel>
bool is_wide(const Taps& columns, const Tensor& x, const Tensor& y, const Tensor& indices) {
  return columns.padding == Kernel - 2 && columns.in == 2 * columns.out && in_runs(x, 3, kRunInputs) &&
         in_runs(y, 3, kRunOutputs) && in_runs(indices, 3, kRunOutputs);
}

/// Elements per access of at most 16 bytes, of N.
template <class T, int N>
constexpr int kPackOf = std::min<int>(N, 16 / sizeof(T));

/// Loads adjacent elements to v[First] to v[First + N - 1], in accesses of at most 16 bytes.
template <int First, int N, class T, class C, int Size>
__device__ __forceinline__ void load_adjacent(const T* from, C (&v)[Size]) {
  constexpr int kPack = kPackOf<T, N>;
#pragma unroll
  for (int p = 0; p < N / kPack; ++p) {
    const auto pack = reinterpret_cast<const Pack<T, kPack>*>(from)[p];
#pragma unroll
    for (int j = 0; j < kPack; ++j) v[First + p * kPack + j] = static_cast<C>(pack.at[j]);
  }
}

/// Stores the N elements of columns `column` to column + N - 1 that are before `end`.
template <int N, class T, class C>
__device__ __forceinline__ void store_adjacent(T* to, const C (&v)[N], int32_t column, int32_t end, bool wide) {
  if (wide) {
    constexpr int kPack = kPackOf<T, N>;
#pragma unroll
    for (int p = 0; p < N / kPack; ++p) {
      Pack<T, kPack> pack;
#pragma unroll
      for (int j = 0; j < kPack; ++j) pack.at[j] = convert<T>(v[p * kPack + j]);
      reinterpret_cast<Pack<T, kPack>*>(to)[p] = pack;
    }
  } else {
#pragma unroll
    for (int j = 0; j < N; ++j) {
      if (column + j < end) to[j] = convert<T>(v[j]);
    }
  }
}

/// Loads elements `column` to column + N - 1 of a row of `end` elements; those outside it are `otherwise`.
template <int N, class T, class C>
__device__ __forceinline__ void load_inside(const T* from, int32_t column, int32_t end, C (&v)[N], C otherwise) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int32_t at = column + j;
    v[j] = at >= 0 && at < end ? static_cast<C>(from[j]) : otherwise;
  }
}

template <class T, int Kernel>
__global__ void __launch_bounds__(kThreads)
    max_forward_runs(Order order, Image y, Image indices, Image x, Taps rows, Taps columns, bool wide) {
  using C = Compute<T>;
  constexpr int kInputs = kRunInputs + Kernel - 2;
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    const Taps::Range down = rows.inside(at.h);
    const int32_t begin = columns.begin(at.w);
    C best[kRunOutputs];
    int32_t cells[kRunOutputs];
#pragma unroll
    for (int q = 0; q < kRunOutputs; ++q) {
      const int32_t from = begin + 2 * q, tap = from < 0 ? -from : 0;
      best[q] = -math::kInf<C>;
      cells[q] = down.first < down.end && tap < Kernel && from + tap < columns.in ? down.first * Kernel + tap : -1;
    }
    const int64_t step = rows.dilation * x.strides[2];
    const T* row =
        static_cast<const T*>(x.data) + x.at(at.n, at.c, rows.begin(at.h) + down.first * rows.dilation, 0) + begin;
    for (int32_t kh = down.first; kh < down.end; ++kh, row += step) {
      C v[kInputs];
      if (wide) {
        load_adjacent<Kernel - 2, kRunInputs>(row + (Kernel - 2), v);
        if constexpr (Kernel == 3) v[0] = begin >= 0 ? static_cast<C>(row[0]) : -math::kInf<C>;
      } else {
        load_inside(row, begin, columns.in, v, -math::kInf<C>);  // -inf never replaces the best
      }
#pragma unroll
      for (int q = 0; q < kRunOutputs; ++q) {
#pragma unroll
        for (int kw = 0; kw < Kernel; ++kw) {
          const C value = v[2 * q + kw];
          if (!(value <= best[q]) && best[q] == best[q]) {  // larger or NaN, unless best is already NaN
            best[q] = value;
            cells[q] = kh * Kernel + kw;
          }
        }
      }
    }
    store_adjacent(static_cast<T*>(y.data) + y.at(at.n, at.c, at.h, at.w), best, at.w, columns.out, wide);
    store_adjacent(static_cast<uint8_t*>(indices.data) + indices.at(at.n, at.c, at.h, at.w), cells, at.w, columns.out,
                   wide);
  });
}

/// The gradients and cells of outputs `w` to w + N - 1; outside the row, 0 and -1.
template <class T, int N>
struct RunGradients {
  Compute<T> g[N];
  int32_t cells[N];

  __device__ RunGradients(const Image& gy, const Image& indices, const Position& at, int32_t h, int32_t w, int32_t out,
                          bool wide) {
    const T* from = static_cast<const T*>(gy.data) + gy.at(at.n, at.c, h, w);
    const auto* cell = static_cast<const uint8_t*>(indices.data) + indices.at(at.n, at.c, h, w);
    if (wide) {
      load_adjacent<0, kRunOutputs>(from, g);
      load_adjacent<0, kRunOutputs>(cell, cells);
      if constexpr (N > kRunOutputs) {
        const bool inside = w + kRunOutputs < out;
        g[kRunOutputs] = inside ? static_cast<Compute<T>>(from[kRunOutputs]) : Compute<T>(0);
        cells[kRunOutputs] = inside ? int32_t{cell[kRunOutputs]} : -1;
      }
    } else {
      load_inside(from, w, out, g, Compute<T>(0));
      load_inside(cell, w, out, cells, -1);
    }
  }
};

/// Windows of 2 columns without padding, and disjoint rows: one thread per run of outputs.
template <class T>
__global__ void __launch_bounds__(kThreads)
    max_scatter_runs(Order order, Image gx, Image gy, Image indices, Taps rows, Taps columns, bool wide) {
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    const RunGradients<T, kRunOutputs> of(gy, indices, at, at.h, at.w, columns.out, wide);
    const Taps::Range down = rows.share(at.h);
    const int32_t column = 2 * at.w, begin = rows.begin(at.h);
    T* to = static_cast<T*>(gx.data) + gx.at(at.n, at.c, down.first, column);
    for (int32_t h = down.first; h < down.end; ++h, to += gx.strides[2]) {
      const int32_t kh = h - begin;
      Compute<T> sum[kRunInputs] = {};
#pragma unroll
      for (int j = 0; j < kRunInputs; ++j) {
        if (kh < rows.kernel && of.cells[j / 2] == 2 * kh + j % 2) sum[j] += of.g[j / 2];
      }
      store_adjacent(to, sum, column, columns.in, wide);
      if (at.w + kRunOutputs < columns.out) continue;
      for (int32_t rest = column + kRunInputs; rest < columns.in; ++rest) to[rest - column] = T(0);
    }
  });
}

/// Windows of 3 columns and padding 1: one thread per kRunInputs elements of gx, which are in the windows of
/// kRunOutputs + 1 outputs.
template <class T>
__global__ void __launch_bounds__(kThreads)
    max_backward_runs(Order order, Image gx, Image gy, Image indices, Taps rows, Taps columns, bool wide) {
  constexpr int kOutputs = kRunOutputs + 1;
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    Compute<T> sum[kRunInputs] = {};
    const Taps::Range down = rows.outputs(at.h);
    for (int32_t oh = down.first; oh < down.end; ++oh) {
      const int32_t kh = rows.tap(at.h, oh);
      if (kh < 0) continue;
      const RunGradients<T, kOutputs> of(gy, indices, at, oh, at.w / 2, columns.out, wide);
#pragma unroll
      for (int q = 0; q < kOutputs; ++q) {
#pragma unroll
        for (int kw = 0; kw < 3; ++kw) {
          const int j = 2 * q + kw - 1;
          if (j >= 0 && j < kRunInputs && of.cells[q] == 3 * kh + kw) sum[j] += of.g[q];
        }
      }
    }
    store_adjacent(static_cast<T*>(gx.data) + gx.at(at.n, at.c, at.h, at.w), sum, at.w, columns.in, wide);
  });
}

/// Whether the kernels for runs of columns apply: the windows are two columns apart, and columns contiguous.
bool has_column_runs(const Taps& columns, const Tensor& indices, std::initializer_list<const Tensor*> images) {
  return columns.stride == 2 && columns.dilation == 1 && indices.dtype() == DType::U8 && indices.strides()[3] == 1 &&
         std::all_of(images.begin(), images.end(), [](const Tensor* x) { return x->strides()[3] == 1; });
}

template <int Kernel>
void max_in_runs(const Tensor& y, const Tensor& indices, const Tensor& x, const Taps& rows, const Taps& columns) {
  const Order order = Order::of_columns(y, kRunOutputs);
  const bool wide = is_wide<Kernel>(columns, x, y, indices);
  visit_floating(y.dtype(), [&]<class T>(T) {
    launch(max_forward_runs<T, Kernel>, grid_stride(order.numel), order, Image(y), Image(indices), Image(x), rows,
           columns, wide);
  });
}

}  // namespace
}  // namespace tandem::cuda
