#include "tandem/nn/modules/linear.h"

#include <cmath>

#include "src/nn/text-inl.h"
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/init.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {

LinearImpl::LinearImpl(const LinearOptions& o) : options(o) { reset(); }

void LinearImpl::reset() {
  const OpScope op("Linear");
  TANDEM_CHECK(options.in_features() >= 0 && options.out_features() >= 0, StateError,
               "in_features = {}, out_features = {}; both must be at least 0", options.in_features(),
               options.out_features());
  const Tensor w = empty({options.out_features(), options.in_features()});
  const Tensor b = options.bias() ? empty({options.out_features()}) : Tensor();
  parameters_.clear();
  weight = register_parameter("weight", w);
  bias = register_parameter("bias", b);
  reset_parameters();
}

void LinearImpl::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const double fan_in = static_cast<double>(options.in_features());
  const double bound = fan_in > 0 ? 1 / std::sqrt(fan_in) : 0;
  init::uniform_(bias, -bound, bound);
}

Tensor LinearImpl::forward(const Tensor& input) { return functional::linear(input, weight, bias); }

void LinearImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::Linear(in_features={}, out_features={}, bias={})", options.in_features(),
        options.out_features(), options.bias());
}

Tensor FlattenImpl::forward(const Tensor& input) {
  return tandem::flatten(input, options.start_dim(), options.end_dim());
}

void FlattenImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::Flatten(start_dim={}, end_dim={})", options.start_dim(), options.end_dim());
}

void IdentityImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Identity()"; }

}  // namespace tandem::nn
