#pragma once
#include <algorithm>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/math/binary.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/conv.h"
#include "tandem/ops/conv_forms-inl.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/pad.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// Returns the sizes of the result of a convolution of `dims` dimensions, after checking that x, weight and parameters
/// fit.
inline Dims conv_sizes(size_t dims, IntArrayRef x, IntArrayRef weight, const ConvParams& p) {
  const ConvNames& names = conv_names(dims);
  TANDEM_CHECK(weight.size() == dims + 2 && numel_of(weight) > 0, ShapeError,
               "the weight is {}, but must be [O, C / groups, {}] with no size 0", to_string(weight), names.kernel);
  TANDEM_CHECK(x.size() == dims + 2, ShapeError, "x is {}, but must be [N, C, {}]", to_string(x), names.image);
  TANDEM_CHECK(p.groups >= 1 && weight[0] % p.groups == 0, StateError,
               "groups = {}, which must divide the {} outputs of weight {}", p.groups, weight[0], to_string(weight));
  TANDEM_CHECK(x[1] == weight[1] * p.groups, ShapeError,
               "x {} has {} channels, but weight {} with groups = {} needs {}", to_string(x), x[1], to_string(weight),
               p.groups, weight[1] * p.groups);
  Dims y{x[0], weight[0]};
  for (size_t i = 0; i < dims; ++i) {
    check_conv_entry(p, i);
    const Checked padded = Checked(x[i + 2]) + 2 * p.padding[i];
    const Checked reach = Checked(p.dilation[i]) * (weight[i + 2] - 1) + 1, room = padded - reach;
    TANDEM_CHECK(room >= 0, ShapeError,
                 "the kernel spans {} rows or columns, but x {} with padding has {} (weight {}, padding {}, dilation "
                 "{}); increase padding or use a smaller kernel",
                 to_string(reach), to_string(x), to_string(padded), to_string(weight), p.padding[i], p.dilation[i]);
    y.push_back(*room.value() / p.stride[i] + 1);
  }
  return y;
}

