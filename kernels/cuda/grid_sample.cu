// grid_sample, grid_sample_backward. Contract: f16 and bf16 are widened to f32; sums are held in f32 (f64 for f64). One
// thread per position and block of channels. The gradient of x is added atomically, so that it is not deterministic;
// with cuda::set_deterministic one thread per channel adds it in the order of the positions. The rest is deterministic.
#include "kernels/grid_sample.h"

#include <algorithm>

#include "kernels/cuda/element.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "tandem/cuda/math_mode.h"

namespace tandem::cuda {
namespace {

using kernels::GridCells;
using kernels::GridGeometry;
using kernels::ImageStrides;

constexpr int kChannels = 16;  // that one thread processes, to compute the weights once for all

template <class T, int kDims>
struct GridInput {
  GridGeometry<kDims> sizes;
  const T *x, *grid;
  ImageStrides<kDims> of_x, of_grid;
  GridSampling how;

  GridInput(const Tensor& x_, const Tensor& grid_, const GridSampling& how_)
      : sizes(x_, grid_), x(x_.raw<T>()), grid(grid_.raw<T>()), of_x(x_), of_grid(grid_, true), how(how_) {}

  template <class C, int kTaps>
  __device__ GridCells<C, kDims, kTaps> cells(int64_t n, const int32_t (&place)[kDims]) const {
    const T* const numbers = grid + of_grid.offset(n, place);
    return GridCells<C, kDims, kTaps>(sizes, how,
                                      [&](int d) { return convert<C>(numbers[(kDims - 1 - d) * of_grid.channel]); });
  }
};

/// Calls f(n, first channel, end of the channels, place) for this thread's positions and blocks of channels. Grid: x
/// steps through the positions, y through the samples' blocks of channels.
template <int kDims, class F>
__device__ __forceinline__ void for_places(const GridGeometry<kDims>& sizes, uint32_t blocks, int channels, F f) {
  const uint32_t rows = static_cast<uint32_t>(sizes.samples) * blocks;
  for (uint32_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const uint32_t n = row / blocks;
    const int64_t first = int64_t{row - n * blocks} * channels;
    const int64_t end = first + channels < sizes.channels ? first + channels : sizes.channels;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < sizes.places; i += gridDim.x * blockDim.x) {
      int32_t place[kDims];
      sizes.place(i, place);
      f(int64_t{n}, first, end, place);
    }
  }
}

// The second bounds keep the compiler from making room for more blocks and spilling registers on compute capability 12.
template <class T, class C, int kDims, int kTaps>
__global__ void __launch_bounds__(kThreads, 2)
    sample_places(GridInput<T, kDims> in, uint32_t blocks, T* y, ImageStrides<kDims> of_y) {
  using Cells = GridCells<C, kDims, kTaps>;
  for_places<kDims>(in.sizes, blocks, kChannels,
                    [&](int64_t n, int64_t first, int64_t end, const int32_t(&place)[kDims]) {
                      const Cells cells = in.template cells<C, kTaps>(n, place);
                      T* out = y + of_y.offset(n, place) + first * of_y.channel;
                      const T* from = in.x + n * in.of_x.sample + first * in.of_x.channel;
                      for (int64_t c = first; c < end; ++c, out += of_y.channel, from += in.of_x.channel) {
                        C sum = 0;
#pragma unroll
                        for (int k = 0; k < Cells::kCells; ++k) {
                          const int64_t at = cells.offset(k, in.of_x);
                          if (at >= 0) sum += cells.weight(k) * convert<C>(from[at]);
                        }
                        *out = convert<T>(sum);
                      }
                    });
}

template <class T, class C, int kDims, int kTaps>
__global__ void __launch_bounds__(kThreads)
    add_places(GridInput<T, kDims> in, uint32_t blocks, C* gx, ImageStrides<kDims> of_gx, const T* gy,
               ImageStrides<kDims> of_gy) {
  using Cells = GridCells<C, kDims, kTaps>;
  for_places<kDims>(in.sizes, blocks, kChannels,
                    [&](int64_t n, int64_t first, int64_t end, const int32_t(&place)[kDims]) {
                      const Cells cells = in.template cells<C, kTaps>(n, place);
                      const T* from = gy + of_gy.offset(n, place) + first * of_gy.channel;
                      C* to = gx + n * of_gx.sample + first * of_gx.channel;
                      for (int64_t c = first; c < end; ++c, from += of_gy.channel, to += of_gx.channel) {
                        const C g = convert<C>(*from);
#pragma unroll
                        for (int k = 0; k < Cells::kCells; ++k) {
                          const int64_t at = cells.offset(k, of_gx);
                          if (at >= 0) atomicAdd(to + at, cells.weight(k) * g);
                        }
                      }
                    });
}

/// One thread per channel of a sample.
template <class T, class C, int kDims, int kTaps>
__global__ void __launch_bounds__(kThreads, 3)
    add_places_in_order(GridInput<T, kDims> in, C* gx, ImageStrides<kDims> of_gx, const T* gy,
                        ImageStrides<kDims> of_gy) {
  using Cells = GridCells<C, kDims, kTaps>;
  for (int64_t n = blockIdx.y; n < in.sizes.samples; n += gridDim.y) {
    for (int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; c < in.sizes.channels;
         c += int64_t{gridDim.x} * blockDim.x) {
      C* const to = gx + n * of_gx.sample + c * of_gx.channel;
      for (uint32_t i = 0; i < in.sizes.places; ++i) {
        int32_t place[kDims];
        in.sizes.place(i, place);
        const Cells cells = in.template cells<C, kTaps>(n, place);
        const C g = convert<C>(gy[of_gy.offset(n, place) + c * of_gy.channel]);
#pragma unroll
        for (int k = 0; k < Cells::kCells; ++k) {
          const int64_t at = cells.offset(k, of_gx);
          if (at >= 0) to[at] += cells.weight(k) * g;
        }
      }
    }
  }
}

template <class T, class C, int kDims, int kTaps>
__global__ void __launch_bounds__(kThreads)
    slopes_of_places(GridInput<T, kDims> in, C* ggrid, ImageStrides<kDims> of_ggrid, const T* gy,
                     ImageStrides<kDims> of_gy) {
  using Cells = GridCells<C, kDims, kTaps>;
  const int channels = static_cast<int>(in.sizes.channels);
  for_places<kDims>(in.sizes, 1, channels, [&](int64_t n, int64_t, int64_t end, const int32_t(&place)[kDims]) {
    const Cells cells = in.template cells<C, kTaps>(n, place);
    const T* g = gy + of_gy.offset(n, place);
    const T* from = in.x + n * in.of_x.sample;
    C slope[kDims] = {};
    for (int64_t c = 0; c < end; ++c, g += of_gy.channel, from += in.of_x.channel) {
      const C factor = convert<C>(*g);
#pragma unroll
      for (int k = 0; k < Cells::kCells; ++k) {
        const int64_t at = cells.offset(k, in.of_x);
        if (at < 0) continue;
        const C product = factor * convert<C>(from[at]);
#pragma unroll
        for (int d = 0; d < kDims; ++d) slope[d] += product * cells.slope(k, d);
      }
    }
    C* const out = ggrid + of_ggrid.offset(n, place);
#pragma unroll
    for (int d = 0; d < kDims; ++d) out[(kDims - 1 - d) * of_ggrid.channel] = slope[d];
  });
}

Launch over(int64_t columns, int64_t rows) {
  const int64_t wide = std::clamp<int64_t>((columns + kThreads - 1) / kThreads, 1, resident_blocks(kThreads));
  const int64_t high = std::clamp<int64_t>(rows, 1, 65535);
  return {dim3(static_cast<unsigned>(wide), static_cast<unsigned>(high)), dim3(kThreads), 0};
}

/// Calls f(T{}, C{}, dims, taps).
template <class F>
void visit_call(const Tensor& x, const GridSampling& how, F f) {
  visit_floating(x.dtype(), [&]<class T>(T) {
    kernels::visit_grid(x, how, [&](auto dims, auto taps) { f(T{}, typename ComputeOf<T>::type{}, dims, taps); });
  });
}

uint32_t channel_blocks(const Tensor& x) { return static_cast<uint32_t>((x.sizes()[1] + kChannels - 1) / kChannels); }

}  // namespace

