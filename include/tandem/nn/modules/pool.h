#pragma once
// Pooling layers; [N, C, H, W] or [C, H, W]. The constructors throw StateError for invalid options.
#include "tandem/nn/module.h"
#include "tandem/nn/options/pool.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Largest value of each window.
class MaxPool2dImpl : public Cloneable<MaxPool2dImpl> {
 public:
  MaxPool2dImpl(ExpandingArray<2> kernel_size) : MaxPool2dImpl(MaxPool2dOptions(kernel_size)) {}
  explicit MaxPool2dImpl(const MaxPool2dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  MaxPool2dOptions options;
};
TANDEM_MODULE(MaxPool2d);

/// Mean of each window.
class AvgPool2dImpl : public Cloneable<AvgPool2dImpl> {
 public:
  AvgPool2dImpl(ExpandingArray<2> kernel_size) : AvgPool2dImpl(AvgPool2dOptions(kernel_size)) {}
  explicit AvgPool2dImpl(const AvgPool2dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  AvgPool2dOptions options;
};
TANDEM_MODULE(AvgPool2d);

/// Means of windows that divide the input into parts; the output has a given size.
class AdaptiveAvgPool2dImpl : public Cloneable<AdaptiveAvgPool2dImpl> {
 public:
  AdaptiveAvgPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size)
      : AdaptiveAvgPool2dImpl(AdaptiveAvgPool2dOptions(output_size)) {}
  explicit AdaptiveAvgPool2dImpl(const AdaptiveAvgPool2dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  AdaptiveAvgPool2dOptions options;
};
TANDEM_MODULE(AdaptiveAvgPool2d);

}  // namespace tandem::nn
#pragma GCC visibility pop
