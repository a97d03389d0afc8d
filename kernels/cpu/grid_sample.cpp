// grid_sample, grid_sample_backward. Contract: f16 and bf16 are widened to f32; sums are held in f32 (f64 for f64). The
// gradient of x is summed channel by channel in the order of the positions, whatever the number of threads.
#include "kernels/grid_sample.h"

#include <algorithm>

#include "kernels/compute.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace tandem::cpu {
namespace {

using kernels::GridCells;
using kernels::GridGeometry;
using kernels::ImageStrides;

/// The cells of a position that are inside the image.
template <class C, int kDims, int kTaps>
struct InsideCells {
  using Cells = GridCells<C, kDims, kTaps>;
  int count = 0, cell[Cells::kCells];
  int64_t offset[Cells::kCells];

  InsideCells(const Cells& cells, const ImageStrides<kDims>& x) {
    for (int k = 0; k < Cells::kCells; ++k) {
      const int64_t at = cells.offset(k, x);
      if (at < 0) continue;
      cell[count] = k;
      offset[count++] = at;
    }
  }
};

template <class T, int kDims, int kTaps>
struct GridSampler {
  using C = kernels::FloatingCompute<T>;
  using Cells = GridCells<C, kDims, kTaps>;
  using Inside = InsideCells<C, kDims, kTaps>;

  GridGeometry<kDims> sizes;
  const T *x, *grid;
  ImageStrides<kDims> of_x, of_grid;
  GridSampling how;

  GridSampler(const Tensor& x_, const Tensor& grid_, const GridSampling& how_)
      : sizes(x_, grid_), x(x_.raw<T>()), grid(grid_.raw<T>()), of_x(x_), of_grid(grid_, true), how(how_) {}

  Cells cells(int64_t n, const int32_t (&place)[kDims]) const {
    const T* const numbers = grid + of_grid.offset(n, place);
    return Cells(sizes, how, [&](int d) { return static_cast<C>(numbers[(kDims - 1 - d) * of_grid.channel]); });
  }

  /// Calls f(n, place) for all positions, in parallel.
  template <class F>
  void for_places(F f) const {
    const int64_t work = sizes.channels * Cells::kCells + 16, places = sizes.places;
    parallel_for(sizes.samples * places, grain_of(work), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int32_t place[kDims];
        sizes.place(static_cast<uint32_t>(i % places), place);
        f(i / places, place);
      }
    });
  }

  void forward(const Tensor& y) const {
    const ImageStrides<kDims> of_y(y);
    for_places([&](int64_t n, const int32_t(&place)[kDims]) {
      const Cells all = cells(n, place);
      const Inside inside(all, of_x);
      C weight[Cells::kCells];
      for (int k = 0; k < inside.count; ++k) weight[k] = all.weight(inside.cell[k]);
      const T* in = x + n * of_x.sample;
      T* out = y.raw<T>() + of_y.offset(n, place);
      for (int64_t c = 0; c < sizes.channels; ++c, in += of_x.channel, out += of_y.channel) {
        C sum = 0;
        for (int k = 0; k < inside.count; ++k) sum += weight[k] * static_cast<C>(in[inside.offset[k]]);
        *out = T(sum);
      }
    });
  }

  void backward_grid(const Tensor& ggrid, const Tensor& gy) const {
    const ImageStrides<kDims> of_gy(gy), of_ggrid(ggrid, true);
    for_places([&](int64_t n, const int32_t(&place)[kDims]) {
      const Cells all = cells(n, place);
      const Inside inside(all, of_x);
      const T* in = x + n * of_x.sample;
      const T* g = gy.raw<T>() + of_gy.offset(n, place);
      C sums[Cells::kCells] = {};  // of gy x
      for (int64_t c = 0; c < sizes.channels; ++c, in += of_x.channel, g += of_gy.channel) {
        for (int k = 0; k < inside.count; ++k) sums[k] += static_cast<C>(*g) * static_cast<C>(in[inside.offset[k]]);
      }
      C* const out = ggrid.raw<C>() + of_ggrid.offset(n, place);
      for (int d = 0; d < kDims; ++d) {
        C slope = 0;
        for (int k = 0; k < inside.count; ++k) slope += sums[k] * all.slope(inside.cell[k], d);
        out[(kDims - 1 - d) * of_ggrid.channel] = slope;
      }
    });
  }

  void backward_x(const Tensor& gx, const Tensor& gy) const {
    const ImageStrides<kDims> of_gx(gx), of_gy(gy);
    const int64_t work = int64_t{sizes.places} * Cells::kCells * 2;
    const int64_t planes = sizes.samples * sizes.channels;
    parallel_for(planes, grain_of(work), [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t n = begin / sizes.channels, first = begin % sizes.channels;
        const int64_t count = std::min(end - begin, sizes.channels - first);
        for (uint32_t i = 0; i < sizes.places; ++i) {
          int32_t place[kDims];
          sizes.place(i, place);
          const Cells all = cells(n, place);
          const Inside inside(all, of_gx);
          C weight[Cells::kCells];
          for (int k = 0; k < inside.count; ++k) weight[k] = all.weight(inside.cell[k]);
          C* to = gx.raw<C>() + n * of_gx.sample + first * of_gx.channel;
          const T* g = gy.raw<T>() + of_gy.offset(n, place) + first * of_gy.channel;
          for (int64_t c = 0; c < count; ++c, to += of_gx.channel, g += of_gy.channel) {
            for (int k = 0; k < inside.count; ++k) to[inside.offset[k]] += weight[k] * static_cast<C>(*g);
          }
        }
        begin += count;
      }
    });
  }
};

/// Calls f with the sampler for the call's types.
template <class F>
void with_sampler(const Tensor& x, const Tensor& grid, const GridSampling& how, F f) {
  kernels::visit_floating(x.dtype(), [&]<class T>(T) {
    kernels::visit_grid(x, how, [&](auto dims, auto taps) { f(GridSampler<T, dims.value, taps.value>(x, grid, how)); });
  });
}

}  // namespace

void grid_sample(const Tensor& y, const Tensor& x, const Tensor& grid, const GridSampling& how) {
  with_sampler(x, grid, how, [&](const auto& sampler) { sampler.forward(y); });
}

void grid_sample_backward(const Tensor& gx, const Tensor& ggrid, const Tensor& gy, const Tensor& x, const Tensor& grid,
                          const GridSampling& how) {
  with_sampler(x, grid, how, [&](const auto& sampler) {
    if (gx.defined()) sampler.backward_x(gx, gy);
    if (ggrid.defined()) sampler.backward_grid(ggrid, gy);
  });
}

}  // namespace tandem::cpu
