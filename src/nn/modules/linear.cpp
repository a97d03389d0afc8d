#include "tandem/nn/modules/linear.h"

#include <cmath>

#include "src/nn/define-inl.h"
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/init.h"
#include "tandem/ops/rearrange.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {

LinearImpl::LinearImpl(const LinearOptions& o) : options(o) { reset(); }

LinearImpl::LinearImpl(int64_t in_features, int64_t out_features)
    : LinearImpl(LinearOptions(in_features, out_features)) {}

void LinearImpl::reset() {
  const OpScope op("Linear");
  TANDEM_CHECK(options.in_features() >= 0 && options.out_features() >= 0, StateError,
               "in_features = {}, out_features = {}; both must be at least 0", options.in_features(),
               options.out_features());
  const Tensor w = empty({options.out_features(), options.in_features()});
  const Tensor b = options.bias() ? empty({options.out_features()}) : Tensor();
  parameters_.clear();
  register_parameter(weight, "weight", w);
  register_parameter(bias, "bias", b);
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

BilinearImpl::BilinearImpl(const BilinearOptions& o) : options(o) { reset(); }

BilinearImpl::BilinearImpl(int64_t in1_features, int64_t in2_features, int64_t out_features)
    : BilinearImpl(BilinearOptions(in1_features, in2_features, out_features)) {}

void BilinearImpl::reset() {
  const OpScope op("Bilinear");
  TANDEM_CHECK(options.in1_features() >= 1 && options.in2_features() >= 1 && options.out_features() >= 1, StateError,
               "in1_features = {}, in2_features = {}, out_features = {}; all must be at least 1",
               options.in1_features(), options.in2_features(), options.out_features());
  const Tensor w = empty({options.out_features(), options.in1_features(), options.in2_features()});
  const Tensor b = options.bias() ? empty({options.out_features()}) : Tensor();
  parameters_.clear();
  register_parameter(weight, "weight", w);
  register_parameter(bias, "bias", b);
  reset_parameters();
}

void BilinearImpl::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(options.in1_features()));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

Tensor BilinearImpl::forward(const Tensor& input1, const Tensor& input2) {
  return functional::bilinear(input1, input2, weight, bias);
}

void BilinearImpl::pretty_print(std::ostream& stream) const {
  Description(stream, "Bilinear")
      .field("in1_features", options.in1_features())
      .field("in2_features", options.in2_features())
      .field("out_features", options.out_features())
      .field("bias", options.bias());
}

TANDEM_DEFINE_MODULE(Unflatten, tandem::unflatten(input, options.dim(), options.sizes()),
                     .field("dim", options.dim()).field("unflattened_size", options.sizes()),
                     TANDEM_CHECK(!options.sizes().empty(), StateError, "sizes are empty; give at least one"))

Tensor FlattenImpl::forward(const Tensor& input) {
  return tandem::flatten(input, options.start_dim(), options.end_dim());
}

void FlattenImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::Flatten(start_dim={}, end_dim={})", options.start_dim(), options.end_dim());
}

void IdentityImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Identity()"; }

}  // namespace tandem::nn
