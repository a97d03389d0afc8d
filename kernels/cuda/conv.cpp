// Two-dimensional convolution and its gradients.
// Contract: f32, f16 and bf16 are convolved in cuDNN with sums in f32 (f32 factors rounded to TF32 unless
// cuda::set_allow_tf32_conv forbids it), f64 in f64. A bias is added before the one rounding (where no engine fuses it,
// to the rounded product); an activation is applied to the rounded sum. cuDNN 9.19 has no engine that writes an f32
// weight gradient of 16-bit operands: it is computed in the operands' dtype and widened, so it can overflow there; an
// engine that does write it is taken. Runs may differ in the last bits unless cuda::set_deterministic is on.
#include <vector>

#include "kernels/conv_bias.h"
#include "kernels/cuda/conv_plan.h"
#include "kernels/cuda/finish.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runtime.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

MemoryFormat format_of(bool channels_last) {
  return channels_last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
}

/// One way to ask cuDNN: the operands' dtype, the result's, the layout of all.
struct Way {
  DType operands, result;
  bool channels_last;
};

/// The ways to compute `wanted` from operands of `dtype`, the preferred one first: as the tensors are; with a 16-bit
/// result; in the other layout; from operands widened to f32.
std::vector<Way> ways(DType dtype, DType wanted, bool channels_last) {
  const bool narrow = is_reduced_floating_point(dtype);
  std::vector<Way> all;
  for (bool last : {channels_last, !channels_last}) {
    if (narrow && wanted != dtype) all.push_back({dtype, kFloat, last});
    all.push_back({dtype, dtype, last});
  }
  if (narrow) all.push_back({kFloat, kFloat, channels_last});
  return all;
}

/// Channels-last where one of them is so and not row-major too.
bool prefers_channels_last(std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* x : tensors) {
    if (!x->is_contiguous() && x->is_contiguous(MemoryFormat::ChannelsLast)) return true;
  }
  return false;
}

bool lies_as(const Tensor& x, DType dtype, bool channels_last) {
  return x.dtype() == dtype && x.is_contiguous(format_of(channels_last));
}

Tensor place(const Tensor& like, DType dtype, bool channels_last) {
  if (lies_as(like, dtype, channels_last)) return like;
  return empty(like.sizes(), TensorOptions(dtype).device(like.device()).memory_format(format_of(channels_last)));
}

Tensor operand(const Tensor& x, const Way& way) {
  const Tensor y = place(x, way.operands, way.channels_last);
  if (!y.is_same(x)) copy(y, x);
  return y;
}

void deliver(const Tensor& y, const Tensor& result) {
  if (!y.is_same(result)) copy(y, result);
}

[[noreturn]] void refuse(const std::string& why) {
  TANDEM_THROW(BackendError,
               "{}: cuDNN has no engine for this convolution: {}; other sizes, or cuda::set_deterministic(false) and "
               "cuda::set_allow_tf32_conv(true) where they are set otherwise, leave more to choose from",
               running_op("conv2d"), why);
}

/// One value for each channel, as a tensor of y's sizes; undefined stays so.
Tensor spread_over_channels(const Tensor& bias, const Tensor& y) {
  if (!bias.defined()) return bias;
  return make_view(bias, y.sizes(), {0, bias.stride(0), 0, 0}, bias.storage_offset());
}

}  // namespace

void conv2d(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& p,
            Activation activation) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  if (x.numel() == 0 || weight.numel() == 0) {
    fill(y, 0);
    return finish(y, y, spread_over_channels(bias, y), activation);
  }
  std::string why;
  for (const Way& way : ways(x.dtype(), y.dtype(), prefers_channels_last({&y, &x, &weight}))) {
    Convolution c{.direction = ConvDirection::forward,
                  .x = operand(x, way),
                  .w = operand(weight, way),
                  .y = place(y, way.result, way.channels_last),
                  .bias = {},
                  .params = p,
                  .channels_last = way.channels_last};
    if (bias.defined() && bias.is_contiguous()) {
      c.bias = bias;
      if (convolve(c)) return finish(y, c.y, {}, activation);
      c.bias = {};
    }
    if (convolve(c, &why)) return finish(y, c.y, spread_over_channels(bias, y), activation);
  }
  refuse(why);
}

void conv2d_backward_input(const Tensor& gx, const Tensor& gy, const Tensor& weight, const Conv2dParams& p) {
  if (gx.numel() == 0) return;
  const DeviceGuard on(gx.device());
  if (gy.numel() == 0 || weight.numel() == 0) return fill(gx, 0);
  std::string why;
  for (const Way& way : ways(gy.dtype(), gx.dtype(), prefers_channels_last({&gx, &gy, &weight}))) {
    const Convolution c{.direction = ConvDirection::backward_input,
                        .x = place(gx, way.result, way.channels_last),
                        .w = operand(weight, way),
                        .y = operand(gy, way),
                        .bias = {},
                        .params = p,
                        .channels_last = way.channels_last};
    if (convolve(c, &why)) return deliver(gx, c.x);
  }
  refuse(why);
}

void conv2d_backward_weight(const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x,
                            const Conv2dParams& p) {
  const Tensor& any = gweight.defined() ? gweight : gbias;
  if (!any.defined()) return;
  const DeviceGuard on(any.device());
  if (gbias.defined()) reduce(kernels::as_channels(gbias), Reduction::sum, gy);
  if (!gweight.defined() || gweight.numel() == 0) return;
  if (gy.numel() == 0 || x.numel() == 0) return fill(gweight, 0);
  std::string why;
  for (const Way& way : ways(gy.dtype(), gweight.dtype(), prefers_channels_last({&gy, &x, &gweight}))) {
    const Convolution c{.direction = ConvDirection::backward_weight,
                        .x = operand(x, way),
                        .w = place(gweight, way.result, way.channels_last),
                        .y = operand(gy, way),
                        .bias = {},
                        .params = p,
                        .channels_last = way.channels_last};
    if (convolve(c, &why)) return deliver(gweight, c.w);
  }
  refuse(why);
}

}  // namespace tandem::cuda
