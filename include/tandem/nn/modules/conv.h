#pragma once
// Conv2d.
#include "tandem/nn/module.h"
#include "tandem/nn/options/conv.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// 2-d convolution; [N, in, H, W] -> [N, out, OH, OW]. weight: [out, in / groups, KH, KW], bias: [out]; both are
/// initialised uniformly in +-1 / sqrt(in / groups KH KW). Throws StateError if groups does not divide both channel
/// counts, or a size is out of range.
class Conv2dImpl : public Cloneable<Conv2dImpl> {
 public:
  Conv2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : Conv2dImpl(Conv2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv2dImpl(Conv2dOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  Conv2dOptions options;
  Tensor weight;
  Tensor bias;  ///< undefined if the layer has none
};
TANDEM_MODULE(Conv2d);

}  // namespace tandem::nn
#pragma GCC visibility pop
