// Pooling, with one thread per element of the result, or per 16 bytes of channels if all images are channels-last.
// Maxima over row-major images with windows that are two columns apart take several columns per thread. Contract: f16
// and bf16 are widened to f32, sums are f32 (f64 for f64) and rounded once. A backward pass gathers: each element of gx
// adds the terms of the windows that contain it, in a fixed order, so results are deterministic. If no windows of a
// maximum overlap, each output writes its part of gx instead. Tensors may have any strides; threads run in the order of
// the result's memory, or of gy's if outputs write.
#include <algorithm>
#include <initializer_list>

#include "kernels/cuda/element.h"
#include "kernels/cuda/image.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/loads.h"
#include "kernels/cuda/max_pool_runs.h"
#include "kernels/cuda/windows.h"

namespace tandem::cuda {
namespace {

/// Pointer to channels c to c + V - 1 of a pixel.
template <class T, int V>
__device__ __forceinline__ Pack<T, V>* pack_at(const Image& x, int64_t n, int64_t c, int64_t h, int64_t w) {
  return reinterpret_cast<Pack<T, V>*>(static_cast<T*>(x.data) + x.at(n, c, h, w));
}

/// Reads the cells of V channels. Their dtype is u8, or i32 for windows of more than 256 cells.
template <int V>
__device__ __forceinline__ void load_cells(const Image& indices, int64_t i, int32_t (&cells)[V]) {
  if (indices.dtype == DType::U8) {
    const auto pack = *reinterpret_cast<const Pack<uint8_t, V>*>(static_cast<const uint8_t*>(indices.data) + i);
#pragma unroll
    for (int j = 0; j < V; ++j) cells[j] = pack.at[j];
  } else {
    const auto* const from = static_cast<const int32_t*>(indices.data) + i;
#pragma unroll
    for (int j = 0; j < V; ++j) cells[j] = from[j];
  }
}

template <int V>
__device__ __forceinline__ void store_cells(const Image& indices, int64_t i, const int32_t (&cells)[V]) {
  if (indices.dtype == DType::U8) {
    Pack<uint8_t, V> pack;
#pragma unroll
    for (int j = 0; j < V; ++j) pack.at[j] = static_cast<uint8_t>(cells[j]);
    *reinterpret_cast<Pack<uint8_t, V>*>(static_cast<uint8_t*>(indices.data) + i) = pack;
  } else {
    auto* const to = static_cast<int32_t*>(indices.data) + i;
#pragma unroll
    for (int j = 0; j < V; ++j) to[j] = cells[j];
  }
}

/// Rounds V sums and writes them.
template <class T, int V>
__device__ __forceinline__ void store_sums(Pack<T, V>* to, const Compute<T> (&sum)[V]) {
  Pack<T, V> pack;
#pragma unroll
  for (int j = 0; j < V; ++j) pack.at[j] = convert<T>(sum[j]);
  *to = pack;
}

template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    max_forward(Order order, Image y, Image indices, Image x, Taps rows, Taps columns) {
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    const Taps::Range down = rows.inside(at.h), across = columns.inside(at.w);
    const bool any = down.first < down.end && across.first < across.end;
    Compute<T> best[V];
    int32_t cells[V];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      best[j] = -math::kInf<Compute<T>>;
      cells[j] = any ? down.first * columns.kernel + across.first : -1;
    }
    const int64_t row_step = rows.dilation * x.strides[2], column_step = columns.dilation * x.strides[3];
    const T* row = static_cast<const T*>(x.data) + x.at(at.n, at.c, rows.begin(at.h), columns.begin(at.w)) +
                   down.first * row_step + across.first * column_step;
    for (int32_t kh = down.first; kh < down.end; ++kh, row += row_step) {
      const T* from = row;
      for (int32_t kw = across.first; kw < across.end; ++kw, from += column_step) {
        const auto pack = *reinterpret_cast<const Pack<T, V>*>(from);
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const auto v = static_cast<Compute<T>>(pack.at[j]);
          if (!(v <= best[j]) && best[j] == best[j]) {  // larger or NaN, unless best is already NaN
            best[j] = v;
            cells[j] = kh * columns.kernel + kw;
          }
        }
      }
    }
    store_sums<T, V>(pack_at<T, V>(y, at.n, at.c, at.h, at.w), best);
    store_cells<V>(indices, indices.at(at.n, at.c, at.h, at.w), cells);
  });
}