/// conv_sizes of a transposed convolution, which has the weight of the convolution from y to x.
inline Dims conv_transpose_sizes(size_t dims, IntArrayRef x, IntArrayRef weight, const ConvParams& p,
                                 const std::array<int64_t, 3>& output_padding) {
  const ConvNames& names = conv_names(dims);
  TANDEM_CHECK(weight.size() == dims + 2 && numel_of(weight) > 0, ShapeError,
               "the weight is {}, but must be [C, O / groups, {}] with no size 0", to_string(weight), names.kernel);
  TANDEM_CHECK(x.size() == dims + 2, ShapeError, "x is {}, but must be [N, C, {}]", to_string(x), names.image);
  TANDEM_CHECK(p.groups >= 1 && weight[0] % p.groups == 0, StateError,
               "groups = {}, which must divide the {} channels of weight {}", p.groups, weight[0], to_string(weight));
  TANDEM_CHECK(x[1] == weight[0], ShapeError, "x {} has {} channels, but weight {} needs {}", to_string(x), x[1],
               to_string(weight), weight[0]);
  const Checked outputs = Checked(weight[1]) * p.groups;
  TANDEM_CHECK(outputs.fits(), StateError, "groups = {}, which is too large for weight {}", p.groups,
               to_string(weight));
  Dims y{x[0], *outputs.value()};
  for (size_t i = 0; i < dims; ++i) {
    check_conv_entry(p, i);
    TANDEM_CHECK(output_padding[i] < std::max(p.stride[i], p.dilation[i]), StateError,
                 "output_padding {} with stride {} and dilation {}; it must be below one of them", output_padding[i],
                 p.stride[i], p.dilation[i]);
    const Checked size = (Checked(x[i + 2]) - 1) * p.stride[i] - 2 * p.padding[i] +
                         Checked(p.dilation[i]) * (weight[i + 2] - 1) + output_padding[i] + 1;
    TANDEM_CHECK(x[i + 2] >= 1 && size >= 1 && (size + 2 * p.padding[i]).fits(), ShapeError,
                 "the result of x {} and weight {} would have {} rows or columns (stride {}, padding {}, dilation {}); "
                 "reduce padding or use a larger kernel",
                 to_string(x), to_string(weight), to_string(size), p.stride[i], p.padding[i], p.dilation[i]);
    y.push_back(*size.value());
  }
  return y;
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

/// [N, C, L] without gaps as an image of height 1, for kernels, which have no convolution of one dimension. Other
/// tensors stay as they are.
inline Tensor as_image(const Tensor& x) {
  if (!x.defined() || x.dim() != 3) return x;
  return make_view(x, {x.size(0), x.size(1), 1, x.size(2)}, {x.stride(0), x.stride(1), x.stride(1), x.stride(2)},
                   x.storage_offset());
}
inline ConvParams as_image(const ConvParams& p, const Tensor& x) {
  if (x.dim() != 3) return p;
  return {.stride = {1, p.stride[0], 1},
          .padding = {0, p.padding[0], 0},
          .dilation = {1, p.dilation[0], 1},
          .groups = p.groups};
}

/// The dimensions that the gradient of a bias is summed over: all of gy's but the second.
inline Dims all_but_channels(const Tensor& gy) {
  Dims dims;
  for (int64_t d = 0; d < gy.dim(); ++d) {
    if (d != 1) dims.push_back(d);
  }
  return dims;
}

/// Gradients of a convolution's inputs, from `gy`. Saved: x and weight, with sizes xs and ws.
inline Grads conv_backward(const Backward& b, const Tensor& gy, const ConvParams& p, const Dims& xs, const Dims& ws) {
  Grads grads(3);
  if (b.needs(0)) grads[0] = conv_backward_input(gy, b.saved(1), xs, p);
  if (b.needs(1)) {
    const DType wanted = b.needs(2) ? promote_types(b.wanted(1), b.wanted(2)) : b.wanted(1);
    std::tie(grads[1], grads[2]) = conv_backward_weight(gy, b.saved(0), ws, p, wanted, b.needs(2));
  } else if (b.needs(2)) {
    grads[2] = sum(gy, all_but_channels(gy), false, b.wanted(2));
  }
  return grads;
}

/// An uninitialized result for operands without gaps: channels-last if one of them is.
inline Tensor conv_result(const Dims& sizes, const Tensor& a, const Tensor& b, DType dtype) {
  const bool last = checks::layout(a) == kChannelsLast || checks::layout(b) == kChannelsLast;
  return empty(sizes, a.options().dtype(dtype).memory_format(last ? kChannelsLast : MemoryFormat::Contiguous));
}

/// A convolution of a batch, optionally followed by relu, with checked sizes.
template <Activation activation, FixedString Name>
Tensor conv_op(const Op<Name>& op, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvParams& p,
               const Dims& sizes) {
  static_assert(activation == Activation::none || activation == Activation::relu);
  return op.apply(
      [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
        checks::same_dtype("x", x, "weight", weight);
        checks::same_dtype("x", x, "bias", bias);
        const Tensor in = checks::dense(x), filter = checks::dense(weight),
                     y = conv_result(sizes, in, filter, x.dtype());
        if (y.numel() > 0) {
          const Tensor b = bias.defined() ? contiguous(bias) : bias;
          backend(x).conv(as_image(y), as_image(in), as_image(filter), b, as_image(p, x), activation);
        }
        const Dims xs = x.impl().sizes, ws = weight.impl().sizes;
        if constexpr (activation == Activation::none) {
          return Result{y, save(x, weight),
                        [p, xs, ws](const Backward& b) { return conv_backward(b, b.grad(), p, xs, ws); }};
        } else {
          return Result{y, save(x, weight, y), [p, xs, ws](const Backward& b) {
                          return conv_backward(b, relu_backward(b.grad(), b.saved(2)), p, xs, ws);
                        }};
        }
      },
      x, weight, bias);
}

/// A convolution of operands that may mix a low-precision dtype with f32, as in double backward.
inline Tensor conv_mixed(Tensor x, Tensor weight, Tensor bias, const ConvParams& p) {
  const OpScope op("convolution");
  round_to_lower(x, weight);
  if (bias.defined()) bias = to(bias, x.dtype());
  const Dims sizes = conv_sizes(static_cast<size_t>(weight.dim()) - 2, x.sizes(), weight.sizes(), p);
  return conv_op<Activation::none>(Op<"convolution">(), x, weight, bias, p, sizes);
}

/// A transposed convolution of a batch with checked sizes: the gradient of the input of the convolution from y to x.
template <FixedString Name>
Tensor conv_transpose_op(const Op<Name>& op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const ConvParams& p, const Dims& sizes) {
  return op.apply(
      [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
        checks::same_dtype("x", x, "weight", weight);
        checks::same_dtype("x", x, "bias", bias);
        const Tensor in = checks::dense(x), filter = checks::dense(weight),
                     y = conv_result(sizes, in, filter, x.dtype());
        if (y.numel() > 0) {
          backend(x).conv_backward_input(as_image(y), as_image(in), as_image(filter), as_image(p, x));
          if (bias.defined()) {
            Dims strides(y.sizes().size(), 0);
            strides[1] = bias.stride(0);
            const Tensor offset = make_view(bias, y.sizes(), strides, bias.storage_offset());
            backend(x).binary(y, kernels::Binary::add, y, offset, 1);
          }
        }
        return Result{y, save(x, weight), [p, ws = weight.impl().sizes](const Backward& b) -> Grads {
                        Grads grads(3);
                        const Tensor gy = b.grad();
                        if (b.needs(0)) grads[0] = conv_mixed(gy, b.saved(1), {}, p);
                        if (b.needs(1)) {
                          grads[1] = std::get<0>(conv_backward_weight(b.saved(0), gy, ws, p, b.wanted(1)));
                        }
                        if (b.needs(2)) grads[2] = sum(gy, all_but_channels(gy), false, b.wanted(2));
                        return grads;
                      }};
      },
      x, weight, bias);
}

/// Checks x and weight of a convolution of `dims` dimensions. Returns true if x has no batch.
inline bool is_single_image(size_t dims, const Tensor& x, const Tensor& weight) {
  checks::floating("x", x);
  checks::floating("weight", weight);
  const auto rank = static_cast<int64_t>(dims) + 2;
  const char* const image = conv_names(dims).image;
  TANDEM_CHECK(x.dim() == rank - 1 || x.dim() == rank, ShapeError, "x is {}, but must be [N, C, {}] or [C, {}]",
               checks::show(x), image, image);
  return x.dim() == rank - 1;
}

template <Activation activation, FixedString Name>
Tensor conv_of(const Op<Name>& op, size_t dims, const Tensor& x, const Tensor& weight, const Tensor& bias,
               IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  const bool single = is_single_image(dims, x, weight);
  const ConvParams p = conv_params(dims, stride, padding, dilation, groups);
  const Tensor batch = single ? unsqueeze(x, 0) : x;
  const Dims sizes = conv_sizes(dims, batch.sizes(), weight.sizes(), p);
  checks::sizes("bias", bias, {weight.size(0)});
  const Tensor y = conv_op<activation>(op, batch, weight, bias, with_short_strides(p, batch.sizes()), sizes);
  return single ? squeeze(y, 0) : y;
}

template <FixedString Name>
Tensor conv_transpose_of(const Op<Name>& op, size_t dims, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         IntArrayRef stride, IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                         IntArrayRef dilation) {
  const bool single = is_single_image(dims, x, weight);
  const ConvParams p = conv_params(dims, stride, padding, dilation, groups);
  const std::array<int64_t, 3> added = conv_entries("output_padding", output_padding, dims, 0, 0);
  Tensor batch = single ? unsqueeze(x, 0) : x;
  const Dims sizes = conv_transpose_sizes(dims, batch.sizes(), weight.sizes(), p, added);
  checks::sizes("bias", bias, {sizes[1]});
  // A result with output_padding >= stride is that of an x with zeros at its end: without them, the convolution from y
  // to x would have more results than x has elements.
  Dims zeros;
  bool extends = false;
  for (size_t i = dims; i-- > 0;) {
    zeros.push_back(0);
    zeros.push_back(added[i] / p.stride[i]);
    extends |= zeros.back() > 0;
  }
  if (extends) batch = constant_pad_nd(batch, zeros);
  const Tensor y = conv_transpose_op(op, batch, weight, bias, with_short_strides(p, sizes), sizes);
  return single ? squeeze(y, 0) : y;
}

}  // namespace detail

