// im2col, col2im. Contract: im2col copies bit by bit; sums of col2im are held in f32 (f64 for f64), in a fixed order,
// and rounded once.
#include <vector>

#include "kernels/compute.h"
#include "kernels/cpu/conv_taps.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace tandem::cpu {
namespace {

/// The geometry of an image [N, C, H, W] and its columns [N, C, KH, KW, OH, OW].
struct Blocks {
  int64_t planes, channels, h, w, kh, kw, oh, ow;
  int64_t plane_strides[2], row_stride, column_stride;  ///< of the image
  const ConvParams& p;

  Blocks(const Tensor& image, const Tensor& columns, const ConvParams& params)
      : planes(image.size(0) * image.size(1)),
        channels(image.size(1)),
        h(image.size(2)),
        w(image.size(3)),
        kh(columns.size(2)),
        kw(columns.size(3)),
        oh(columns.size(4)),
        ow(columns.size(5)),
        plane_strides{image.stride(0), image.stride(1)},
        row_stride(image.stride(2)),
        column_stride(image.stride(3)),
        p(params) {}

  int64_t plane_offset(int64_t plane) const {
    return plane / channels * plane_strides[0] + plane % channels * plane_strides[1];
  }
  ConvTaps rows(int64_t k) const { return {k, oh, h, p.stride[0], p.padding[0], p.dilation[0]}; }
  ConvTaps columns(int64_t k) const { return {k, ow, w, p.stride[1], p.padding[1], p.dilation[1]}; }
};

template <class T>
void copy_windows(T* out, const T* x, const Blocks& s) {
  const int64_t taps = s.kh * s.kw, step = s.p.stride[1] * s.column_stride;
  parallel_for(s.planes * taps, grain_of(s.oh * s.ow), [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const T* const in = x + s.plane_offset(block / taps);
      const ConvTaps rows = s.rows(block % taps / s.kw), columns = s.columns(block % s.kw);
      T* to = out + block * s.oh * s.ow;
      for (int64_t r = 0; r < s.oh; ++r, to += s.ow) {
        if (r < rows.begin || r >= rows.end) {
          std::fill(to, to + s.ow, T(0));
          continue;
        }
        const T* const from = in + (r * s.p.stride[0] + rows.offset) * s.row_stride + columns.offset * s.column_stride;
        std::fill(to, to + columns.begin, T(0));
        for (int64_t i = columns.begin; i < columns.end; ++i) to[i] = from[i * step];
        std::fill(to + columns.end, to + s.ow, T(0));
      }
    }
  });
}

template <class T>
void add_windows(T* x, const T* blocks, const Blocks& s) {
  using C = kernels::FloatingCompute<T>;
  parallel_for(s.planes, grain_of(s.oh * s.ow * s.kh * s.kw), [&](int64_t begin, int64_t end) {
    std::vector<C> sums(static_cast<size_t>(s.h * s.w));
    for (int64_t plane = begin; plane < end; ++plane) {
      std::fill(sums.begin(), sums.end(), C(0));
      const T* from = blocks + plane * s.kh * s.kw * s.oh * s.ow;
      for (int64_t tap = 0; tap < s.kh * s.kw; ++tap, from += s.oh * s.ow) {
        const ConvTaps rows = s.rows(tap / s.kw), columns = s.columns(tap % s.kw);
        for (int64_t r = rows.begin; r < rows.end; ++r) {
          const int64_t to = (r * s.p.stride[0] + rows.offset) * s.w + columns.offset;
          for (int64_t i = columns.begin; i < columns.end; ++i) {
            sums[static_cast<size_t>(to + i * s.p.stride[1])] += static_cast<C>(from[r * s.ow + i]);
          }
        }
      }
      T* const out = x + s.plane_offset(plane);
      for (int64_t r = 0; r < s.h; ++r) {
        for (int64_t i = 0; i < s.w; ++i) {
          out[r * s.row_stride + i * s.column_stride] = T(sums[static_cast<size_t>(r * s.w + i)]);
        }
      }
    }
  });
}

}  // namespace

void im2col(const Tensor& columns, const Tensor& x, const ConvParams& p) {
  if (columns.numel() == 0) return;
  kernels::visit_floating(x.dtype(),
                          [&]<class T>(T) { copy_windows(columns.raw<T>(), x.raw<T>(), Blocks(x, columns, p)); });
}

void col2im(const Tensor& x, const Tensor& columns, const ConvParams& p) {
  if (x.numel() == 0) return;
  kernels::visit_floating(x.dtype(),
                          [&]<class T>(T) { add_windows(x.raw<T>(), columns.raw<T>(), Blocks(x, columns, p)); });
}

}  // namespace tandem::cpu