template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    max_backward(Order order, Image gx, Image gy, Image indices, Taps rows, Taps columns) {
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    Compute<T> sum[V] = {};
    const Taps::Range down = rows.outputs(at.h), across = columns.outputs(at.w);
    for (int32_t oh = down.first; oh < down.end; ++oh) {
      const int32_t kh = rows.tap(at.h, oh);
      if (kh < 0) continue;
      for (int32_t ow = across.first; ow < across.end; ++ow) {
        const int32_t kw = columns.tap(at.w, ow);
        if (kw < 0) continue;
        int32_t cells[V];
        load_cells<V>(indices, indices.at(at.n, at.c, oh, ow), cells);
        const auto pack = *pack_at<T, V>(gy, at.n, at.c, oh, ow);
#pragma unroll
        for (int j = 0; j < V; ++j) {
          if (cells[j] == kh * columns.kernel + kw) sum[j] += static_cast<Compute<T>>(pack.at[j]);
        }
      }
    }
    store_sums<T, V>(pack_at<T, V>(gx, at.n, at.c, at.h, at.w), sum);
  });
}

/// For disjoint windows: one thread per output, which reads its gradient and cell once and writes its share of gx.
template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    max_scatter(Order order, Image gx, Image gy, Image indices, Taps rows, Taps columns) {
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    int32_t cells[V];
    load_cells<V>(indices, indices.at(at.n, at.c, at.h, at.w), cells);
    const auto pack = *pack_at<T, V>(gy, at.n, at.c, at.h, at.w);
    const Taps::Range down = rows.share(at.h), across = columns.share(at.w);
    for (int32_t h = down.first; h < down.end; ++h) {
      const int32_t kh = h - rows.begin(at.h);
      T* to = static_cast<T*>(gx.data) + gx.at(at.n, at.c, h, across.first);
      for (int32_t w = across.first; w < across.end; ++w, to += gx.strides[3]) {
        const int32_t kw = w - columns.begin(at.w);
        const bool inside = kh < rows.kernel && kw < columns.kernel;
        Compute<T> sum[V] = {};
#pragma unroll
        for (int j = 0; j < V; ++j) {
          if (inside && cells[j] == kh * columns.kernel + kw) sum[j] += static_cast<Compute<T>>(pack.at[j]);
        }
        store_sums<T, V>(reinterpret_cast<Pack<T, V>*>(to), sum);
      }
    }
  });
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    max_gather(Order order, Image y, Image x, Image indices, Taps rows, Taps columns) {
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    const auto cell = load<int32_t>(indices.data, indices.dtype, indices.at(at.n, at.c, at.h, at.w));
    const int32_t ih = rows.input(at.h, cell / columns.kernel), iw = columns.input(at.w, cell % columns.kernel);
    T value = T(0);
    if (cell >= 0 && ih >= 0 && iw >= 0) value = static_cast<const T*>(x.data)[x.at(at.n, at.c, ih, iw)];
    static_cast<T*>(y.data)[y.at(at.n, at.c, at.h, at.w)] = value;
  });
}

template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    average_forward(Order order, Image y, Image x, Windows rows, Windows columns) {
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    const Window down = rows.window(at.h), across = columns.window(at.w);
    const T* row = static_cast<const T*>(x.data) + x.at(at.n, at.c, down.begin, across.begin);
    Compute<T> sum[V] = {};
    for (int32_t h = down.begin; h < down.end; ++h, row += x.strides[2]) {
      const T* from = row;
      for (int32_t w = across.begin; w < across.end; ++w, from += x.strides[3]) {
        const auto pack = *reinterpret_cast<const Pack<T, V>*>(from);
#pragma unroll
        for (int j = 0; j < V; ++j) sum[j] += static_cast<Compute<T>>(pack.at[j]);
      }
    }
    const auto size = static_cast<Compute<T>>(down.size * across.size);
#pragma unroll
    for (int j = 0; j < V; ++j) sum[j] /= size;
    store_sums<T, V>(pack_at<T, V>(y, at.n, at.c, at.h, at.w), sum);
  });
}

// For more than three blocks on a multiprocessor, the compiler would spill registers on compute capability 10.
template <class T, int V>
__global__ void __launch_bounds__(kThreads, 3)
    average_backward(Order order, Image gx, Image gy, Windows rows, Windows columns) {
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    const int32_t last_row = rows.last_output(at.h), last_column = columns.last_output(at.w);
    Compute<T> sum[V] = {};
    for (int32_t oh = rows.first_output(at.h); oh <= last_row; ++oh) {
      const Window down = rows.window(oh);
      if (at.h < down.begin || at.h >= down.end) continue;
      for (int32_t ow = columns.first_output(at.w); ow <= last_column; ++ow) {
        const Window across = columns.window(ow);
        if (at.w < across.begin || at.w >= across.end) continue;
        const auto size = static_cast<Compute<T>>(down.size * across.size);
        const auto pack = *pack_at<T, V>(gy, at.n, at.c, oh, ow);
#pragma unroll
        for (int j = 0; j < V; ++j) sum[j] += static_cast<Compute<T>>(pack.at[j]) / size;
      }
    }
    store_sums<T, V>(pack_at<T, V>(gx, at.n, at.c, at.h, at.w), sum);
  });
}

