#include "tandem/nn/functional.h"

#include "tandem/base/check.h"
#include "tandem/nn/expanding_array.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/ops.h"

namespace tandem::detail {

void throw_expanding_array(size_t expected, size_t given) {
  const OpScope op("ExpandingArray");
  TANDEM_THROW(StateError, "got {} values; give {}, or one for all", given, expected);
}

}  // namespace tandem::detail

namespace tandem::nn::functional {

Tensor relu(const Tensor& input, const ReLUFuncOptions& options) {
  const OpScope op("relu");
  return options.inplace() ? input.relu_() : tandem::relu(input);
}

Tensor gelu(const Tensor& input, const GELUFuncOptions& options) { return tandem::gelu(input, options.approximate()); }

Tensor sigmoid(const Tensor& input) { return tandem::sigmoid(input); }

Tensor tanh(const Tensor& input) { return tandem::tanh(input); }

Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options) {
  return tandem::softmax(input, options.dim(), options.dtype());
}

Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options) {
  return tandem::log_softmax(input, options.dim(), options.dtype());
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return tandem::linear(input, weight, bias);
}

Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& o) {
  return tandem::max_pool2d(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());
}

Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& o) {
  return tandem::avg_pool2d(input, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(), o.count_include_pad(),
                            o.divisor_override());
}

Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& options) {
  const OpScope op("adaptive_avg_pool2d");
  ExpandingArray<2> sizes(0);
  for (size_t d = 0; d < 2; ++d) {
    const std::optional<int64_t>& wanted = (*options.output_size())[d];
    (*sizes)[d] = wanted ? *wanted : input.size(static_cast<int64_t>(d) - 2);
  }
  return tandem::adaptive_avg_pool2d(input, sizes);
}

Tensor dropout(const Tensor& input, const DropoutFuncOptions& options) {
  const OpScope op("dropout");
  Tensor y = tandem::dropout(input, options.p(), options.training());
  return options.inplace() && !y.is_same(input) ? input.copy_(y) : y;
}

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& o) {
  return tandem::batch_norm(input, o.weight(), o.bias(), running_mean, running_var, o.training(), o.momentum(),
                            o.eps());
}

Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& o) {
  return tandem::layer_norm(input, o.normalized_shape(), o.weight(), o.bias(), o.eps());
}

Tensor pad(const Tensor& input, const PadFuncOptions& options) {
  return tandem::pad(input, options.pad(), options.mode(), options.value());
}

Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& o) {
  return tandem::cross_entropy(input, target, o.weight(), o.reduction(), o.ignore_index(), o.label_smoothing());
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& o) {
  return tandem::nll_loss(input, target, o.weight(), o.reduction(), o.ignore_index());
}

Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& o) {
  return tandem::mse_loss(input, target, o.reduction());
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryCrossEntropyFuncOptions& o) {
  return tandem::binary_cross_entropy(input, target, o.weight(), o.reduction());
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& o) {
  return tandem::binary_cross_entropy_with_logits(input, target, o.weight(), o.pos_weight(), o.reduction());
}

}  // namespace tandem::nn::functional
