#pragma once
// Linear, Bilinear, Flatten, Unflatten, Identity.
#include "tandem/nn/modules/options_module.h"
#include "tandem/nn/options/linear.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// y = x weight^T + bias; [..., in_features] -> [..., out_features]. weight: [out, in], bias: [out]; both are
/// initialised uniformly in +-1 / sqrt(in_features). Throws StateError for sizes below 0.
class LinearImpl : public Cloneable<LinearImpl> {
 public:
  LinearImpl(int64_t in_features, int64_t out_features);
  explicit LinearImpl(const LinearOptions& options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  LinearOptions options;
  Tensor weight;
  Tensor bias;  ///< undefined if the layer has none
};
TANDEM_MODULE(Linear);

/// y = x1 weight x2 + bias for each output feature; [..., in1_features] and [..., in2_features] -> [..., out_features].
/// weight: [out, in1, in2], bias: [out]; both are initialised uniformly in +-1 / sqrt(in1_features). Throws StateError
/// for sizes below 1.
class BilinearImpl : public Cloneable<BilinearImpl> {
 public:
  BilinearImpl(int64_t in1_features, int64_t in2_features, int64_t out_features);
  explicit BilinearImpl(const BilinearOptions& options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input1, const Tensor& input2);
  void pretty_print(std::ostream& stream) const override;

  BilinearOptions options;
  Tensor weight;
  Tensor bias;  ///< undefined if the layer has none
};
TANDEM_MODULE(Bilinear);

/// Divides a dimension into several.
TANDEM_OPTIONS_MODULE(Unflatten);

/// Merges the dimensions start_dim to end_dim into one.
class FlattenImpl : public Cloneable<FlattenImpl> {
 public:
  explicit FlattenImpl(const FlattenOptions& options_ = {}) : options(options_) {}
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  FlattenOptions options;
};
TANDEM_MODULE(Flatten);

/// y = x.
class IdentityImpl : public Cloneable<IdentityImpl> {
 public:
  void reset() override {}
  Tensor forward(const Tensor& input) { return input; }
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Identity);

}  // namespace tandem::nn
#pragma GCC visibility pop