TANDEM_OPS Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                         IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return detail::conv_of<Activation::none>(Op<"conv1d">(), 1, x, weight, bias, stride, padding, dilation, groups);
}

TANDEM_OPS Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                         IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return detail::conv_of<Activation::none>(Op<"conv2d">(), 2, x, weight, bias, stride, padding, dilation, groups);
}

TANDEM_OPS Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                         IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return detail::conv_of<Activation::none>(Op<"conv3d">(), 3, x, weight, bias, stride, padding, dilation, groups);
}

/// If the two sides of a dimension differ, both get the larger padding, and the surplus is cut off at the front.
TANDEM_OPS Tensor detail::conv_with_padding(size_t dims, const Tensor& x, const Tensor& weight, const Tensor& bias,
                                            IntArrayRef stride, std::string_view padding, IntArrayRef dilation,
                                            int64_t groups) {
  struct Convolution {
    const char* name;
    Tensor (*run)(const Tensor&, const Tensor&, const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, int64_t);
  };
  static constexpr Convolution convolutions[] = {{"conv1d", conv1d}, {"conv2d", conv2d}, {"conv3d", conv3d}};
  const Convolution& conv = convolutions[dims - 1];
  const OpScope op(conv.name);
  TANDEM_CHECK(padding == "same" || padding == "valid", StateError,
               "padding is '{}'; use 'same', 'valid' or numbers of zeros", padding);
  if (padding == "valid") return conv.run(x, weight, bias, stride, {0}, dilation, groups);
  for (const int64_t s : checks::entries("stride", stride, dims, 1)) {
    TANDEM_CHECK(s == 1, StateError, "padding 'same' with stride {}; it needs stride 1", to_string(stride));
  }
  TANDEM_CHECK(weight.dim() == static_cast<int64_t>(dims) + 2, ShapeError,
               "the weight is {}; it must be [O, C / groups, {}]", checks::show(weight), conv_names(dims).kernel);
  Dims zeros = checks::entries("dilation", dilation, dims, 1);
  for (size_t d = 0; d < dims; ++d) {
    zeros[d] = (zeros[d] * (weight.sizes()[d + 2] - 1) + 1) / 2;
  }
  Tensor y = conv.run(x, weight, bias, stride, zeros, dilation, groups);
  for (int64_t d = -static_cast<int64_t>(dims); d < 0; ++d) {
    const int64_t surplus = y.size(d) - x.size(d);
    if (surplus > 0) y = narrow(y, d, surplus, x.size(d));
  }
  return y;
}

