#pragma once
// Options of Conv2d and functional::conv2d.
#include "tandem/base/arg.h"
#include "tandem/nn/enum.h"
#include "tandem/nn/expanding_array.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Padding of a convolution: numbers, kValid (none) or kSame (the output has the input's size; needs stride 1).
class Conv2dPadding {
 public:
  Conv2dPadding(int64_t both) : sizes_(both) {}
  Conv2dPadding(std::initializer_list<int64_t> list) : sizes_(list) {}
  Conv2dPadding(const std::vector<int64_t>& list) : sizes_(list) {}
  Conv2dPadding(const ExpandingArray<2>& sizes) : sizes_(sizes) {}
  Conv2dPadding(PaddingMode mode) : sizes_(0), same_(mode == PaddingMode::Same) {}
  bool is_same() const { return same_; }
  const ExpandingArray<2>& sizes() const { return sizes_; }

 private:
  ExpandingArray<2> sizes_;
  bool same_ = false;
};

/// `Conv2dOptions(1, 10, 5).stride(2)`
struct Conv2dOptions {
  Conv2dOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TANDEM_ARG(int64_t, in_channels);
  TANDEM_ARG(int64_t, out_channels);
  TANDEM_ARG(ExpandingArray<2>, kernel_size);
  TANDEM_ARG(ExpandingArray<2>, stride) = 1;
  TANDEM_ARG(Conv2dPadding, padding) = 0;
  TANDEM_ARG(ExpandingArray<2>, dilation) = 1;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(bool, bias) = true;
};

namespace functional {
/// `Conv2dFuncOptions().bias(b).stride(2)`
struct Conv2dFuncOptions {
  TANDEM_ARG(Tensor, bias);
  TANDEM_ARG(ExpandingArray<2>, stride) = 1;
  TANDEM_ARG(Conv2dPadding, padding) = 0;
  TANDEM_ARG(ExpandingArray<2>, dilation) = 1;
  TANDEM_ARG(int64_t, groups) = 1;
};
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
