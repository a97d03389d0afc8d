#include "tandem/nn/modules/dropout.h"

#include "src/nn/checks-inl.h"
#include "src/nn/text-inl.h"
#include "tandem/nn/functional.h"

namespace tandem::nn {

DropoutImpl::DropoutImpl(const DropoutOptions& o) : options(o) { reset(); }

void DropoutImpl::reset() {
  const OpScope op("Dropout");
  check_probability("p", options.p());
}

Tensor DropoutImpl::forward(const Tensor& input) {
  return functional::dropout(
      input, functional::DropoutFuncOptions().p(options.p()).training(is_training()).inplace(options.inplace()));
}

void DropoutImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::Dropout(p={}, inplace={})", options.p(), options.inplace());
}

}  // namespace tandem::nn
