#pragma once
// Windows of pooling along one dimension: the inputs of an output, and the outputs of an input. In 32 bits, and without
// divisions except where a product of two sizes exceeds 31 bits.
#include <algorithm>

#include "kernels/cuda/divisor.h"
#include "tandem/backend.h"

namespace tandem::cuda {

/// `size` in 32 bits. Throws NotImplementedError if it does not fit.
int32_t window_size(int64_t size);

/// Throws NotImplementedError if positions in the image, its padding and windows that start in them do not fit into 32
/// bits. `span`: from a window's first tap to its last.
void check_window(int64_t in, int64_t padding, int64_t span);

/// The stride in 32 bits. A longer one means that there is one output, for which all strides are alike.
inline int32_t window_stride(int64_t stride) { return static_cast<int32_t>(std::min(stride, kDivisorLimit)); }

/// The taps along one dimension: tap k of output o is input o stride + k dilation - padding.
struct Taps {
  int32_t in, out, kernel, stride, padding, dilation;
  Divisor by_stride, by_dilation;

  struct Range {
    int32_t first, end;
  };

  Taps(int64_t in_size, int64_t out_size, const Pool2dParams& p, size_t d)
      : in(window_size(in_size)),
        out(window_size(out_size)),
        kernel(window_size(p.kernel[d])),
        stride(window_stride(p.stride[d])),
        padding(window_size(p.padding[d])),
        dilation(kernel == 1 ? 1 : window_size(p.dilation[d])),
        by_stride(stride),
        by_dilation(dilation) {
    check_window(in, padding, int64_t{kernel - 1} * dilation);
  }
  /// No input is in two windows, and a window has no gaps.
  bool disjoint() const { return stride >= kernel && (dilation == 1 || kernel == 1); }

  /// The input of output o's tap 0; outside the image if it is in the padding.
  TANDEM_HOST_DEVICE int32_t begin(int32_t o) const { return o * stride - padding; }
  /// The input of tap k, or a negative number if it is outside the image.
  TANDEM_HOST_DEVICE int32_t input(int32_t o, int32_t k) const {
    const int32_t i = begin(o) + k * dilation;
    return i < in ? i : -1;
  }
  /// The taps of output o that are inside the image.
  TANDEM_HOST_DEVICE Range inside(int32_t o) const {
    const int32_t from = begin(o);
    const int32_t first = from >= 0 ? 0 : static_cast<int32_t>(by_dilation.quotient(-from - 1)) + 1;
    const int32_t end = from >= in ? 0 : static_cast<int32_t>(by_dilation.quotient(in - 1 - from)) + 1;
    return {first, end < kernel ? end : kernel};
  }
  /// The outputs that may have a tap at input i: all that begin at or before it and are not too far from it.
  TANDEM_HOST_DEVICE Range outputs(int32_t i) const {
    const int32_t before = i + padding - (kernel - 1) * dilation;
    const int32_t end = static_cast<int32_t>(by_stride.quotient(i + padding)) + 1;
    return {before > 0 ? static_cast<int32_t>(by_stride.quotient(before - 1)) + 1 : 0, end < out ? end : out};
  }
  /// The tap of output o at input i, or -1 if there is none; requires begin(o) <= i.
  TANDEM_HOST_DEVICE int32_t tap(int32_t i, int32_t o) const {
    const int32_t distance = i - begin(o), k = static_cast<int32_t>(by_dilation.quotient(distance));
    return k * dilation == distance ? k : -1;
  }
  /// For disjoint windows: divides all inputs among the outputs. Output o gets its window and the gap behind it, the
  /// first one also what precedes it, the last one also what follows.
  TANDEM_HOST_DEVICE Range share(int32_t o) const {
    const int32_t from = o == 0 ? 0 : begin(o), to = o == out - 1 ? in : begin(o + 1);
    return {from > 0 ? from : 0, to < in ? to : in};
  }
};

/// The inputs [begin, end) of an average.
struct Window {
  int32_t begin, end;
  int64_t size;  ///< this dimension's factor of the divisor
};

/// The averaging windows along one dimension: those of Pool2dParams, or adaptive ones, of which output o covers inputs
/// [floor(o in / out), ceil((o + 1) in / out)).
struct Windows {
  int32_t in, out;
  bool adaptive = true;
  int32_t kernel = 0, stride = 1, padding = 0;
  bool count_padding = false;
  int64_t fixed_size = 0;  ///< 0: the window's own size
  bool small = true;       ///< the products of adaptive windows fit a Divisor
  Divisor by_stride, by_in, by_out;

  Windows(int64_t in_size, int64_t out_size)
      : in(window_size(in_size)),
        out(window_size(out_size)),
        small(int64_t{in} * out + in + out <= kDivisorLimit),
        by_in(in),
        by_out(out) {}
  Windows(int64_t in_size, int64_t out_size, const Pool2dParams& p, size_t d)
      : in(window_size(in_size)),
        out(window_size(out_size)),
        adaptive(false),
        kernel(window_size(p.kernel[d])),
        stride(window_stride(p.stride[d])),
        padding(window_size(p.padding[d])),
        count_padding(p.count_include_pad),
        fixed_size(p.divisor_override == 0 ? 0
                   : d == 0                ? p.divisor_override
                                           : 1),
        by_stride(stride) {
    check_window(in, padding, kernel);
  }

  TANDEM_HOST_DEVICE Window window(int32_t o) const {
    if (adaptive) {
      const int32_t begin = quotient(int64_t{o} * in, out, by_out);
      const int32_t end = quotient((int64_t{o} + 1) * in + out - 1, out, by_out);
      return {begin, end, end - begin};
    }
    const int32_t from = o * stride - padding;
    const int32_t to = from + kernel < in + padding ? from + kernel : in + padding;
    const int32_t begin = from > 0 ? from : 0, inside = to < in ? to : in, end = inside > begin ? inside : begin;
    return {begin, end, fixed_size != 0 ? fixed_size : count_padding ? to - from : end - begin};
  }
  /// Outputs [first, last] include all whose windows contain input i.
  TANDEM_HOST_DEVICE int32_t first_output(int32_t i) const {
    if (adaptive) return quotient(int64_t{i} * out, in, by_in);
    const int32_t distance = i + padding - kernel + 1;  // o stride >= this
    return distance > 0 ? static_cast<int32_t>(by_stride.quotient(distance - 1)) + 1 : 0;
  }
  TANDEM_HOST_DEVICE int32_t last_output(int32_t i) const {
    const int32_t last = adaptive ? quotient((int64_t{i} + 1) * out + in - 1, in, by_in) - 1
                                  : static_cast<int32_t>(by_stride.quotient(i + padding));
    return last < out ? last : out - 1;
  }

 private:
  TANDEM_HOST_DEVICE int32_t quotient(int64_t n, int32_t d, const Divisor& by_d) const {
    return static_cast<int32_t>(small ? by_d.quotient(static_cast<uint32_t>(n)) : n / d);
  }
};

}  // namespace tandem::cuda
