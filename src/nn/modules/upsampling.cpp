#include "tandem/nn/modules/upsampling.h"

#include "tandem/base/check.h"
#include "tandem/nn/functional.h"

namespace tandem::nn {

UpsampleImpl::UpsampleImpl(UpsampleOptions o) : options(std::move(o)) { reset(); }

void UpsampleImpl::reset() {
  const OpScope op("Upsample");
  TANDEM_CHECK(!options.size() || !options.scale_factor(), StateError,
               "both size and scale_factor are given; give one of them");
}

Tensor UpsampleImpl::forward(const Tensor& input) {
  return functional::interpolate(input, functional::InterpolateFuncOptions()
                                            .size(options.size())
                                            .scale_factor(options.scale_factor())
                                            .mode(options.mode())
                                            .align_corners(options.align_corners()));
}

void UpsampleImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Upsample()"; }

}  // namespace tandem::nn
