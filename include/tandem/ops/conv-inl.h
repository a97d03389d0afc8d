#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/conv.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// Returns the sizes of conv2d's result, after checking that x, weight and parameters fit.
inline Dims conv2d_sizes(IntArrayRef x, IntArrayRef weight, const Conv2dParams& p) {
  TANDEM_CHECK(weight.size() == 4 && numel_of(weight) > 0, ShapeError,
               "the weight is {}, but must be [O, C / groups, KH, KW] with no size 0", to_string(weight));
  TANDEM_CHECK(x.size() == 4, ShapeError, "x is {}, but must be [N, C, H, W]", to_string(x));
  TANDEM_CHECK(p.groups >= 1 && weight[0] % p.groups == 0, StateError,
               "groups = {}, which must divide the {} outputs of weight {}", p.groups, weight[0], to_string(weight));
  TANDEM_CHECK(x[1] == weight[1] * p.groups, ShapeError,
               "x {} has {} channels, but weight {} with groups = {} needs {}", to_string(x), x[1], to_string(weight),
               p.groups, weight[1] * p.groups);
  Dims y{x[0], weight[0], 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    constexpr int64_t most = int64_t{1} << 31;
    TANDEM_CHECK(
        p.stride[i] >= 1 && p.dilation[i] >= 1 && p.dilation[i] < most && p.padding[i] >= 0 && p.padding[i] < most,
        StateError,
        "stride {}, padding {} and dilation {}; stride and dilation must be at least 1, padding at least 0, and "
        "padding and dilation below 2^31",
        p.stride[i], p.padding[i], p.dilation[i]);
    const Checked padded = Checked(x[i + 2]) + 2 * p.padding[i];
    const Checked reach = Checked(p.dilation[i]) * (weight[i + 2] - 1) + 1, room = padded - reach;
    TANDEM_CHECK(room >= 0, ShapeError,
                 "the kernel spans {} rows or columns, but x {} with padding has {} (weight {}, padding {}, dilation "
                 "{}); increase padding or use a smaller kernel",
                 to_string(reach), to_string(x), to_string(padded), to_string(weight), p.padding[i], p.dilation[i]);
    y[i + 2] = *room.value() / p.stride[i] + 1;
  }
  return y;
}

/// Limits the strides to the size of the padded image. Larger strides give the same single window, but would overflow
/// in kernels and in the ints of vendor libraries.
inline Conv2dParams with_short_strides(Conv2dParams p, IntArrayRef x) {
  for (size_t i = 0; i < 2; ++i) p.stride[i] = std::min(p.stride[i], std::max<int64_t>(x[i + 2] + 2 * p.padding[i], 1));
  return p;
}

/// Rounds an f32 operand to f16 or bf16 if the other has that dtype, so that mixed operands of double backward agree.
inline void round_to_lower(Tensor& a, Tensor& b) {
  if (!b.defined() || a.dtype() == b.dtype()) return;
  if (is_reduced_floating_point(b.dtype())) {
    a = to(a, b.dtype());
  } else if (is_reduced_floating_point(a.dtype())) {
    b = to(b, a.dtype());
  }
}

/// Gradients of conv2d's inputs, from `gy`. Saved: x and weight, with sizes xs and ws.
inline Grads conv2d_backward(const Backward& b, const Tensor& gy, const Conv2dParams& p, const Dims& xs,
                             const Dims& ws) {
  Grads grads(3);
  if (b.needs(0)) grads[0] = conv2d_backward_input(gy, b.saved(1), xs, p);
  if (b.needs(1)) {
    const DType wanted = b.needs(2) ? promote_types(b.wanted(1), b.wanted(2)) : b.wanted(1);
    std::tie(grads[1], grads[2]) = conv2d_backward_weight(gy, b.saved(0), ws, p, wanted, b.needs(2));
  } else if (b.needs(2)) {
    grads[2] = sum(gy, {0, 2, 3}, false, b.wanted(2));
  }
  return grads;
}

/// conv2d or conv2d_relu of [N, C, H, W], with checked sizes.
template <Activation activation, FixedString Name>
Tensor conv2d_op(const Op<Name>& op, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& p,
                 const Dims& sizes) {
  static_assert(activation == Activation::none || activation == Activation::relu);
  return op.apply(
      [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
        checks::same_dtype("x", x, "weight", weight);
        checks::same_dtype("x", x, "bias", bias);
        const Tensor in = checks::dense(x), filter = checks::dense(weight);
        const bool last = checks::layout(in) == kChannelsLast || checks::layout(filter) == kChannelsLast;
        Tensor y = empty(sizes, x.options().memory_format(last ? kChannelsLast : MemoryFormat::Contiguous));
        if (y.numel() > 0) {
          const Tensor b = bias.defined() ? contiguous(bias) : bias;
          backend(x).conv2d(y, in, filter, b, p, activation);
        }
        const Dims xs = x.impl().sizes, ws = weight.impl().sizes;
        if constexpr (activation == Activation::none) {
          return Result{y, save(x, weight),
                        [p, xs, ws](const Backward& b) { return conv2d_backward(b, b.grad(), p, xs, ws); }};
        } else {
          return Result{y, save(x, weight, y), [p, xs, ws](const Backward& b) {
                          return conv2d_backward(b, relu_backward(b.grad(), b.saved(2)), p, xs, ws);
                        }};
        }
      },
      x, weight, bias);
}

