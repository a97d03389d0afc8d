#include "tandem/nn/modules/activation.h"

#include "src/nn/define-inl.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/nn/init.h"
#include "tandem/ops/checks.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {

TANDEM_DEFINE_PLAIN_MODULE(Sigmoid, functional::sigmoid(input), )
TANDEM_DEFINE_PLAIN_MODULE(Tanh, functional::tanh(input), )
TANDEM_DEFINE_PLAIN_MODULE(LogSigmoid, functional::logsigmoid(input), )
TANDEM_DEFINE_PLAIN_MODULE(Softsign, functional::softsign(input), )
TANDEM_DEFINE_PLAIN_MODULE(Tanhshrink, functional::tanhshrink(input), )

TANDEM_DEFINE_UNCHECKED_MODULE(ReLU, functional::relu(input, options), .inplace(options.inplace()))
TANDEM_DEFINE_UNCHECKED_MODULE(SELU, functional::selu(input, options), .inplace(options.inplace()))
TANDEM_DEFINE_UNCHECKED_MODULE(SiLU, functional::silu(input, options), .inplace(options.inplace()))
TANDEM_DEFINE_UNCHECKED_MODULE(Mish, functional::mish(input, options), .inplace(options.inplace()))
TANDEM_DEFINE_UNCHECKED_MODULE(ReLU6, functional::relu6(input, options), .inplace(options.inplace()))
TANDEM_DEFINE_UNCHECKED_MODULE(Hardsigmoid, functional::hardsigmoid(input, options), .inplace(options.inplace()))
TANDEM_DEFINE_UNCHECKED_MODULE(Hardswish, functional::hardswish(input, options), .inplace(options.inplace()))
TANDEM_DEFINE_UNCHECKED_MODULE(ELU, functional::elu(input, options),
                               .field("alpha", options.alpha()).inplace(options.inplace()))
TANDEM_DEFINE_UNCHECKED_MODULE(CELU, functional::celu(input, options),
                               .field("alpha", options.alpha()).inplace(options.inplace()))
TANDEM_DEFINE_UNCHECKED_MODULE(LeakyReLU, functional::leaky_relu(input, options),
                               .field("negative_slope", options.negative_slope()).inplace(options.inplace()))
TANDEM_DEFINE_UNCHECKED_MODULE(
    Hardtanh, functional::hardtanh(input, options),
    .field("min_val", options.min_val()).field("max_val", options.max_val()).inplace(options.inplace()))
TANDEM_DEFINE_UNCHECKED_MODULE(
    Threshold, functional::threshold(input, options),
    .field("threshold", options.threshold()).field("value", options.value()).inplace(options.inplace()))
TANDEM_DEFINE_UNCHECKED_MODULE(Softplus, functional::softplus(input, options),
                               .field("beta", options.beta()).field("threshold", options.threshold()))
TANDEM_DEFINE_UNCHECKED_MODULE(Hardshrink, functional::hardshrink(input, options), .value(options.lambda()))
TANDEM_DEFINE_UNCHECKED_MODULE(Softshrink, functional::softshrink(input, options), .value(options.lambda()))
TANDEM_DEFINE_UNCHECKED_MODULE(GLU, functional::glu(input, options), .field("dim", options.dim()))
TANDEM_DEFINE_UNCHECKED_MODULE(Softmax, functional::softmax(input, options.dim()), .field("dim", options.dim()))
TANDEM_DEFINE_UNCHECKED_MODULE(Softmin, functional::softmin(input, options.dim()), .field("dim", options.dim()))
TANDEM_DEFINE_UNCHECKED_MODULE(LogSoftmax, functional::log_softmax(input, options.dim()), .field("dim", options.dim()))
TANDEM_DEFINE_UNCHECKED_MODULE(
    RReLU,
    functional::rrelu(input, functional::RReLUFuncOptions()
                                 .lower(options.lower())
                                 .upper(options.upper())
                                 .training(is_training())
                                 .inplace(options.inplace())),
    .field("lower", options.lower()).field("upper", options.upper()).inplace(options.inplace()))

void GELUImpl::reset() {
  const OpScope op("GELU");
  TANDEM_CHECK(options.approximate() == "none" || options.approximate() == "tanh", StateError,
               "approximate = \"{}\"; it must be \"none\" or \"tanh\"", options.approximate());
}

Tensor GELUImpl::forward(const Tensor& input) { return functional::gelu(input, options); }

void GELUImpl::pretty_print(std::ostream& stream) const {
  Description text(stream, "GELU");
  if (options.approximate() != "none") text.field("approximate", options.approximate());
}

Tensor Softmax2dImpl::forward(const Tensor& input) {
  const OpScope op("Softmax2d");
  checks::defined("the input", input);
  TANDEM_CHECK(input.dim() == 3 || input.dim() == 4, ShapeError,
               "the input is {}; it must be [N, C, H, W] or [C, H, W]", checks::show(input));
  return functional::softmax(input, -3);
}

void Softmax2dImpl::pretty_print(std::ostream& stream) const { Description(stream, "Softmax2d"); }

PReLUImpl::PReLUImpl(const PReLUOptions& o) : options(o) { reset(); }

void PReLUImpl::reset() {
  const OpScope op("PReLU");
  TANDEM_CHECK(options.num_parameters() >= 1, StateError, "num_parameters = {}; it must be at least 1",
               options.num_parameters());
  const Tensor slopes = full({options.num_parameters()}, options.init());
  parameters_.clear();
  register_parameter(weight, "weight", slopes);
}

Tensor PReLUImpl::forward(const Tensor& input) { return functional::prelu(input, weight); }

void PReLUImpl::pretty_print(std::ostream& stream) const {
  Description(stream, "PReLU").field("num_parameters", options.num_parameters());
}

}  // namespace tandem::nn
