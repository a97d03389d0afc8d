// Convolutions of f32 as products of columns: row p of the columns of an image holds what the kernel covers at output
// position p, so that y = columns w^T. Images are channels-last, so each kernel cell contributes a contiguous run of
// channels. The columns of a few hundred positions are made at a time; a 1 x 1 kernel without padding and strides uses
// the image itself.
#include <algorithm>

#include "kernels/cpu/library_call.h"
#include "kernels/cpu/openblas/sgemm.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/products.h"
#include "kernels/cpu/scratch.h"

namespace tandem::cpu::products {
namespace {

using openblas::Matrix;

/// The sizes of a convolution in three dimensions; the depth is 1 for images.
struct Shape {
  int64_t n, c, o, groups, group_c, group_o;
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
  std::array<int64_t, 3> stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};

  Shape(const Array& y, const Array& x, const Array& weight, const ConvParams& p)
      : n(x.sizes[0]), c(x.sizes[1]), o(y.sizes[1]), groups(p.groups), group_c(c / groups), group_o(o / groups) {
    const auto dims = static_cast<size_t>(x.rank) - 2;
    for (size_t d = 0; d < dims; ++d) {
      const size_t to = 3 - dims + d;
      in[to] = x.sizes[d + 2];
      out[to] = y.sizes[d + 2];
      kernel[to] = weight.sizes[d + 2];
      stride[to] = p.stride[d];
      padding[to] = p.padding[d];
      dilation[to] = p.dilation[d];
    }
  }

  static int64_t product(const std::array<int64_t, 3>& s) { return s[0] * s[1] * s[2]; }
  int64_t positions() const { return product(out); }
  int64_t taps() const { return product(kernel); }
  int64_t columns() const { return taps() * group_c; }  ///< of a group
  /// Output positions whose columns take about a megabyte.
  int64_t part() const { return std::clamp<int64_t>((1 << 18) / std::max<int64_t>(columns(), 1), 64, 1 << 16); }
  int64_t buffer_size() const { return is_pointwise() ? 1 : std::min(part(), positions()) * columns(); }
  bool is_pointwise() const { return taps() == 1 && in == out && stride == std::array<int64_t, 3>{1, 1, 1}; }

  /// Calls f(tap, pixel) for the kernel cells that lie inside the image at an output position, outside(tap) for others.
  template <class Inside, class Outside>
  void for_each_tap(int64_t position, const Inside& inside, const Outside& outside) const {
    const std::array<int64_t, 3> at = {position / (out[1] * out[2]), position / out[2] % out[1], position % out[2]};
    int64_t tap = 0;
    std::array<int64_t, 3> cell, from;
    for (cell[0] = 0; cell[0] < kernel[0]; ++cell[0]) {
      for (cell[1] = 0; cell[1] < kernel[1]; ++cell[1]) {
        for (cell[2] = 0; cell[2] < kernel[2]; ++cell[2], ++tap) {
          bool is_inside = true;
          for (size_t d = 0; d < 3; ++d) {
            from[d] = at[d] * stride[d] - padding[d] + cell[d] * dilation[d];
            is_inside &= from[d] >= 0 && from[d] < in[d];
          }
          if (is_inside) {
            inside(tap, (from[0] * in[1] + from[1]) * in[2] + from[2]);
          } else {
            outside(tap);
          }
        }
      }
    }
  }
};

bool is_f32(const Array& x) { return !x || x.dtype == kFloat; }

/// Whether the calls of a convolution fit OpenBLAS: dense channels-last images of f32. Groups with one output each
/// would be products with vectors.
bool takes(const Array& y, const Array& x, const Array& weight, const Array& bias, const Shape& s) {
  const bool channels_last = x.strides[1] == 1 && y.strides[1] == 1;
  return channels_last && (s.groups == 1 || s.group_o > 1) && is_f32(y) && is_f32(x) && is_f32(weight) &&
         is_f32(bias) && openblas::takes({s.positions(), s.columns(), s.c, s.o});
}

/// Calls f(first, end) for parts of the output positions whose columns fit into the cache.
template <class F>
void for_each_part(const Shape& s, const F& f) {
  const int64_t part = s.is_pointwise() ? s.positions() : s.part();
  for (int64_t first = 0; first < s.positions(); first += part) f(first, std::min(first + part, s.positions()));
}

float* image_of(const Array& x, int64_t i) { return static_cast<float*>(x.data) + i * x.strides[0]; }

/// The columns of output positions [first, end) of one group of an image: in place for pointwise convolutions.
Matrix columns_of(float* image, const Shape& s, int64_t group, int64_t first, int64_t end, float* buffer) {
  if (s.is_pointwise()) return {image + first * s.c + group * s.group_c, s.c};
  const int64_t width = s.columns();
  parallel_for(end - first, grain_of(width), [&](int64_t from, int64_t to) {
    for (int64_t p = from; p < to; ++p) {
      float* const row = buffer + p * width;
      s.for_each_tap(
          first + p,
          [&](int64_t tap, int64_t pixel) {
            std::copy_n(image + pixel * s.c + group * s.group_c, s.group_c, row + tap * s.group_c);
          },
          [&](int64_t tap) { std::fill_n(row + tap * s.group_c, s.group_c, 0.0f); });
    }
  });
  return {buffer, width};
}

/// Adds the columns of output positions [first, end) to the pixels that they came from. Threads divide the channels,
/// since columns overlap.
void add_columns(float* image, const Shape& s, int64_t group, int64_t first, int64_t end, const float* columns) {
  parallel_for(s.group_c, grain_of((end - first) * s.taps()), [&](int64_t from, int64_t to) {
    for (int64_t p = first; p < end; ++p) {
      const float* const row = columns + (p - first) * s.columns();
      s.for_each_tap(
          p,
          [&](int64_t tap, int64_t pixel) {
            float* const sums = image + pixel * s.c + group * s.group_c;
            for (int64_t c = from; c < to; ++c) sums[c] += row[tap * s.group_c + c];
          },
          [](int64_t) {});
    }
  });
}

/// Moves a weight [o, c, taps] to or from the order of columns, [o, taps, c]. move(element of the weight, of the
/// other).
template <class Move>
void for_each_weight(const Array& weight, const Shape& s, float* ordered, const Move& move) {
  auto* const w = static_cast<float*>(weight.data);
  const auto dims = static_cast<size_t>(weight.rank) - 2;
  for (int64_t o = 0; o < s.o; ++o) {
    for (int64_t c = 0; c < s.group_c; ++c) {
      for (int64_t tap = 0; tap < s.taps(); ++tap) {
        int64_t at = o * weight.strides[0] + c * weight.strides[1], rest = tap;
        for (size_t d = dims; d-- > 0;) {
          at += rest % weight.sizes[d + 2] * weight.strides[d + 2];
          rest /= weight.sizes[d + 2];
        }
        move(w[at], ordered[(o * s.taps() + tap) * s.group_c + c]);
      }
    }
  }
}

}  // namespace

