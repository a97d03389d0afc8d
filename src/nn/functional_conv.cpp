// Convolutions, unfold and fold.
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/ops.h"

namespace tandem::nn::functional {
namespace {

template <size_t D>
using Convolution = Tensor(const Tensor&, const Tensor&, const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, int64_t);

/// Padding that keeps the size. If the two sides differ, both get the larger padding, and the surplus is cut off at the
/// front.
template <size_t D>
Tensor conv_same(Convolution<D>* conv, const Tensor& input, const Tensor& weight, const ConvFuncOptions<D>& o) {
  TANDEM_CHECK(o.stride() == ExpandingArray<D>(1), StateError, "padding kSame with stride {}; it needs stride 1",
               to_string(o.stride()));
  constexpr const char* kernel = D == 1 ? "K" : D == 2 ? "KH, KW" : "KD, KH, KW";
  TANDEM_CHECK(weight.dim() == D + 2, ShapeError, "the weight is {}; it must be [O, C / groups, {}]",
               checks::show(weight), kernel);
  ExpandingArray<D> padding(0);
  for (size_t d = 0; d < D; ++d) {
    const int64_t total = (*o.dilation())[d] * (weight.size(static_cast<int64_t>(d) + 2) - 1);
    (*padding)[d] = (total + 1) / 2;
  }
  Tensor y = conv(input, weight, o.bias(), o.stride(), padding, o.dilation(), o.groups());
  for (int64_t d = -static_cast<int64_t>(D); d < 0; ++d) {
    const int64_t surplus = y.size(d) - input.size(d);
    if (surplus > 0) y = y.narrow(d, surplus, input.size(d));
  }
  return y;
}

template <size_t D>
Tensor conv(Convolution<D>* conv, const Tensor& input, const Tensor& weight, const ConvFuncOptions<D>& o) {
  if (o.padding().is_same()) return conv_same<D>(conv, input, weight, o);
  return conv(input, weight, o.bias(), o.stride(), o.padding().sizes(), o.dilation(), o.groups());
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options) {
  const OpScope op("conv1d");
  return conv<1>(tandem::conv1d, input, weight, options);
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options) {
  const OpScope op("conv2d");
  return conv<2>(tandem::conv2d, input, weight, options);
}

Tensor conv3d(const Tensor& input, const Tensor& weight, const Conv3dFuncOptions& options) {
  const OpScope op("conv3d");
  return conv<3>(tandem::conv3d, input, weight, options);
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const ConvTranspose1dFuncOptions& o) {
  return tandem::conv_transpose1d(input, weight, o.bias(), o.stride(), o.padding(), o.output_padding(), o.groups(),
                                  o.dilation());
}

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const ConvTranspose2dFuncOptions& o) {
  return tandem::conv_transpose2d(input, weight, o.bias(), o.stride(), o.padding(), o.output_padding(), o.groups(),
                                  o.dilation());
}

Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const ConvTranspose3dFuncOptions& o) {
  return tandem::conv_transpose3d(input, weight, o.bias(), o.stride(), o.padding(), o.output_padding(), o.groups(),
                                  o.dilation());
}

Tensor unfold(const Tensor& input, const UnfoldFuncOptions& o) {
  const OpScope op("unfold");
  return tandem::im2col(input, o.kernel_size(), o.dilation(), o.padding(), o.stride());
}

Tensor fold(const Tensor& input, const FoldFuncOptions& o) {
  const OpScope op("fold");
  return tandem::col2im(input, o.output_size(), o.kernel_size(), o.dilation(), o.padding(), o.stride());
}

}  // namespace tandem::nn::functional
