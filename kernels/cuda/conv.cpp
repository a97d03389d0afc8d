// Convolution of two and three dimensions and its gradients.
// Contract: f32, f16 and bf16 are convolved by cuDNN with f32 sums (f32 factors are rounded to TF32 unless
// cuda::set_allow_tf32_conv forbids it), f64 in f64. A bias is added before the single rounding, or to the rounded
// product if no engine fuses it. relu is a separate pass in place, because cuDNN's engines for tensor cores do not
// promise that theirs keeps NaN. An f32 weight gradient of 16-bit operands is f32 throughout. Runs may differ in the
// last bits unless cuda::set_deterministic is on.
#include <functional>
#include <vector>

#include "kernels/conv_bias.h"
#include "kernels/cuda/channel_padding.h"
#include "kernels/cuda/conv_columns.h"
#include "kernels/cuda/conv_plan.h"
#include "kernels/cuda/finish.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runtime.h"
#include "kernels/cuda/weight_gradient_way.h"
#include "kernels/image_layout.h"
#include "tandem/base/check.h"
#include "tandem/math/binary.h"
#include "tandem/math/reduce.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

constexpr int64_t kMostColumnBytes = int64_t{256} << 20;

/// One way to call cuDNN: the dtypes of operands and result, the layout of all, and whether channels are padded.
struct Way {
  DType operands, result;
  bool channels_last;
  bool padded = false;
  bool exact_in_tf32 = false;
  bool fallback = false;
};

/// f16 and bf16 values are exact in TF32, as neither has a longer mantissa or wider range.
Way widened(bool channels_last) {
  return {.operands = kFloat, .result = kFloat, .channels_last = channels_last, .exact_in_tf32 = true};
}

/// The ways to compute a result of dtype `wanted`, which is f32 or the dtype of the operands, of which `x` is one. In
/// order of preference: with padded channels if that pays off; as the tensors are; in the other layout; with operands
/// widened to f32; with cuDNN's fallbacks. A result wanted in f32 is never rounded to 16 bits in between. Few engines
/// write f32 results, so no tensor is copied just to try the other layout.
std::vector<Way> ways(const Tensor& x, DType wanted, bool channels_last, bool padding_pays) {
  const DType dtype = x.dtype();
  check_multiplies(dtype, x.device());
  const bool narrow = is_reduced_floating_point(dtype);
  std::vector<Way> all;
  if (narrow && wanted == dtype && channels_last && padding_pays) all.push_back({dtype, wanted, true, true});
  all.push_back({dtype, wanted, channels_last});
  if (wanted == dtype) all.push_back({dtype, wanted, !channels_last});
  if (narrow) all.push_back(widened(channels_last));
  all.push_back({.operands = dtype, .result = wanted, .channels_last = channels_last, .fallback = true});
  return all;
}

/// Whether any tensor is channels-last and not also row-major.
bool prefers_channels_last(std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* x : tensors) {
    if (!x->is_contiguous() && kernels::has_layout(*x, true)) return true;
  }
  return false;
}

bool padding_pays(const Tensor& x, const Tensor& weight, const Tensor& y, const ConvParams& p) {
  return p.groups == 1 && channel_padding_pays(x.sizes(), weight.sizes(), y.sizes());
}

enum class Role { image, weight };

/// The sizes passed to cuDNN.
Dims sizes_for(const Way& way, const Tensor& x, Role role) {
  Dims sizes = x.sizes();
  if (!way.padded) return sizes;
  sizes[1] = padded_channels(sizes[1]);
  if (role == Role::weight) sizes[0] = padded_channels(sizes[0]);
  return sizes;
}

/// The part of `padded` that has the sizes of `x`.
Tensor part_like(const Tensor& padded, const Tensor& x) {
  return make_view(padded, x.sizes(), padded.strides(), padded.storage_offset());
}

/// `x` itself if cuDNN can use it in place, else an uninitialized tensor for a copy.
Tensor place(const Tensor& x, DType dtype, const Way& way, Role role) {
  const Dims sizes = sizes_for(way, x, role);
  if (x.dtype() == dtype && kernels::has_layout(x, way.channels_last) && x.sizes() == IntArrayRef(sizes)) return x;
  return kernels::empty_in_layout(sizes, TensorOptions(dtype).device(x.device()), way.channels_last);
}

/// Fills the elements of `padded` outside the part with x's sizes with zeros.
void clear_padding(const Tensor& padded, const Tensor& x) {
  for (int64_t d = 0; d < padded.dim(); ++d) {
    Dims sizes = padded.sizes();
    const auto axis = static_cast<size_t>(d);
    if ((sizes[axis] -= x.size(d)) == 0) continue;
    fill(make_view(padded, sizes, padded.strides(), padded.storage_offset() + x.size(d) * padded.stride(d)), 0);
  }
}

Tensor operand(const Tensor& x, const Way& way, Role role) {
  const Tensor y = place(x, way.operands, way, role);
  if (y.is_same(x)) return y;
  clear_padding(y, x);
  copy(part_like(y, x), x);
  return y;
}

void deliver(const Tensor& y, const Tensor& result) {
  if (!y.is_same(result)) copy(y, part_like(result, y));
}

