#pragma once
// Options of the convolution layers and functions, for 1 to 3 dimensions.
#include "tandem/base/arg.h"
#include "tandem/nn/enum.h"
#include "tandem/nn/expanding_array.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Padding of a convolution: numbers, kValid (none) or kSame (the output has the input's size; needs stride 1).
template <size_t D>
class ConvPadding {
 public:
  ConvPadding(int64_t all) : sizes_(all) {}
  ConvPadding(std::initializer_list<int64_t> list) : sizes_(list) {}
  ConvPadding(const std::vector<int64_t>& list) : sizes_(list) {}
  ConvPadding(const ExpandingArray<D>& sizes) : sizes_(sizes) {}
  ConvPadding(PaddingMode mode) : sizes_(0), same_(mode == PaddingMode::Same) {}
  bool is_same() const { return same_; }
  const ExpandingArray<D>& sizes() const { return sizes_; }

 private:
  ExpandingArray<D> sizes_;
  bool same_ = false;
};

/// What the padding of a convolution contains: kZeros, kReflect, kReplicate or kCircular. Throws StateError for other
/// constants.
class ConvPaddingMode {
 public:
  ConvPaddingMode(GridPadding zeros);
  ConvPaddingMode(PadMode mode);
  /// kConstant for kZeros.
  PadMode mode() const { return mode_; }

 private:
  PadMode mode_ = kConstant;
};

/// `Conv2dOptions(1, 10, 5).stride(2)`
template <size_t D>
struct ConvOptions {
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TANDEM_ARG(int64_t, in_channels);
  TANDEM_ARG(int64_t, out_channels);
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;
  TANDEM_ARG(ConvPadding<D>, padding) = 0;
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(ConvPaddingMode, padding_mode) = kZeros;
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;

/// `ConvTranspose2dOptions(10, 1, 5).stride(2).output_padding(1)`
template <size_t D>
struct ConvTransposeOptions {
  ConvTransposeOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TANDEM_ARG(int64_t, in_channels);
  TANDEM_ARG(int64_t, out_channels);
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
  TANDEM_ARG(ExpandingArray<D>, output_padding) = 0;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
};
using ConvTranspose1dOptions = ConvTransposeOptions<1>;
using ConvTranspose2dOptions = ConvTransposeOptions<2>;
using ConvTranspose3dOptions = ConvTransposeOptions<3>;

namespace functional {
/// `Conv2dFuncOptions().bias(b).stride(2)`
template <size_t D>
struct ConvFuncOptions {
  TANDEM_ARG(Tensor, bias);
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;
  TANDEM_ARG(ConvPadding<D>, padding) = 0;
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  TANDEM_ARG(int64_t, groups) = 1;
};
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;
using Conv3dFuncOptions = ConvFuncOptions<3>;

/// `ConvTranspose2dFuncOptions().bias(b).stride(2).output_padding(1)`
template <size_t D>
struct ConvTransposeFuncOptions {
  TANDEM_ARG(Tensor, bias);
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
  TANDEM_ARG(ExpandingArray<D>, output_padding) = 0;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
};
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions<1>;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions<2>;
using ConvTranspose3dFuncOptions = ConvTransposeFuncOptions<3>;
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
