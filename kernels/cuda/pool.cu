// Pooling, with one thread per element of the result. Contract: f16 and bf16 are widened to f32, sums are f32 (f64 for
// f64) and rounded once. A backward pass gathers: each element of gx adds the terms of the windows that contain it, in
// a fixed order, so results are deterministic. Tensors may have any strides; threads run in the order of the result's
// memory.
#include "kernels/cuda/element.h"
#include "kernels/cuda/image.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"

namespace tandem::cuda {
namespace {

/// The taps along one dimension: tap k of output o is input o stride + k dilation - padding.
struct Taps {
  int64_t in, out, kernel, stride, padding, dilation;
  Taps(int64_t in, int64_t out, const Pool2dParams& p, size_t d)
      : in(in), out(out), kernel(p.kernel[d]), stride(p.stride[d]), padding(p.padding[d]), dilation(p.dilation[d]) {}
  /// The input of output o's tap 0; outside the image if it is in the padding.
  __device__ int64_t begin(int64_t o) const { return o * stride - padding; }
  /// The input of tap k, or -1 if it is outside the image.
  __device__ int64_t input(int64_t o, int64_t k) const {
    const int64_t i = begin(o) + k * dilation;
    return i >= 0 && i < in ? i : -1;
  }
  /// Taps [first_tap, end_tap) of output o are inside the image.
  __device__ int64_t first_tap(int64_t o) const { return begin(o) >= 0 ? 0 : quotient(-begin(o) - 1, dilation) + 1; }
  __device__ int64_t end_tap(int64_t o) const {
    const int64_t end = begin(o) >= in ? 0 : quotient(in - 1 - begin(o), dilation) + 1;
    return end < kernel ? end : kernel;
  }
  /// Outputs from first_output on with o stride <= i + padding may have a tap at input i.
  __device__ int64_t first_output(int64_t i) const {
    const int64_t before = i + padding - (kernel - 1) * dilation;
    return before > 0 ? quotient(before - 1, stride) + 1 : 0;
  }
  /// The tap of output o at input i, or -1 if there is none; requires o stride <= i + padding.
  __device__ int64_t tap(int64_t i, int64_t o) const {
    const int64_t distance = i - begin(o), k = quotient(distance, dilation);
    return k * dilation == distance ? k : -1;
  }

 private:
  /// 64-bit divisions cost several times as much as 32-bit ones.
  __device__ static int64_t quotient(int64_t a, int64_t b) {
    return (a | b) <= 0x7fffffff ? int64_t{static_cast<uint32_t>(a) / static_cast<uint32_t>(b)} : a / b;
  }
};

template <class T>
using Compute = typename ComputeOf<T>::type;

/// Calls body(i) for all positions, in a grid-stride loop.
template <class F>
__device__ __forceinline__ void for_each_position(int64_t numel, F&& body) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numel; i += step) body(i);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    max_forward(Order order, Image y, Image indices, Image x, Taps rows, Taps columns) {
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    const T* plane = static_cast<const T*>(x.data) + x.at(at.n, at.c, 0, 0);
    Compute<T> best = -math::kInf<Compute<T>>;
    int32_t cell = -1;
    const int64_t end_row = rows.end_tap(at.h), first_column = columns.first_tap(at.w),
                  end_column = columns.end_tap(at.w);
    for (int64_t kh = rows.first_tap(at.h); kh < end_row; ++kh) {
      const int64_t ih = rows.begin(at.h) + kh * rows.dilation;
      for (int64_t kw = first_column; kw < end_column; ++kw) {
        const int64_t iw = columns.begin(at.w) + kw * columns.dilation;
        const auto v = static_cast<Compute<T>>(plane[ih * x.strides[2] + iw * x.strides[3]]);
        const auto number = static_cast<int32_t>(kh * columns.kernel + kw);
        if (cell < 0) cell = number;
        if (!(v <= best) && best == best) {  // larger or NaN, unless best is already NaN
          best = v;
          cell = number;
        }
      }
    }
    static_cast<T*>(y.data)[y.at(at.n, at.c, at.h, at.w)] = convert<T>(best);
    store<int32_t>(indices.data, indices.dtype, indices.at(at.n, at.c, at.h, at.w), cell);
  });
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    max_backward(Order order, Image gx, Image gy, Image indices, Taps rows, Taps columns) {
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    Compute<T> sum = 0;
    const int64_t first_column = columns.first_output(at.w);
    for (int64_t oh = rows.first_output(at.h); oh < rows.out && rows.begin(oh) <= at.h; ++oh) {
      const int64_t kh = rows.tap(at.h, oh);
      if (kh < 0) continue;
      for (int64_t ow = first_column; ow < columns.out && columns.begin(ow) <= at.w; ++ow) {
        const int64_t kw = columns.tap(at.w, ow);
        if (kw < 0) continue;
        const auto cell = load<int32_t>(indices.data, indices.dtype, indices.at(at.n, at.c, oh, ow));
        if (cell != kh * columns.kernel + kw) continue;
        sum += static_cast<Compute<T>>(static_cast<const T*>(gy.data)[gy.at(at.n, at.c, oh, ow)]);
      }
    }
    static_cast<T*>(gx.data)[gx.at(at.n, at.c, at.h, at.w)] = convert<T>(sum);
  });
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    max_gather(Order order, Image y, Image x, Image indices, Taps rows, Taps columns) {
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    const auto cell = load<int32_t>(indices.data, indices.dtype, indices.at(at.n, at.c, at.h, at.w));
    const auto kernel_columns = static_cast<int32_t>(columns.kernel);
    const int64_t ih = rows.input(at.h, cell / kernel_columns), iw = columns.input(at.w, cell % kernel_columns);
    T value = T(0);
    if (cell >= 0 && ih >= 0 && iw >= 0) value = static_cast<const T*>(x.data)[x.at(at.n, at.c, ih, iw)];
    static_cast<T*>(y.data)[y.at(at.n, at.c, at.h, at.w)] = value;
  });
}

