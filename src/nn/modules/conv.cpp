#include "tandem/nn/modules/conv.h"

#include <cmath>

#include "src/nn/text-inl.h"
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/init.h"
#include "tandem/ops/checks.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {

Conv2dImpl::Conv2dImpl(Conv2dOptions o) : options(std::move(o)) { reset(); }

void Conv2dImpl::reset() {
  const OpScope op("Conv2d");
  const int64_t in = options.in_channels(), out = options.out_channels(), groups = options.groups();
  const auto& kernel = *options.kernel_size();
  TANDEM_CHECK(in > 0 && out > 0, StateError, "in_channels = {}, out_channels = {}; both must be at least 1", in, out);
  checks::pair("kernel_size", options.kernel_size(), 1);
  checks::pair("stride", options.stride(), 1);
  checks::pair("padding", options.padding().sizes(), 0);
  checks::pair("dilation", options.dilation(), 1);
  TANDEM_CHECK(groups > 0 && in % groups == 0 && out % groups == 0, StateError,
               "groups = {} must divide in_channels = {} and out_channels = {}", groups, in, out);
  const auto& stride = *options.stride();
  TANDEM_CHECK(!options.padding().is_same() || (stride[0] == 1 && stride[1] == 1), StateError,
               "padding kSame with stride {}; it needs stride 1", to_string(options.stride()));
  const Tensor w = empty({out, in / groups, kernel[0], kernel[1]}), b = options.bias() ? empty({out}) : Tensor();
  parameters_.clear();
  weight = register_parameter("weight", w);
  bias = register_parameter("bias", b);
  reset_parameters();
}

void Conv2dImpl::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const double bound = 1 / std::sqrt(static_cast<double>(init::calculate_fan_in_and_fan_out(weight).in));
  init::uniform_(bias, -bound, bound);
}

Tensor Conv2dImpl::forward(const Tensor& input) {
  return functional::conv2d(input, weight,
                            functional::Conv2dFuncOptions()
                                .bias(bias)
                                .stride(options.stride())
                                .padding(options.padding())
                                .dilation(options.dilation())
                                .groups(options.groups()));
}

void Conv2dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::Conv2d({}, {}, kernel_size={}, stride={}", options.in_channels(), options.out_channels(),
        to_string(options.kernel_size()), to_string(options.stride()));
  if (options.padding().is_same()) {
    stream << ", padding='same'";
  } else if (!(options.padding().sizes() == ExpandingArray<2>(0))) {
    print(stream, ", padding={}", to_string(options.padding().sizes()));
  }
  if (!(options.dilation() == ExpandingArray<2>(1))) print(stream, ", dilation={}", to_string(options.dilation()));
  if (options.groups() != 1) print(stream, ", groups={}", options.groups());
  if (!options.bias()) stream << ", bias=false";
  stream << ")";
}

}  // namespace tandem::nn
