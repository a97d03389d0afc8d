#include "tandem/nn/modules/activation.h"

#include "src/nn/text-inl.h"
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"

namespace tandem::nn {

Tensor ReLUImpl::forward(const Tensor& input) { return functional::relu(input, options); }

void ReLUImpl::pretty_print(std::ostream& stream) const {
  stream << (options.inplace() ? "tandem::nn::ReLU(inplace)" : "tandem::nn::ReLU()");
}

GELUImpl::GELUImpl(GELUOptions o) : options(std::move(o)) { reset(); }

void GELUImpl::reset() {
  const OpScope op("GELU");
  TANDEM_CHECK(options.approximate() == "none" || options.approximate() == "tanh", StateError,
               "approximate = \"{}\"; it must be \"none\" or \"tanh\"", options.approximate());
}

Tensor GELUImpl::forward(const Tensor& input) { return functional::gelu(input, options); }

void GELUImpl::pretty_print(std::ostream& stream) const {
  if (options.approximate() == "none") {
    stream << "tandem::nn::GELU()";
  } else {
    print(stream, "tandem::nn::GELU(approximate='{}')", options.approximate());
  }
}

Tensor SigmoidImpl::forward(const Tensor& input) { return functional::sigmoid(input); }

void SigmoidImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Sigmoid()"; }

Tensor TanhImpl::forward(const Tensor& input) { return functional::tanh(input); }

void TanhImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Tanh()"; }

Tensor SoftmaxImpl::forward(const Tensor& input) { return functional::softmax(input, options.dim()); }

void SoftmaxImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::Softmax(dim={})", options.dim());
}

Tensor LogSoftmaxImpl::forward(const Tensor& input) { return functional::log_softmax(input, options.dim()); }

void LogSoftmaxImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::LogSoftmax(dim={})", options.dim());
}

}  // namespace tandem::nn