/// conv2d of operands that may mix a low-precision dtype with f32, as in double backward.
inline Tensor conv2d_mixed(Tensor x, Tensor weight, Tensor bias, const Conv2dParams& p) {
  const OpScope op("conv2d");
  round_to_lower(x, weight);
  if (bias.defined()) bias = to(bias, x.dtype());
  return conv2d_op<Activation::none>(Op<"conv2d">(), x, weight, bias, p, conv2d_sizes(x.sizes(), weight.sizes(), p));
}

template <Activation activation, FixedString Name>
Tensor conv2d_of(const Op<Name>& op, const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                 IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  checks::floating("x", x);
  checks::floating("weight", weight);
  Conv2dParams p;
  p.stride = checks::pair("stride", stride, 1);
  p.padding = checks::pair("padding", padding, 0);
  p.dilation = checks::pair("dilation", dilation, 1);
  p.groups = groups;
  TANDEM_CHECK(x.dim() == 3 || x.dim() == 4, ShapeError, "x is {}, but must be [N, C, H, W] or [C, H, W]",
               checks::show(x));
  const bool single = x.dim() == 3;
  const Tensor batch = single ? unsqueeze(x, 0) : x;
  const Dims sizes = conv2d_sizes(batch.sizes(), weight.sizes(), p);
  p = with_short_strides(p, batch.sizes());
  checks::sizes("bias", bias, {weight.size(0)});
  const Tensor y = conv2d_op<activation>(op, batch, weight, bias, p, sizes);
  return single ? squeeze(y, 0) : y;
}

}  // namespace detail

TANDEM_OPS Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                         IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return detail::conv2d_of<Activation::none>(Op<"conv2d">(), x, weight, bias, stride, padding, dilation, groups);
}

TANDEM_OPS Tensor conv2d_relu(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                              IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return detail::conv2d_of<Activation::relu>(Op<"conv2d_relu">(), x, weight, bias, stride, padding, dilation, groups);
}

TANDEM_OPS Tensor conv2d_backward_input(const Tensor& gy, const Tensor& weight, IntArrayRef sizes,
                                        const Conv2dParams& given) {
  const Op<"conv2d_backward_input"> op;
  checks::floating("gy", gy);
  checks::floating("weight", weight);
  const Dims xs(sizes);
  checks::sizes("gy", gy, detail::conv2d_sizes(xs, weight.sizes(), given));
  const Conv2dParams params = detail::with_short_strides(given, xs);
  Tensor g = gy, w = weight;
  detail::round_to_lower(g, w);
  return op.apply(
      [&](const Tensor& gy, const Tensor& weight) {
        checks::same_dtype("gy", gy, "weight", weight);
        const Tensor g = checks::dense(gy);
        Tensor gx = empty(xs, gy.options().memory_format(checks::layout(g)));
        if (gy.numel() > 0) {
          backend(gy).conv2d_backward_input(gx, g, checks::dense(weight), params);
        } else {
          gx.zero_();
        }
        return Result{gx, save(gy, weight), [p = params, ws = weight.impl().sizes](const Backward& b) -> Grads {
                        Grads grads(2);
                        if (b.needs(0)) grads[0] = detail::conv2d_mixed(b.grad(), b.saved(1), {}, p);
                        if (b.needs(1)) {
                          grads[1] = std::get<0>(conv2d_backward_weight(b.saved(0), b.grad(), ws, p, b.wanted(1)));
                        }
                        return grads;
                      }};
      },
      g, w);
}

TANDEM_OPS std::tuple<Tensor, Tensor> conv2d_backward_weight(const Tensor& gy, const Tensor& x, IntArrayRef sizes,
                                                             const Conv2dParams& given, std::optional<DType> dtype,
                                                             bool with_bias) {
  const Op<"conv2d_backward_weight"> op;
  checks::floating("gy", gy);
  checks::floating("x", x);
  checks::floating_result(x, dtype);
  const Dims ws(sizes);
  checks::sizes("gy", gy, detail::conv2d_sizes(x.sizes(), ws, given));
  const Conv2dParams params = detail::with_short_strides(given, x.sizes());
  Tensor g = gy, in = x;
  detail::round_to_lower(g, in);
  std::vector<Tensor> grads = op.apply_n(
      [&](const Tensor& gy, const Tensor& x) {
        checks::same_dtype("gy", gy, "x", x);
        // The kernel writes the operands' dtype or f32. The caller converts f32 to other dtypes.
        const DType own = gy.dtype(), t = !dtype || *dtype == own || own == kDouble ? own : kFloat;
        Tensor gweight = empty(ws, gy.options().dtype(t)), gbias;
        if (with_bias) gbias = empty({ws[0]}, gy.options().dtype(t));
        if (gy.numel() > 0) {
          backend(gy).conv2d_backward_weight(gweight, gbias, checks::dense(gy), checks::dense(x), params);
        } else {
          gweight.zero_();
          if (with_bias) gbias.zero_();
        }
        std::vector<Tensor> outputs{gweight};
        if (with_bias) outputs.push_back(gbias);
        return Result{std::move(outputs), save(gy, x),
                      [p = params, xs = x.impl().sizes, with_bias](const Backward& b) -> Grads {
                        Grads grads(2);
                        const Tensor g = b.grad_or_zeros(0);
                        if (b.needs(0)) {
                          grads[0] = detail::conv2d_mixed(b.saved(1), g, with_bias ? b.grad(1) : Tensor(), p);
                        }
                        if (b.needs(1)) grads[1] = conv2d_backward_input(b.saved(0), g, xs, p);
                        return grads;
                      }};
      },
      g, in);
  return {grads[0], with_bias ? grads[1] : Tensor()};
}

}  // namespace tandem
