// Convolutions by definition. Each result element is computed by one thread; the inner loops run along rows.
#include "kernels/cpu/conv_loops.h"

#include <algorithm>

#include "kernels/cpu/conv_taps.h"
#include "kernels/cpu/parallel.h"

namespace tandem::cpu {
namespace {

struct Shape {
  int64_t n, c, o, group_c, group_o;
  std::array<int64_t, 3> in, out, kernel;  ///< depth, height, width; the depth is 1 for rank 4
  std::array<int64_t, 3> stride, padding, dilation;

  Shape(const Tensor& y, const Tensor& x, const Tensor& weight, const ConvParams& p)
      : n(x.size(0)), c(x.size(1)), o(y.size(1)), group_c(weight.size(1)), group_o(o / p.groups) {
    in = out = kernel = stride = dilation = {1, 1, 1};
    padding = {0, 0, 0};
    const size_t dims = x.sizes().size() - 2;
    for (size_t d = 0; d < dims; ++d) {
      const size_t to = 3 - dims + d;
      in[to] = x.sizes()[d + 2];
      out[to] = y.sizes()[d + 2];
      kernel[to] = weight.sizes()[d + 2];
      stride[to] = p.stride[d];
      padding[to] = p.padding[d];
      dilation[to] = p.dilation[d];
    }
  }

  int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }

  /// Calls f(tap, output row, input row, columns) for every kernel cell and the rows and columns that it connects.
  template <class F>
  void for_each_row(F&& f) const {
    const auto taps_of = [&](int64_t k, size_t d) {
      return ConvTaps(k, out[d], in[d], stride[d], padding[d], dilation[d]);
    };
    for (int64_t i = 0; i < kernel[0]; ++i) {
      const ConvTaps slices = taps_of(i, 0);
      for (int64_t j = 0; j < kernel[1]; ++j) {
        const ConvTaps rows = taps_of(j, 1);
        for (int64_t k = 0; k < kernel[2]; ++k) {
          const ConvTaps columns = taps_of(k, 2);
          for (int64_t s = slices.begin; s < slices.end; ++s) {
            const int64_t from = (s * stride[0] + slices.offset) * in[1];
            for (int64_t r = rows.begin; r < rows.end; ++r) {
              f((i * kernel[1] + j) * kernel[2] + k, (s * out[1] + r) * out[2],
                (from + r * stride[1] + rows.offset) * in[2] + columns.offset, columns);
            }
          }
        }
      }
    }
  }
};

}  // namespace

void conv_loops(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvParams& p) {
  const Shape s(y, x, weight, p);
  const int64_t taps = s.taps(), step = s.stride[2], in_plane = s.in_plane(), out_plane = s.out_plane();
  parallel_for(s.n * s.o, grain_of(out_plane * s.group_c * taps), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t image = plane / s.o, o = plane % s.o, first_c = o / s.group_o * s.group_c;
      double* out = y.raw<double>() + plane * out_plane;
      std::fill(out, out + out_plane, bias.defined() ? bias.raw<double>()[o] : 0.0);
      for (int64_t c = 0; c < s.group_c; ++c) {
        const double* in = x.raw<double>() + (image * s.c + first_c + c) * in_plane;
        const double* w = weight.raw<double>() + (o * s.group_c + c) * taps;
        s.for_each_row([&](int64_t tap, int64_t to, int64_t from, const ConvTaps& columns) {
          for (int64_t i = columns.begin; i < columns.end; ++i) out[to + i] += w[tap] * in[from + i * step];
        });
      }
    }
  });
}

void conv_backward_input_loops(const Tensor& gx, const Tensor& gy, const Tensor& weight, const ConvParams& p) {
  const Shape s(gy, gx, weight, p);
  const int64_t taps = s.taps(), step = s.stride[2], in_plane = s.in_plane(), out_plane = s.out_plane();
  parallel_for(s.n * s.c, grain_of(out_plane * s.group_o * taps), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t image = plane / s.c, c = plane % s.c, first_o = c / s.group_c * s.group_o;
      double* in = gx.raw<double>() + plane * in_plane;
      std::fill(in, in + in_plane, 0.0);
      for (int64_t o = first_o; o < first_o + s.group_o; ++o) {
        const double* out = gy.raw<double>() + (image * s.o + o) * out_plane;
        const double* w = weight.raw<double>() + (o * s.group_c + c % s.group_c) * taps;
        s.for_each_row([&](int64_t tap, int64_t to, int64_t from, const ConvTaps& columns) {
          for (int64_t i = columns.begin; i < columns.end; ++i) in[from + i * step] += w[tap] * out[to + i];
        });
      }
    }
  });
}

void conv_backward_weight_loops(const Tensor& gweight, const Tensor& gy, const Tensor& x, const ConvParams& p) {
  const Shape s(gy, x, gweight, p);
  const int64_t taps = s.taps(), step = s.stride[2], in_plane = s.in_plane(), out_plane = s.out_plane();
  parallel_for(s.o * s.group_c, grain_of(s.n * out_plane * taps), [&](int64_t begin, int64_t end) {
    for (int64_t pair = begin; pair < end; ++pair) {
      const int64_t o = pair / s.group_c, c = o / s.group_o * s.group_c + pair % s.group_c;
      double* w = gweight.raw<double>() + pair * taps;
      std::fill(w, w + taps, 0.0);
      for (int64_t image = 0; image < s.n; ++image) {
        const double* out = gy.raw<double>() + (image * s.o + o) * out_plane;
        const double* in = x.raw<double>() + (image * s.c + c) * in_plane;
        s.for_each_row([&](int64_t tap, int64_t to, int64_t from, const ConvTaps& columns) {
          for (int64_t i = columns.begin; i < columns.end; ++i) w[tap] += out[to + i] * in[from + i * step];
        });
      }
    }
  });
}

}  // namespace tandem::cpu