/// Calls f(T{}, V) with the number V of channels per thread: 16 bytes of them, or 1.
template <class F>
void visit_channels(DType dtype, std::initializer_list<const Tensor*> images, F f) {
  visit_floating(dtype, [&]<class T>(T zero) {
    constexpr int kRun = 16 / static_cast<int>(sizeof(T));
    const bool wide = std::all_of(images.begin(), images.end(), [](const Tensor* x) { return in_runs(*x, 1, kRun); });
    wide ? f(zero, std::integral_constant<int, kRun>()) : f(zero, std::integral_constant<int, 1>());
  });
}

void average(const Tensor& y, const Tensor& x, const Windows& rows, const Windows& columns) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  visit_channels(y.dtype(), {&y, &x}, [&]<class T, int V>(T, std::integral_constant<int, V>) {
    const Order order(y, V);
    launch(average_forward<T, V>, grid_stride(order.numel), order, Image(y), Image(x), rows, columns);
  });
}

void average_gradient(const Tensor& gx, const Tensor& gy, const Windows& rows, const Windows& columns) {
  if (gx.numel() == 0) return;
  const DeviceGuard on(gx.device());
  visit_channels(gx.dtype(), {&gx, &gy}, [&]<class T, int V>(T, std::integral_constant<int, V>) {
    const Order order(gx, V);
    launch(average_backward<T, V>, grid_stride(order.numel), order, Image(gx), Image(gy), rows, columns);
  });
}

}  // namespace

void max_pool2d(const Tensor& y, const Tensor& indices, const Tensor& x, const Pool2dParams& p) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const Taps rows(x.size(2), y.size(2), p, 0), columns(x.size(3), y.size(3), p, 1);
  if (has_column_runs(columns, indices, {&x, &y})) {
    if (columns.kernel == 2) return max_in_runs<2>(y, indices, x, rows, columns);
    if (columns.kernel == 3) return max_in_runs<3>(y, indices, x, rows, columns);
  }
  visit_channels(y.dtype(), {&y, &indices, &x}, [&]<class T, int V>(T, std::integral_constant<int, V>) {
    const Order order(y, V);
    launch(max_forward<T, V>, grid_stride(order.numel), order, Image(y), Image(indices), Image(x), rows, columns);
  });
}

void max_pool2d_backward(const Tensor& gx, const Tensor& gy, const Tensor& indices, const Pool2dParams& p) {
  if (gx.numel() == 0) return;
  const DeviceGuard on(gx.device());
  const Taps rows(gx.size(2), gy.size(2), p, 0), columns(gx.size(3), gy.size(3), p, 1);
  const bool disjoint = rows.disjoint() && columns.disjoint();
  if (has_column_runs(columns, indices, {&gx, &gy})) {
    const bool scatters = disjoint && columns.kernel == 2 && columns.padding == 0;
    if (scatters || (columns.kernel == 3 && columns.padding == 1)) {
      const Order order = scatters ? Order::of_columns(gy, kRunOutputs) : Order::of_columns(gx, kRunInputs);
      const bool wide = scatters ? is_wide<2>(columns, gx, gy, indices) : is_wide<3>(columns, gx, gy, indices);
      return visit_floating(gx.dtype(), [&]<class T>(T) {
        launch(scatters ? max_scatter_runs<T> : max_backward_runs<T>, grid_stride(order.numel), order, Image(gx),
               Image(gy), Image(indices), rows, columns, wide);
      });
    }
  }
  visit_channels(gx.dtype(), {&gx, &gy, &indices}, [&]<class T, int V>(T, std::integral_constant<int, V>) {
    const Order order(disjoint ? gy : gx, V);
    launch(disjoint ? max_scatter<T, V> : max_backward<T, V>, grid_stride(order.numel), order, Image(gx), Image(gy),
           Image(indices), rows, columns);
  });
}

void max_pool2d_gather(const Tensor& y, const Tensor& x, const Tensor& indices, const Pool2dParams& p) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const Taps rows(x.size(2), y.size(2), p, 0), columns(x.size(3), y.size(3), p, 1);
  visit_floating(y.dtype(), [&]<class T>(T) {
    launch(max_gather<T>, grid_stride(y.numel()), Order(y), Image(y), Image(x), Image(indices), rows, columns);
  });
}

void avg_pool2d(const Tensor& y, const Tensor& x, const Pool2dParams& p) {
  average(y, x, {x.size(2), y.size(2), p, 0}, {x.size(3), y.size(3), p, 1});
}

void avg_pool2d_backward(const Tensor& gx, const Tensor& gy, const Pool2dParams& p) {
  average_gradient(gx, gy, {gx.size(2), gy.size(2), p, 0}, {gx.size(3), gy.size(3), p, 1});
}

void adaptive_avg_pool2d(const Tensor& y, const Tensor& x) {
  average(y, x, {x.size(2), y.size(2)}, {x.size(3), y.size(3)});
}

void adaptive_avg_pool2d_backward(const Tensor& gx, const Tensor& gy) {
  average_gradient(gx, gy, {gx.size(2), gy.size(2)}, {gx.size(3), gy.size(3)});
}

}  // namespace tandem::cuda
