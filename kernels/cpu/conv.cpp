// Convolution of two and three dimensions and its gradients.
// Contract: 3 x 3 and 5 x 5 kernels over many channels run in winograd/. Otherwise, f32, f16 and bf16 are convolved
// by the library of products.h with f32 sums and rounded once, after the bias. A dtype without fast instructions on
// this processor is widened to f32 first. f64, and calls that the library refuses even in f32, run in f64 in
// conv_loops.cpp. relu is a separate pass over the rounded result, which gives the same bits; oneDNN's relu would turn
// NaN into 0. Images are processed channels-last, which is several times faster in oneDNN than N, C, H, W; other
// layouts are converted before and after.
#include <algorithm>

#include "kernels/conv_bias.h"
#include "kernels/cpu/conv_loops.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/layout.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/products.h"
#include "kernels/cpu/winograd.h"
#include "tandem/math/reduce.h"
#include "tandem/math/unary.h"
#include "tandem/tensor/factories.h"

namespace tandem::cpu {
namespace {

using products::Array;
using products::array_of;

// The strides by which oneDNN recognises the layout, including those of size-1 dimensions.
Array channels_last_array(const Tensor& x) {
  Array array = array_of(x);
  const Dims strides = kernels::strides_with_channels_last(x.sizes());
  std::copy(strides.begin(), strides.end(), array.strides.begin());
  return array;
}

Tensor dense(const Tensor& x, DType dtype) {
  if (!x.defined() || (x.dtype() == dtype && is_dense(x))) return x;
  const Tensor copied = empty(x.sizes(), x.options().dtype(dtype));
  copy(copied, x);
  return copied;
}

Tensor dense_result(const Tensor& y, DType dtype) {
  return !y.defined() || (y.dtype() == dtype && is_dense(y)) ? y : empty(y.sizes(), y.options().dtype(dtype));
}

Tensor contiguous_f64(const Tensor& x) { return contiguous(x, kDouble); }

Tensor contiguous_f64_result(const Tensor& y) {
  return y.dtype() == kDouble && y.is_contiguous() ? y : empty(y.sizes(), y.options().dtype(kDouble));
}

// Calls run(dtype) with the dtype itself if the processor computes in it, then with f32, until one returns true.
template <class Run>
bool try_dtypes(DType dtype, Run&& run) {
  if (dtype == kDouble) return false;
  if (products::computes_in(dtype) && run(dtype)) return true;
  return dtype != kFloat && run(kFloat);
}

// The result's dtype for operands computed in `dtype`: y's dtype, or f32 if the operands were widened.
DType result_dtype(const Tensor& y, const Tensor& operand, DType dtype) {
  return dtype == operand.dtype() ? y.dtype() : kFloat;
}

bool run_conv(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvParams& p) {
  return try_dtypes(x.dtype(), [&](DType dtype) {
    const Tensor in = channels_last(x, dtype), w = dense(weight, dtype), offset = dense(bias, kFloat);
    const Tensor out = channels_last_result(y, result_dtype(y, x, dtype));
    if (!products::convolution(channels_last_array(out), channels_last_array(in), array_of(w), array_of(offset), p)) {
      return false;
    }
    deliver(y, out);
    return true;
  });
}

// The weights of the convolution that maps gy to gx: input and output channels swapped, kernels rotated by 180 degrees.
Tensor turned(const Tensor& weight, int64_t groups) {
  Dims sizes = weight.sizes();
  const int64_t out = sizes[0] / groups, in = sizes[1], taps = weight.numel() / (sizes[0] * in);
  sizes[0] = groups * in;
  sizes[1] = out;
  const Tensor w = contiguous(weight, weight.dtype()), t = empty(sizes, weight.options());
  const uint16_t* from = static_cast<const uint16_t*>(w.raw_bytes());
  uint16_t* to = static_cast<uint16_t*>(t.raw_bytes());
  parallel_for(groups * in, grain_of(out * taps), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t o = 0; o < out; ++o) {
        const uint16_t* kernel = from + ((row / in * out + o) * in + row % in) * taps;
        std::reverse_copy(kernel, kernel + taps, to + (row * out + o) * taps);
      }
    }
  });
  return t;
}