bool convolution(const Array& y, const Array& x, const Array& weight, const Array& bias, const ConvParams& p) {
  const Shape s(y, x, weight, p);
  const LibraryCall call;
  if (!call || !takes(y, x, weight, bias, s)) return false;
  Scratch<float> ordered(s.o * s.columns()), buffer(s.buffer_size());
  for_each_weight(weight, s, ordered.data(), [](const float& from, float& to) { to = from; });
  for (int64_t i = 0; i < s.n; ++i) {
    float* const out = image_of(y, i);
    if (bias) {
      const auto* offset = static_cast<const float*>(bias.data);
      for (int64_t q = 0; q < s.positions(); ++q) std::copy_n(offset, s.o, out + q * s.o);
    }
    for (int64_t g = 0; g < s.groups; ++g) {
      const Matrix w{ordered.data() + g * s.group_o * s.columns(), s.columns(), /*transposed=*/true};
      for_each_part(s, [&](int64_t first, int64_t end) {
        const Matrix columns = columns_of(image_of(x, i), s, g, first, end, buffer.data());
        openblas::multiply({out + first * s.o + g * s.group_o, s.o}, columns, w, end - first, s.group_o, s.columns(),
                           static_cast<bool>(bias));
      });
    }
  }
  return true;
}

bool convolution_backward_data(const Array& gx, const Array& gy, const Array& weight, const ConvParams& p) {
  const Shape s(gy, gx, weight, p);
  const LibraryCall call;
  if (!call || !takes(gy, gx, weight, {}, s)) return false;
  Scratch<float> ordered(s.o * s.columns()), buffer(s.buffer_size());
  for_each_weight(weight, s, ordered.data(), [](const float& from, float& to) { to = from; });
  for (int64_t i = 0; i < s.n; ++i) {
    float* const in = image_of(gx, i);
    if (!s.is_pointwise()) std::fill_n(in, Shape::product(s.in) * s.c, 0.0f);
    for (int64_t g = 0; g < s.groups; ++g) {
      const Matrix w{ordered.data() + g * s.group_o * s.columns(), s.columns()};
      for_each_part(s, [&](int64_t first, int64_t end) {
        const Matrix gradient{image_of(gy, i) + first * s.o + g * s.group_o, s.o};
        const Matrix columns = s.is_pointwise() ? Matrix{in + g * s.group_c, s.c} : Matrix{buffer.data(), s.columns()};
        openblas::multiply(columns, gradient, w, end - first, s.columns(), s.group_o, false);
        if (!s.is_pointwise()) add_columns(in, s, g, first, end, buffer.data());
      });
    }
  }
  return true;
}

bool convolution_backward_weight(const Array& gweight, const Array& gbias, const Array& gy, const Array& x,
                                 const ConvParams& p) {
  const Shape s(gy, x, gweight, p);
  const LibraryCall call;
  if (!call || !takes(gy, x, gweight, gbias, s)) return false;
  Scratch<float> ordered(s.o * s.columns()), buffer(s.buffer_size());
  for (int64_t i = 0; i < s.n; ++i) {
    for (int64_t g = 0; g < s.groups; ++g) {
      for_each_part(s, [&](int64_t first, int64_t end) {
        const Matrix columns = columns_of(image_of(x, i), s, g, first, end, buffer.data());
        const Matrix gradient{image_of(gy, i) + first * s.o + g * s.group_o, s.o, /*transposed=*/true};
        openblas::multiply({ordered.data() + g * s.group_o * s.columns(), s.columns()}, gradient, columns, s.group_o,
                           s.columns(), end - first, i > 0 || first > 0);
      });
    }
  }
  for_each_weight(gweight, s, ordered.data(), [](float& to, const float& from) { to = from; });
  if (gbias) {
    const Scratch<double> sums(s.o);
    std::fill_n(sums.data(), s.o, 0.0);
    for (int64_t i = 0; i < s.n; ++i) {
      const float* const rows = image_of(gy, i);
      for (int64_t q = 0; q < s.positions(); ++q) {
        for (int64_t o = 0; o < s.o; ++o) sums.data()[o] += static_cast<double>(rows[q * s.o + o]);
      }
    }
    for (int64_t o = 0; o < s.o; ++o) static_cast<float*>(gbias.data)[o] = static_cast<float>(sums.data()[o]);
  }
  return true;
}

}  // namespace tandem::cpu::products
