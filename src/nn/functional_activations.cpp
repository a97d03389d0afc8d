// The activations of nn::functional.
#include "tandem/nn/functional.h"

#include "tandem/base/op_scope.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/activation_in_place.h"

namespace tandem::nn::functional {

Tensor leaky_relu(const Tensor& input, const LeakyReLUFuncOptions& options) {
  const OpScope op("leaky_relu");
  return options.inplace() ? tandem::leaky_relu_(input, options.negative_slope())
                           : tandem::leaky_relu(input, options.negative_slope());
}
Tensor elu(const Tensor& input, const ELUFuncOptions& options) {
  const OpScope op("elu");
  return options.inplace() ? tandem::elu_(input, options.alpha()) : tandem::elu(input, options.alpha());
}
Tensor celu(const Tensor& input, const CELUFuncOptions& options) {
  const OpScope op("celu");
  return options.inplace() ? tandem::celu_(input, options.alpha()) : tandem::celu(input, options.alpha());
}
Tensor selu(const Tensor& input, const SELUFuncOptions& options) {
  const OpScope op("selu");
  return options.inplace() ? tandem::selu_(input) : tandem::selu(input);
}
Tensor silu(const Tensor& input, const SiLUFuncOptions& options) {
  const OpScope op("silu");
  return options.inplace() ? tandem::silu_(input) : tandem::silu(input);
}
Tensor mish(const Tensor& input, const MishFuncOptions& options) {
  const OpScope op("mish");
  return options.inplace() ? tandem::mish_(input) : tandem::mish(input);
}
Tensor relu6(const Tensor& input, const ReLU6FuncOptions& options) {
  const OpScope op("relu6");
  return options.inplace() ? tandem::relu6_(input) : tandem::relu6(input);
}
Tensor rrelu(const Tensor& input, const RReLUFuncOptions& options) {
  const OpScope op("rrelu");
  return options.inplace() ? tandem::rrelu_(input, options.lower(), options.upper(), options.training())
                           : tandem::rrelu(input, options.lower(), options.upper(), options.training());
}
Tensor prelu(const Tensor& input, const Tensor& weight) { return tandem::prelu(input, weight); }
Tensor hardtanh(const Tensor& input, const HardtanhFuncOptions& options) {
  const OpScope op("hardtanh");
  return options.inplace() ? tandem::hardtanh_(input, options.min_val(), options.max_val())
                           : tandem::hardtanh(input, options.min_val(), options.max_val());
}
Tensor hardsigmoid(const Tensor& input, const HardsigmoidFuncOptions& options) {
  const OpScope op("hardsigmoid");
  return options.inplace() ? tandem::hardsigmoid_(input) : tandem::hardsigmoid(input);
}
Tensor hardswish(const Tensor& input, const HardswishFuncOptions& options) {
  const OpScope op("hardswish");
  return options.inplace() ? tandem::hardswish_(input) : tandem::hardswish(input);
}
Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& options) {
  return tandem::hardshrink(input, options.lambda());
}
Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& options) {
  return tandem::softshrink(input, options.lambda());
}
Tensor tanhshrink(const Tensor& input) { return tandem::tanhshrink(input); }
Tensor softsign(const Tensor& input) { return tandem::softsign(input); }
Tensor logsigmoid(const Tensor& input) { return tandem::logsigmoid(input); }
Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options) {
  return tandem::softplus(input, options.beta(), options.threshold());
}
Tensor threshold(const Tensor& input, const ThresholdFuncOptions& options) {
  const OpScope op("threshold");
  return options.inplace() ? tandem::threshold_(input, options.threshold(), options.value())
                           : tandem::threshold(input, options.threshold(), options.value());
}
Tensor glu(const Tensor& input, const GLUFuncOptions& options) { return tandem::glu(input, options.dim()); }
Tensor softmin(const Tensor& input, const SoftminFuncOptions& options) {
  return tandem::softmin(input, options.dim(), options.dtype());
}
Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& options) {
  return tandem::gumbel_softmax(logits, options.tau(), options.hard(), options.dim());
}

}  // namespace tandem::nn::functional