struct Window {
  int64_t begin, end;
  int64_t size;  ///< this dimension's factor of the divisor
};

/// The averaging windows along one dimension.
struct Windows {
  bool adaptive;
  int64_t in, out;
  int64_t kernel = 0, stride = 1, padding = 0;
  bool count_padding = false;
  int64_t fixed_size = 0;  ///< 0: the window's own size

  Windows(int64_t in, int64_t out) : adaptive(true), in(in), out(out) {}
  Windows(int64_t in, int64_t out, const Pool2dParams& p, size_t d)
      : adaptive(false),
        in(in),
        out(out),
        kernel(p.kernel[d]),
        stride(p.stride[d]),
        padding(p.padding[d]),
        count_padding(p.count_include_pad),
        fixed_size(p.divisor_override == 0 ? 0
                   : d == 0                ? p.divisor_override
                                           : 1) {}

  __device__ Window window(int64_t o) const {
    if (adaptive) {
      const int64_t begin = o * in / out, end = ((o + 1) * in + out - 1) / out;
      return {begin, end, end - begin};
    }
    const int64_t from = o * stride - padding;
    const int64_t to = from + kernel < in + padding ? from + kernel : in + padding;
    const int64_t begin = from > 0 ? from : 0, inside = to < in ? to : in, end = inside > begin ? inside : begin;
    return {begin, end, fixed_size != 0 ? fixed_size : count_padding ? to - from : end - begin};
  }
  /// Outputs [first, last] include all whose windows contain input i.
  __device__ int64_t first_output(int64_t i) const {
    if (adaptive) return i * out / in;
    const int64_t distance = i + padding - kernel + 1;  // o stride >= this
    return distance > 0 ? (distance - 1) / stride + 1 : 0;
  }
  __device__ int64_t last_output(int64_t i) const {
    const int64_t last = adaptive ? ((i + 1) * out + in - 1) / in - 1 : (i + padding) / stride;
    return last < out ? last : out - 1;
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    average_forward(Order order, Image y, Image x, Windows rows, Windows columns) {
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    const T* plane = static_cast<const T*>(x.data) + x.at(at.n, at.c, 0, 0);
    const Window row = rows.window(at.h), column = columns.window(at.w);
    Compute<T> sum = 0;
    for (int64_t h = row.begin; h < row.end; ++h) {
      for (int64_t w = column.begin; w < column.end; ++w) {
        sum += static_cast<Compute<T>>(plane[h * x.strides[2] + w * x.strides[3]]);
      }
    }
    sum /= static_cast<Compute<T>>(row.size * column.size);
    static_cast<T*>(y.data)[y.at(at.n, at.c, at.h, at.w)] = convert<T>(sum);
  });
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    average_backward(Order order, Image gx, Image gy, Windows rows, Windows columns) {
  for_each_position(order.numel, [&](int64_t i) {
    const Position at = order.position(i);
    const T* plane = static_cast<const T*>(gy.data) + gy.at(at.n, at.c, 0, 0);
    const int64_t last_row = rows.last_output(at.h), last_column = columns.last_output(at.w);
    Compute<T> sum = 0;
    for (int64_t oh = rows.first_output(at.h); oh <= last_row; ++oh) {
      const Window row = rows.window(oh);
      if (at.h < row.begin || at.h >= row.end) continue;
      for (int64_t ow = columns.first_output(at.w); ow <= last_column; ++ow) {
        const Window column = columns.window(ow);
        if (at.w < column.begin || at.w >= column.end) continue;
        const auto g = static_cast<Compute<T>>(plane[oh * gy.strides[2] + ow * gy.strides[3]]);
        sum += g / static_cast<Compute<T>>(row.size * column.size);
      }
    }
    static_cast<T*>(gx.data)[gx.at(at.n, at.c, at.h, at.w)] = convert<T>(sum);
  });
}

void average(const Tensor& y, const Tensor& x, const Windows& rows, const Windows& columns) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  visit_floating(y.dtype(), [&]<class T>(T) {
    launch(average_forward<T>, grid_stride(y.numel()), Order(y), Image(y), Image(x), rows, columns);
  });
}

void average_gradient(const Tensor& gx, const Tensor& gy, const Windows& rows, const Windows& columns) {
  if (gx.numel() == 0) return;
  const DeviceGuard on(gx.device());
  visit_floating(gx.dtype(), [&]<class T>(T) {
    launch(average_backward<T>, grid_stride(gx.numel()), Order(gx), Image(gx), Image(gy), rows, columns);
  });
}

}  // namespace

void max_pool2d(const Tensor& y, const Tensor& indices, const Tensor& x, const Pool2dParams& p) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const Taps rows(x.size(2), y.size(2), p, 0), columns(x.size(3), y.size(3), p, 1);
  visit_floating(y.dtype(), [&]<class T>(T) {
    launch(max_forward<T>, grid_stride(y.numel()), Order(y), Image(y), Image(indices), Image(x), rows, columns);
  });
}

void max_pool2d_backward(const Tensor& gx, const Tensor& gy, const Tensor& indices, const Pool2dParams& p) {
  if (gx.numel() == 0) return;
  const DeviceGuard on(gx.device());
  const Taps rows(gx.size(2), gy.size(2), p, 0), columns(gx.size(3), gy.size(3), p, 1);
  visit_floating(gx.dtype(), [&]<class T>(T) {
    launch(max_backward<T>, grid_stride(gx.numel()), Order(gx), Image(gx), Image(gy), Image(indices), rows, columns);
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