TANDEM_OPS Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                                   IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                                   IntArrayRef dilation) {
  return detail::conv_transpose_of(Op<"conv_transpose1d">(), 1, x, weight, bias, stride, padding, output_padding,
                                   groups, dilation);
}

TANDEM_OPS Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                                   IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                                   IntArrayRef dilation) {
  return detail::conv_transpose_of(Op<"conv_transpose2d">(), 2, x, weight, bias, stride, padding, output_padding,
                                   groups, dilation);
}

TANDEM_OPS Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                                   IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                                   IntArrayRef dilation) {
  return detail::conv_transpose_of(Op<"conv_transpose3d">(), 3, x, weight, bias, stride, padding, output_padding,
                                   groups, dilation);
}

TANDEM_OPS Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                              IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                              int64_t groups) {
  const Op<"convolution"> op;
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() >= 3 && x.dim() <= 5, ShapeError, "x is {}, but must have a batch, channels and 1 to 3 others",
               checks::show(x));
  const auto dims = static_cast<size_t>(x.dim()) - 2;
  checks::floating("weight", weight);
  TANDEM_CHECK(weight.dim() == x.dim(), ShapeError, "x is {}, but weight is {}; they must have the same rank",
               checks::show(x), checks::show(weight));
  if (transposed) {
    return detail::conv_transpose_of(op, dims, x, weight, bias, stride, padding, output_padding, groups, dilation);
  }
  for (int64_t v : detail::conv_entries("output_padding", output_padding, dims, 0, 0)) {
    TANDEM_CHECK(v == 0, StateError, "output_padding = {} without transposed; it must be 0", to_string(output_padding));
  }
  return detail::conv_of<Activation::none>(op, dims, x, weight, bias, stride, padding, dilation, groups);
}

TANDEM_OPS Tensor conv_tbc(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t pad) {
  const Op<"conv_tbc"> op;
  checks::floating("x", x);
  checks::floating("weight", weight);
  checks::floating("bias", bias);
  TANDEM_CHECK(x.dim() == 3, ShapeError, "x is {}, but must be [T, B, C]", checks::show(x));
  TANDEM_CHECK(weight.dim() == 3 && weight.numel() > 0, ShapeError,
               "the weight is {}, but must be [K, C, O] with no size 0", checks::show(weight));
  TANDEM_CHECK(x.size(2) == weight.size(1), ShapeError, "x {} has {} channels, but weight {} needs {}", checks::show(x),
               x.size(2), checks::show(weight), weight.size(1));
  checks::sizes("bias", bias, {weight.size(2)});
  // In memory, x is a channels-last image with a row per time and a column per sequence. Empty batches need sequences
  // as images, since an image must not be empty.
  const bool empty_batch = x.size(1) == 0;
  const Tensor image = empty_batch ? permute(x, {1, 2, 0}) : unsqueeze(permute(x, {2, 0, 1}), 0);
  const Tensor filter = permute(weight, {2, 1, 0});
  const ConvParams p = detail::conv_params(1, {1}, {pad}, {1}, 1);
  if (empty_batch) {
    const Dims sizes = detail::conv_sizes(1, image.sizes(), filter.sizes(), p);
    return permute(detail::conv_op<Activation::none>(op, image, filter, bias, p, sizes), {2, 0, 1});
  }
  const Tensor kernel = unsqueeze(filter, 3);
  const Dims sizes = detail::conv_sizes(2, image.sizes(), kernel.sizes(), p);
  const Tensor y = detail::conv_op<Activation::none>(op, image, kernel, bias, p, sizes);
  return contiguous(permute(squeeze(y, 0), {1, 2, 0}));
}

