#pragma once
// Pooling layers of one and three dimensions, adaptive max pooling and power-average pooling. The constructors throw
// StateError for invalid options.
#include "tandem/nn/module.h"
#include "tandem/nn/options/pool.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// functional::max_pool1d
class MaxPool1dImpl : public Cloneable<MaxPool1dImpl> {
 public:
  MaxPool1dImpl(ExpandingArray<1> kernel_size) : MaxPool1dImpl(MaxPool1dOptions(kernel_size)) {}
  explicit MaxPool1dImpl(const MaxPool1dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  MaxPool1dOptions options;
};
TANDEM_MODULE(MaxPool1d);

/// functional::avg_pool1d
class AvgPool1dImpl : public Cloneable<AvgPool1dImpl> {
 public:
  AvgPool1dImpl(ExpandingArray<1> kernel_size) : AvgPool1dImpl(AvgPool1dOptions(kernel_size)) {}
  explicit AvgPool1dImpl(const AvgPool1dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  AvgPool1dOptions options;
};
TANDEM_MODULE(AvgPool1d);

/// functional::max_pool3d
class MaxPool3dImpl : public Cloneable<MaxPool3dImpl> {
 public:
  MaxPool3dImpl(ExpandingArray<3> kernel_size) : MaxPool3dImpl(MaxPool3dOptions(kernel_size)) {}
  explicit MaxPool3dImpl(const MaxPool3dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  MaxPool3dOptions options;
};
TANDEM_MODULE(MaxPool3d);

/// functional::avg_pool3d
class AvgPool3dImpl : public Cloneable<AvgPool3dImpl> {
 public:
  AvgPool3dImpl(ExpandingArray<3> kernel_size) : AvgPool3dImpl(AvgPool3dOptions(kernel_size)) {}
  explicit AvgPool3dImpl(const AvgPool3dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  AvgPool3dOptions options;
};
TANDEM_MODULE(AvgPool3d);

/// functional::adaptive_avg_pool1d
class AdaptiveAvgPool1dImpl : public Cloneable<AdaptiveAvgPool1dImpl> {
 public:
  AdaptiveAvgPool1dImpl(ExpandingArray<1> output_size) : AdaptiveAvgPool1dImpl(AdaptiveAvgPool1dOptions(output_size)) {}
  explicit AdaptiveAvgPool1dImpl(const AdaptiveAvgPool1dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  AdaptiveAvgPool1dOptions options;
};
TANDEM_MODULE(AdaptiveAvgPool1d);

/// functional::adaptive_avg_pool3d
class AdaptiveAvgPool3dImpl : public Cloneable<AdaptiveAvgPool3dImpl> {
 public:
  AdaptiveAvgPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size)
      : AdaptiveAvgPool3dImpl(AdaptiveAvgPool3dOptions(output_size)) {}
  explicit AdaptiveAvgPool3dImpl(const AdaptiveAvgPool3dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  AdaptiveAvgPool3dOptions options;
};
TANDEM_MODULE(AdaptiveAvgPool3d);

/// functional::adaptive_max_pool1d
class AdaptiveMaxPool1dImpl : public Cloneable<AdaptiveMaxPool1dImpl> {
 public:
  AdaptiveMaxPool1dImpl(ExpandingArray<1> output_size) : AdaptiveMaxPool1dImpl(AdaptiveMaxPool1dOptions(output_size)) {}
  explicit AdaptiveMaxPool1dImpl(const AdaptiveMaxPool1dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  AdaptiveMaxPool1dOptions options;
};
TANDEM_MODULE(AdaptiveMaxPool1d);

/// functional::adaptive_max_pool2d
class AdaptiveMaxPool2dImpl : public Cloneable<AdaptiveMaxPool2dImpl> {
 public:
  AdaptiveMaxPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size)
      : AdaptiveMaxPool2dImpl(AdaptiveMaxPool2dOptions(output_size)) {}
  explicit AdaptiveMaxPool2dImpl(const AdaptiveMaxPool2dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  AdaptiveMaxPool2dOptions options;
};
TANDEM_MODULE(AdaptiveMaxPool2d);

/// functional::adaptive_max_pool3d
class AdaptiveMaxPool3dImpl : public Cloneable<AdaptiveMaxPool3dImpl> {
 public:
  AdaptiveMaxPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size)
      : AdaptiveMaxPool3dImpl(AdaptiveMaxPool3dOptions(output_size)) {}
  explicit AdaptiveMaxPool3dImpl(const AdaptiveMaxPool3dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  AdaptiveMaxPool3dOptions options;
};
TANDEM_MODULE(AdaptiveMaxPool3d);

/// functional::lp_pool1d
class LPPool1dImpl : public Cloneable<LPPool1dImpl> {
 public:
  explicit LPPool1dImpl(const LPPool1dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  LPPool1dOptions options;
};
TANDEM_MODULE(LPPool1d);

/// functional::lp_pool2d
class LPPool2dImpl : public Cloneable<LPPool2dImpl> {
 public:
  explicit LPPool2dImpl(const LPPool2dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  LPPool2dOptions options;
};
TANDEM_MODULE(LPPool2d);

/// functional::lp_pool3d
class LPPool3dImpl : public Cloneable<LPPool3dImpl> {
 public:
  explicit LPPool3dImpl(const LPPool3dOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  LPPool3dOptions options;
};
TANDEM_MODULE(LPPool3d);

}  // namespace tandem::nn
#pragma GCC visibility pop
