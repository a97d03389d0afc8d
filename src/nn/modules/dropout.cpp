#include "tandem/nn/modules/dropout.h"

#include "src/nn/text-inl.h"
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"

namespace tandem::nn {

DropoutImpl::DropoutImpl(const DropoutOptions& o) : options(o) { reset(); }

void DropoutImpl::reset() {
  TANDEM_CHECK(options.p() >= 0 && options.p() <= 1, StateError,
               "Dropout: p = {} is no probability; it must be in [0, 1]", options.p());
}

Tensor DropoutImpl::forward(const Tensor& input) {
  return functional::dropout(
      input, functional::DropoutFuncOptions().p(options.p()).training(is_training()).inplace(options.inplace()));
}

void DropoutImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::Dropout(p={}, inplace={})", options.p(), options.inplace());
}

}  // namespace tandem::nn