void grid_sample(const Tensor& y, const Tensor& x, const Tensor& grid, const GridSampling& how) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  visit_call(x, how, [&]<class T, class C>(T, C, auto dims, auto taps) {
    constexpr int kDims = dims.value, kTaps = taps.value;
    const GridInput<T, kDims> in(x, grid, how);
    const uint32_t blocks = channel_blocks(x);
    launch(sample_places<T, C, kDims, kTaps>, over(in.sizes.places, in.sizes.samples * blocks), in, blocks, y.raw<T>(),
           ImageStrides<kDims>(y));
  });
}

void grid_sample_backward(const Tensor& gx, const Tensor& ggrid, const Tensor& gy, const Tensor& x, const Tensor& grid,
                          const GridSampling& how) {
  if (gy.numel() == 0) return;
  const DeviceGuard on(gy.device());
  visit_call(x, how, [&]<class T, class C>(T, C, auto dims, auto taps) {
    constexpr int kDims = dims.value, kTaps = taps.value;
    const GridInput<T, kDims> in(x, grid, how);
    const ImageStrides<kDims> of_gy(gy);
    if (gx.defined()) {
      const ImageStrides<kDims> of_gx(gx);
      if (deterministic()) {
        launch(add_places_in_order<T, C, kDims, kTaps>, over(in.sizes.channels, in.sizes.samples), in, gx.raw<C>(),
               of_gx, gy.raw<T>(), of_gy);
      } else {
        const uint32_t blocks = channel_blocks(x);
        launch(add_places<T, C, kDims, kTaps>, over(in.sizes.places, in.sizes.samples * blocks), in, blocks,
               gx.raw<C>(), of_gx, gy.raw<T>(), of_gy);
      }
    }
    if (ggrid.defined()) {
      launch(slopes_of_places<T, C, kDims, kTaps>, over(in.sizes.places, in.sizes.samples), in, ggrid.raw<C>(),
             ImageStrides<kDims>(ggrid, true), gy.raw<T>(), of_gy);
    }
  });
}

}  // namespace tandem::cuda
