// im2col, col2im. Contract: im2col copies bit by bit; sums of col2im are held in f32 (f64 for f64) and rounded once.
// One thread per element of the result, which adds its terms in order. Deterministic.
#include "kernels/cuda/element.h"
#include "kernels/cuda/element_bits.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"

namespace tandem::cuda {
namespace {

/// 64-bit divisions cost several times as much as 32-bit ones.
__device__ __forceinline__ int64_t quotient(int64_t a, int64_t b) {
  return (a | b) <= 0x7fffffff ? int64_t{static_cast<uint32_t>(a) / static_cast<uint32_t>(b)} : a / b;
}

/// One dimension of the images: element out stride - padding + k dilation of the image is element [k, out] of the
/// columns.
struct Blocks {
  int64_t size, kernel, out;
  int64_t stride, padding, dilation;
  int64_t step;  ///< of the image in memory
  Blocks(const Tensor& image, const Tensor& columns, const ConvParams& p, size_t d)
      : size(image.sizes()[d + 2]),
        kernel(columns.sizes()[d + 2]),
        out(columns.sizes()[d + 4]),
        stride(p.stride[d]),
        padding(p.padding[d]),
        dilation(p.dilation[d]),
        step(image.strides()[d + 2]) {}

  /// The output whose tap k is at element i of the image, or -1.
  __device__ int64_t output(int64_t i, int64_t k) const {
    const int64_t distance = i + padding - k * dilation;  // out stride
    if (distance < 0) return -1;
    const int64_t o = quotient(distance, stride);
    return o < out && o * stride == distance ? o : -1;
  }
};

/// The number of elements of the result, and the images' channels and steps in memory.
struct Images {
  int64_t numel, channels, image_step, channel_step;
  Images(const Tensor& result, const Tensor& image)
      : numel(result.numel()), channels(image.size(1)), image_step(image.stride(0)), channel_step(image.stride(1)) {}
  __device__ int64_t plane_offset(int64_t plane) const {
    const int64_t n = quotient(plane, channels);
    return n * image_step + (plane - n * channels) * channel_step;
  }
  /// Divides `rest` by `size` and returns the remainder.
  __device__ static int64_t take(int64_t& rest, int64_t size) {
    const int64_t all = rest;
    rest = quotient(all, size);
    return all - rest * size;
  }
};

template <class F>
__device__ __forceinline__ void for_each_element(int64_t numel, F&& body) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numel; i += step) body(i);
}

template <class Bits>
__global__ void __launch_bounds__(kThreads)
    copy_windows(Images images, Blocks rows, Blocks columns, Bits* y, const Bits* x, Bits zero) {
  for_each_element(images.numel, [&](int64_t i) {
    int64_t rest = i;
    const int64_t ow = Images::take(rest, columns.out), oh = Images::take(rest, rows.out);
    const int64_t kw = Images::take(rest, columns.kernel), kh = Images::take(rest, rows.kernel);
    const int64_t h = oh * rows.stride - rows.padding + kh * rows.dilation;
    const int64_t w = ow * columns.stride - columns.padding + kw * columns.dilation;
    const bool inside = h >= 0 && h < rows.size && w >= 0 && w < columns.size;
    y[i] = inside ? x[images.plane_offset(rest) + h * rows.step + w * columns.step] : zero;
  });
}

template <class T>
__global__ void __launch_bounds__(kThreads) add_windows(Images images, Blocks rows, Blocks columns, T* y, const T* x) {
  using C = typename ComputeOf<T>::type;
  for_each_element(images.numel, [&](int64_t i) {
    int64_t plane = i;
    const int64_t w = Images::take(plane, columns.size), h = Images::take(plane, rows.size);
    C sum = 0;
    for (int64_t kh = 0; kh < rows.kernel; ++kh) {
      const int64_t oh = rows.output(h, kh);
      if (oh < 0) continue;
      const int64_t block = (plane * rows.kernel + kh) * columns.kernel;
      for (int64_t kw = 0; kw < columns.kernel; ++kw) {
        const int64_t ow = columns.output(w, kw);
        if (ow >= 0) sum += static_cast<C>(x[((block + kw) * rows.out + oh) * columns.out + ow]);
      }
    }
    y[images.plane_offset(plane) + h * rows.step + w * columns.step] = convert<T>(sum);
  });
}

}  // namespace

void im2col(const Tensor& columns, const Tensor& x, const ConvParams& p) {
  if (columns.numel() == 0) return;
  const DeviceGuard on(columns.device());
  with_bits(x.dtype(), 0, [&]<class Bits>(Bits zero) {
    launch(copy_windows<Bits>, grid_stride(columns.numel()), Images(columns, x), Blocks(x, columns, p, 0),
           Blocks(x, columns, p, 1), static_cast<Bits*>(columns.raw_bytes()), static_cast<const Bits*>(x.raw_bytes()),
           zero);
  });
}

void col2im(const Tensor& x, const Tensor& columns, const ConvParams& p) {
  if (x.numel() == 0) return;
  const DeviceGuard on(x.device());
  visit_floating(x.dtype(), [&]<class T>(T) {
    launch(add_windows<T>, grid_stride(x.numel()), Images(x, x), Blocks(x, columns, p, 0), Blocks(x, columns, p, 1),
           x.raw<T>(), columns.raw<T>());
  });
}

}  // namespace tandem::cuda