// f16 only: oneDNN 3.2 has an AMX implementation of the forward pass but not of this backward pass (8 times slower).
bool run_backward_input_as_forward(const Tensor& gx, const Tensor& gy, const Tensor& weight, const ConvParams& p) {
  ConvParams q = p;
  for (size_t d = 0; d + 2 < weight.sizes().size(); ++d) {
    q.padding[d] = p.dilation[d] * (weight.sizes()[d + 2] - 1) - p.padding[d];
    if (p.stride[d] != 1 || q.padding[d] < 0) return false;
  }
  if (gy.dtype() != kHalf || !products::computes_in(kHalf)) return false;
  return run_conv(gx, gy, turned(weight, p.groups), {}, q);
}

void sum_to_bias(const Tensor& gbias, const Tensor& gy) {
  if (gbias.defined()) reduce(kernels::as_channels(gbias, gy.dim()), Reduction::sum, gy);
}

}  // namespace

void conv(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvParams& p,
          Activation activation) {
  if (y.numel() == 0) return;
  if (activation == Activation::relu) {
    conv(y, x, weight, bias, p, Activation::none);
    return unary(y, Unary::relu, y, 0, 0);
  }
  if (winograd::pays(y, x, weight, p)) return winograd::conv(y, x, weight, bias, p);
  if (run_conv(y, x, weight, bias, p)) return;
  const Tensor out = contiguous_f64_result(y);
  conv_loops(out, contiguous_f64(x), contiguous_f64(weight), contiguous_f64(bias), p);
  deliver(y, out);
}

void conv_backward_input(const Tensor& gx, const Tensor& gy, const Tensor& weight, const ConvParams& p) {
  if (gx.numel() == 0) return;
  if (winograd::backward_input_pays(gx, gy, weight, p)) return winograd::conv_backward_input(gx, gy, weight, p);
  if (run_backward_input_as_forward(gx, gy, weight, p)) return;
  const bool done = try_dtypes(gy.dtype(), [&](DType dtype) {
    const Tensor g = channels_last(gy, dtype), w = dense(weight, dtype);
    const Tensor in = channels_last_result(gx, result_dtype(gx, gy, dtype));
    if (!products::convolution_backward_data(channels_last_array(in), channels_last_array(g), array_of(w), p)) {
      return false;
    }
    deliver(gx, in);
    return true;
  });
  if (done) return;
  const Tensor in = contiguous_f64_result(gx);
  conv_backward_input_loops(in, contiguous_f64(gy), contiguous_f64(weight), p);
  deliver(gx, in);
}

void conv_backward_weight(const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x,
                          const ConvParams& p) {
  if (!gweight.defined() || gy.numel() == 0) {
    if (gweight.defined()) fill(gweight, 0);
    return sum_to_bias(gbias, gy);
  }
  if (winograd::pays(gy, x, gweight, p)) {
    winograd::conv_backward_weight(gweight, gy, x, p);
    return sum_to_bias(gbias, gy);
  }
  const bool done = try_dtypes(gy.dtype(), [&](DType dtype) {
    const Tensor g = channels_last(gy, dtype), in = channels_last(x, dtype);
    const Tensor w = dense_result(gweight, result_dtype(gweight, gy, dtype)), b = dense_result(gbias, kFloat);
    if (!products::convolution_backward_weight(array_of(w), array_of(b), channels_last_array(g),
                                               channels_last_array(in), p)) {
      return false;
    }
    deliver(gweight, w);
    deliver(gbias, b);
    return true;
  });
  if (done) return;
  const Tensor w = contiguous_f64_result(gweight);
  conv_backward_weight_loops(w, contiguous_f64(gy), contiguous_f64(x), p);
  deliver(gweight, w);
  sum_to_bias(gbias, gy);
}

}  // namespace tandem::cpu