/// The bias for a result with as many channels as `y`, contiguous.
Tensor bias_for(const Tensor& bias, const Tensor& y) {
  if (!bias.defined() || (bias.is_contiguous() && bias.size(0) == y.size(1))) return bias;
  const Tensor copied = empty({y.size(1)}, bias.options());
  clear_padding(copied, bias);
  copy(part_like(copied, bias), bias);
  return copied;
}

[[noreturn]] void refuse(const std::string& why) {
  TANDEM_THROW(BackendError,
               "cuDNN has no engine for this convolution: {}; try other sizes, or allow more engines with "
               "cuda::set_deterministic(false) and cuda::set_allow_tf32_conv(true)",
               why);
}

/// Adds the bias in the same call if an engine can, else in a separate pass. False if cuDNN has no engine.
bool run_forward(const Convolution& c, std::string* why) {
  if (!c.bias.defined()) return convolve(c, why);
  const auto run_apart = [&] {
    Convolution product = c;
    product.bias = {};
    if (!convolve(product, why)) return false;
    binary(c.y, Binary::add, c.y, kernels::spread_over_channels(c.bias, c.y), 1);
    return true;
  };
  const auto timed = [&] {
    if (!run_apart()) refuse(*why);
  };
  return convolve(c, nullptr, std::ref(timed)) || run_apart();
}

/// Whether an f32 weight gradient of 16-bit operands is computed over columns, which volumes do not have.
bool columns_pay(const Tensor& gweight, const Tensor& gy, const Tensor& x, const ConvParams& p) {
  if (gweight.dim() != 4 || p.groups != 1) return false;
  const int major = get_device_properties(index_of(x.device())).major;
  const WeightGradientCosts costs = weight_gradient_costs(x.sizes(), gweight.sizes(), gy.sizes(), major);
  return costs.columns < costs.widened;
}

}  // namespace

void conv(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvParams& p,
          Activation activation) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  if (x.numel() == 0 || weight.numel() == 0) {
    fill(y, 0);
    return finish(y, y, kernels::spread_over_channels(bias, y), activation);
  }
  std::string why;
  for (const Way& way : ways(x, y.dtype(), prefers_channels_last({&y, &x, &weight}), padding_pays(x, weight, y, p))) {
    Convolution c{.direction = ConvDirection::forward,
                  .x = operand(x, way, Role::image),
                  .w = operand(weight, way, Role::weight),
                  .y = place(y, way.result, way, Role::image),
                  .bias = {},
                  .params = p,
                  .channels_last = way.channels_last,
                  .exact_in_tf32 = way.exact_in_tf32,
                  .fallback = way.fallback};
    c.bias = bias_for(bias, c.y);
    if (!run_forward(c, &why)) continue;
    deliver(y, c.y);
    if (activation == Activation::relu) unary(y, Unary::relu, y, 0, 0);
    return;
  }
  refuse(why);
}

void conv_backward_input(const Tensor& gx, const Tensor& gy, const Tensor& weight, const ConvParams& p) {
  if (gx.numel() == 0) return;
  const DeviceGuard on(gx.device());
  if (gy.numel() == 0 || weight.numel() == 0) return fill(gx, 0);
  std::string why;
  for (const Way& way :
       ways(gy, gx.dtype(), prefers_channels_last({&gx, &gy, &weight}), padding_pays(gx, weight, gy, p))) {
    const Convolution c{.direction = ConvDirection::backward_input,
                        .x = place(gx, way.result, way, Role::image),
                        .w = operand(weight, way, Role::weight),
                        .y = operand(gy, way, Role::image),
                        .bias = {},
                        .params = p,
                        .channels_last = way.channels_last,
                        .exact_in_tf32 = way.exact_in_tf32,
                        .fallback = way.fallback};
    if (convolve(c, &why)) return deliver(gx, c.x);
  }
  refuse(why);
}

void conv_backward_weight(const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x,
                          const ConvParams& p) {
  const Tensor& any = gweight.defined() ? gweight : gbias;
  if (!any.defined()) return;
  const DeviceGuard on(any.device());
  if (gbias.defined()) reduce(kernels::as_channels(gbias, gy.dim()), Reduction::sum, gy);
  if (!gweight.defined() || gweight.numel() == 0) return;
  if (gy.numel() == 0 || x.numel() == 0) return fill(gweight, 0);
  std::string why;
  const bool from_narrow = is_reduced_floating_point(gy.dtype()) && gweight.dtype() == kFloat;
  for (const Way& way :
       ways(gy, gweight.dtype(), prefers_channels_last({&gy, &x, &gweight}), padding_pays(x, gweight, gy, p))) {
    if (way.operands == kFloat && from_narrow && columns_pay(gweight, gy, x, p)) {
      return conv_backward_weight_by_columns(gweight, gy, x, p, kMostColumnBytes);
    }
    const Convolution c{.direction = ConvDirection::backward_weight,
                        .x = operand(x, way, Role::image),
                        .w = place(gweight, way.result, way, Role::weight),
                        .y = operand(gy, way, Role::image),
                        .bias = {},
                        .params = p,
                        .channels_last = way.channels_last,
                        .exact_in_tf32 = way.exact_in_tf32,
                        .fallback = way.fallback};
    if (convolve(c, &why)) return deliver(gweight, c.w);
  }
  refuse(why);
}

}  // namespace tandem::cuda