TANDEM_OPS Tensor conv2d_relu(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                              IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return detail::conv_of<Activation::relu>(Op<"conv2d_relu">(), 2, x, weight, bias, stride, padding, dilation, groups);
}

TANDEM_OPS Tensor conv_backward_input(const Tensor& gy, const Tensor& weight, IntArrayRef sizes,
                                      const ConvParams& given) {
  const Op<"conv_backward_input"> op;
  checks::floating("gy", gy);
  checks::floating("weight", weight);
  TANDEM_CHECK(weight.dim() >= 3 && weight.dim() <= 5, ShapeError, "the weight is {}, but must have rank 3 to 5",
               checks::show(weight));
  const Dims xs(sizes);
  checks::sizes("gy", gy, detail::conv_sizes(static_cast<size_t>(weight.dim()) - 2, xs, weight.sizes(), given));
  const ConvParams params = detail::with_short_strides(given, xs);
  Tensor g = gy, w = weight;
  detail::round_to_lower(g, w);
  return op.apply(
      [&](const Tensor& gy, const Tensor& weight) {
        checks::same_dtype("gy", gy, "weight", weight);
        const Tensor g = checks::dense(gy), filter = checks::dense(weight);
        Tensor gx = empty(xs, gy.options().memory_format(checks::layout(g)));
        using detail::as_image;
        if (gy.numel() > 0) {
          backend(gy).conv_backward_input(as_image(gx), as_image(g), as_image(filter), as_image(params, gy));
        } else {
          gx.zero_();
        }
        return Result{gx, save(gy, weight), [p = params, ws = weight.impl().sizes](const Backward& b) -> Grads {
                        Grads grads(2);
                        if (b.needs(0)) grads[0] = detail::conv_mixed(b.grad(), b.saved(1), {}, p);
                        if (b.needs(1)) {
                          grads[1] = std::get<0>(conv_backward_weight(b.saved(0), b.grad(), ws, p, b.wanted(1)));
                        }
                        return grads;
                      }};
      },
      g, w);
}

TANDEM_OPS std::tuple<Tensor, Tensor> conv_backward_weight(const Tensor& gy, const Tensor& x, IntArrayRef sizes,
                                                           const ConvParams& given, std::optional<DType> dtype,
                                                           bool with_bias) {
  const Op<"conv_backward_weight"> op;
  checks::floating("gy", gy);
  checks::floating("x", x);
  checks::floating_result(x, dtype);
  TANDEM_CHECK(gy.dim() >= 3 && gy.dim() <= 5, ShapeError, "gy is {}, but must have rank 3 to 5", checks::show(gy));
  const Dims ws(sizes);
  checks::sizes("gy", gy, detail::conv_sizes(static_cast<size_t>(gy.dim()) - 2, x.sizes(), ws, given));
  const ConvParams params = detail::with_short_strides(given, x.sizes());
  Tensor g = gy, in = x;
  detail::round_to_lower(g, in);
  std::vector<Tensor> grads = op.apply_n(
      [&](const Tensor& gy, const Tensor& x) {
        checks::same_dtype("gy", gy, "x", x);
        // The kernel writes the operands' dtype or f32. The caller converts f32 to other dtypes.
        const DType own = gy.dtype(), t = !dtype || *dtype == own || own == kDouble ? own : kFloat;
        Tensor gweight = detail::conv_result(ws, checks::dense(gy), checks::dense(x), t), gbias;
        if (with_bias) gbias = empty({ws[0]}, gy.options().dtype(t));
        using detail::as_image;
        if (gy.numel() > 0) {
          backend(gy).conv_backward_weight(as_image(gweight), gbias, as_image(checks::dense(gy)),
                                           as_image(checks::dense(x)), as_image(params, gy));
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
                          grads[0] = detail::conv_mixed(b.saved(1), g, with_bias ? b.grad(1) : Tensor(), p);
                        }
                        if (b.needs(1)) grads[1] = conv_backward_input(b.saved(0), g, xs, p);
                        return grads;
                      }};
      },
      g, in);
  return {grads[0], with_bias ? grads[1] : Tensor()};
}

}  // namespace tandem
