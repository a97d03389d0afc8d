// Convolutions, unfold and fold.
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/ops.h"

namespace tandem::nn::functional {
namespace {

template <size_t D>
Tensor conv(const Tensor& input, const Tensor& weight, const ConvFuncOptions<D>& o) {
  constexpr auto run = [](const auto&... args) {
    if constexpr (D == 1) return tandem::conv1d(args...);
    if constexpr (D == 2) return tandem::conv2d(args...);
    if constexpr (D == 3) return tandem::conv3d(args...);
  };
  if (o.padding().is_same()) return run(input, weight, o.bias(), o.stride(), "same", o.dilation(), o.groups());
  return run(input, weight, o.bias(), o.stride(), o.padding().sizes(), o.dilation(), o.groups());
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options) {
  const OpScope op("conv1d");
  return conv(input, weight, options);
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options) {
  const OpScope op("conv2d");
  return conv(input, weight, options);
}

Tensor conv3d(const Tensor& input, const Tensor& weight, const Conv3dFuncOptions& options) {
  const OpScope op("conv3d");
  return conv(input, weight, options);
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
