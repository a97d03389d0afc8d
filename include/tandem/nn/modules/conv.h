#pragma once
// Convolution layers of 1 to 3 dimensions, and transposed ones.
#include "tandem/nn/module.h"
#include "tandem/nn/options/conv.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// What the convolution layers share. weight: [out, in / groups, K...], bias: [out]; both are initialised uniformly in
/// +-1 / sqrt(in / groups K...). Throws StateError if groups does not divide both channel counts, or a size is out of
/// range.
template <size_t D, class Derived>
class ConvNdImpl : public Cloneable<Derived> {
 public:
  explicit ConvNdImpl(ConvOptions<D> o);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  ConvOptions<D> options;
  Tensor weight;
  Tensor bias;  ///< undefined if the layer has none
};

/// What the transposed convolution layers share. weight: [in, out / groups, K...], bias: [out]; both are initialised
/// uniformly in +-1 / sqrt(out / groups K...). Throws like ConvNdImpl.
template <size_t D, class Derived>
class ConvTransposeNdImpl : public Cloneable<Derived> {
 public:
  explicit ConvTransposeNdImpl(ConvTransposeOptions<D> o);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  ConvTransposeOptions<D> options;
  Tensor weight;
  Tensor bias;  ///< undefined if the layer has none

 protected:
  /// The options' output_padding, or the one that gives the last D entries of output_size. Throws ShapeError if none
  /// gives them.
  ExpandingArray<D> output_padding(const Tensor& input, std::optional<IntArrayRef> output_size) const;
};

/// 1-d convolution; [N, in, L] -> [N, out, OL]. See ConvNdImpl.
class Conv1dImpl : public ConvNdImpl<1, Conv1dImpl> {
 public:
  Conv1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size);
  explicit Conv1dImpl(Conv1dOptions o);
  Tensor forward(const Tensor& input);
};
TANDEM_MODULE(Conv1d);

/// 2-d convolution; [N, in, H, W] -> [N, out, OH, OW]. See ConvNdImpl.
class Conv2dImpl : public ConvNdImpl<2, Conv2dImpl> {
 public:
  Conv2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size);
  explicit Conv2dImpl(Conv2dOptions o);
  Tensor forward(const Tensor& input);
};
TANDEM_MODULE(Conv2d);

/// 3-d convolution; [N, in, D, H, W] -> [N, out, OD, OH, OW]. See ConvNdImpl.
class Conv3dImpl : public ConvNdImpl<3, Conv3dImpl> {
 public:
  Conv3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size);
  explicit Conv3dImpl(Conv3dOptions o);
  Tensor forward(const Tensor& input);
};
TANDEM_MODULE(Conv3d);

/// Transposed 1-d convolution; [N, in, L] -> [N, out, OL]. See ConvTransposeNdImpl.
class ConvTranspose1dImpl : public ConvTransposeNdImpl<1, ConvTranspose1dImpl> {
 public:
  ConvTranspose1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size);
  explicit ConvTranspose1dImpl(ConvTranspose1dOptions o);
  Tensor forward(const Tensor& input);
  /// The result has the last 1 entries of output_size as its sizes, which the options' output_padding need not give.
  Tensor forward(const Tensor& input, std::optional<IntArrayRef> output_size);
};
TANDEM_MODULE(ConvTranspose1d);

/// Transposed 2-d convolution; [N, in, H, W] -> [N, out, OH, OW]. See ConvTransposeNdImpl.
class ConvTranspose2dImpl : public ConvTransposeNdImpl<2, ConvTranspose2dImpl> {
 public:
  ConvTranspose2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size);
  explicit ConvTranspose2dImpl(ConvTranspose2dOptions o);
  Tensor forward(const Tensor& input);
  /// The result has the last 2 entries of output_size as its sizes, which the options' output_padding need not give.
  Tensor forward(const Tensor& input, std::optional<IntArrayRef> output_size);
};
TANDEM_MODULE(ConvTranspose2d);

/// Transposed 3-d convolution; [N, in, D, H, W] -> [N, out, OD, OH, OW]. See ConvTransposeNdImpl.
class ConvTranspose3dImpl : public ConvTransposeNdImpl<3, ConvTranspose3dImpl> {
 public:
  ConvTranspose3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size);
  explicit ConvTranspose3dImpl(ConvTranspose3dOptions o);
  Tensor forward(const Tensor& input);
  /// The result has the last 3 entries of output_size as its sizes, which the options' output_padding need not give.
  Tensor forward(const Tensor& input, std::optional<IntArrayRef> output_size);
};
TANDEM_MODULE(ConvTranspose3d);

}  // namespace tandem::nn
#pragma GCC visibility pop
