// Convolutions by definition. Each result element is computed by one thread; the inner loops run along rows.
#include "kernels/cpu/conv_loops.h"

#include <algorithm>

#include "kernels/cpu/parallel.h"

namespace tandem::cpu {
namespace {

// The outputs along one dimension for which tap `k` of the kernel is inside the input: output i reads i stride +
// offset.
struct Taps {
  int64_t offset, begin, end;
  Taps(int64_t k, int64_t out, int64_t in, int64_t stride, int64_t padding, int64_t dilation)
      : offset(k * dilation - padding),
        begin(offset >= 0 ? 0 : std::min(out, (-offset - 1) / stride + 1)),
        end(offset >= in ? begin : std::clamp((in - 1 - offset) / stride + 1, begin, out)) {}
};

struct Shape {
  int64_t n, c, h, w, o, oh, ow, kh, kw, group_c, group_o;
  const Conv2dParams& p;

  Shape(const Tensor& y, const Tensor& x, const Tensor& weight, const Conv2dParams& params)
      : n(x.size(0)),
        c(x.size(1)),
        h(x.size(2)),
        w(x.size(3)),
        o(y.size(1)),
        oh(y.size(2)),
        ow(y.size(3)),
        kh(weight.size(2)),
        kw(weight.size(3)),
        group_c(weight.size(1)),
        group_o(o / params.groups),
        p(params) {}

  /// Calls f(tap, output row, input row, columns) for every kernel cell and the rows and columns that it connects.
  template <class F>
  void for_each_row(F&& f) const {
    for (int64_t i = 0; i < kh; ++i) {
      const Taps rows(i, oh, h, p.stride[0], p.padding[0], p.dilation[0]);
      for (int64_t j = 0; j < kw; ++j) {
        const Taps columns(j, ow, w, p.stride[1], p.padding[1], p.dilation[1]);
        for (int64_t r = rows.begin; r < rows.end; ++r) {
          f(i * kw + j, r * ow, (r * p.stride[0] + rows.offset) * w + columns.offset, columns);
        }
      }
    }
  }
  int64_t grain(int64_t work_per_item) const { return 1 + kParallelGrain / std::max<int64_t>(work_per_item, 1); }
};

}  // namespace

void conv2d_loops(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& p) {
  const Shape s(y, x, weight, p);
  const int64_t taps = s.kh * s.kw, step = p.stride[1];
  parallel_for(s.n * s.o, s.grain(s.oh * s.ow * s.group_c * taps), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t image = plane / s.o, o = plane % s.o, first_c = o / s.group_o * s.group_c;
      double* out = y.raw<double>() + plane * s.oh * s.ow;
      std::fill(out, out + s.oh * s.ow, bias.defined() ? bias.raw<double>()[o] : 0.0);
      for (int64_t c = 0; c < s.group_c; ++c) {
        const double* in = x.raw<double>() + (image * s.c + first_c + c) * s.h * s.w;
        const double* w = weight.raw<double>() + (o * s.group_c + c) * taps;
        s.for_each_row([&](int64_t tap, int64_t to, int64_t from, const Taps& columns) {
          for (int64_t i = columns.begin; i < columns.end; ++i) out[to + i] += w[tap] * in[from + i * step];
        });
      }
    }
  });
}

void conv2d_backward_input_loops(const Tensor& gx, const Tensor& gy, const Tensor& weight, const Conv2dParams& p) {
  const Shape s(gy, gx, weight, p);
  const int64_t taps = s.kh * s.kw, step = p.stride[1];
  parallel_for(s.n * s.c, s.grain(s.oh * s.ow * s.group_o * taps), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t image = plane / s.c, c = plane % s.c, first_o = c / s.group_c * s.group_o;
      double* in = gx.raw<double>() + plane * s.h * s.w;
      std::fill(in, in + s.h * s.w, 0.0);
      for (int64_t o = first_o; o < first_o + s.group_o; ++o) {
        const double* out = gy.raw<double>() + (image * s.o + o) * s.oh * s.ow;
        const double* w = weight.raw<double>() + (o * s.group_c + c % s.group_c) * taps;
        s.for_each_row([&](int64_t tap, int64_t to, int64_t from, const Taps& columns) {
          for (int64_t i = columns.begin; i < columns.end; ++i) in[from + i * step] += w[tap] * out[to + i];
        });
      }
    }
  });
}

void conv2d_backward_weight_loops(const Tensor& gweight, const Tensor& gy, const Tensor& x, const Conv2dParams& p) {
  const Shape s(gy, x, gweight, p);
  const int64_t taps = s.kh * s.kw, step = p.stride[1];
  parallel_for(s.o * s.group_c, s.grain(s.n * s.oh * s.ow * taps), [&](int64_t begin, int64_t end) {
    for (int64_t pair = begin; pair < end; ++pair) {
      const int64_t o = pair / s.group_c, c = o / s.group_o * s.group_c + pair % s.group_c;
      double* w = gweight.raw<double>() + pair * taps;
      std::fill(w, w + taps, 0.0);
      for (int64_t image = 0; image < s.n; ++image) {
        const double* out = gy.raw<double>() + (image * s.o + o) * s.oh * s.ow;
        const double* in = x.raw<double>() + (image * s.c + c) * s.h * s.w;
        s.for_each_row([&](int64_t tap, int64_t to, int64_t from, const Taps& columns) {
          for (int64_t i = columns.begin; i < columns.end; ++i) w[tap] += out[to + i] * in[from + i * step];
        });
      }
    }
  });
}

}  // namespace tandem::cpu
