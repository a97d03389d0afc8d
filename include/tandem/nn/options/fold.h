#pragma once
// Options of Unfold, Fold and their functional forms.
#include "tandem/base/arg.h"
#include "tandem/nn/expanding_array.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `FoldOptions({4, 5}, {2, 2}).stride(2)`: the sizes of the images and of the blocks.
struct FoldOptions {
  FoldOptions(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
      : output_size_(output_size), kernel_size_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<2>, output_size);
  TANDEM_ARG(ExpandingArray<2>, kernel_size);
  TANDEM_ARG(ExpandingArray<2>, dilation) = 1;
  TANDEM_ARG(ExpandingArray<2>, padding) = 0;
  TANDEM_ARG(ExpandingArray<2>, stride) = 1;
};

/// `UnfoldOptions({2, 3}).padding(1)`: the sizes of the blocks.
struct UnfoldOptions {
  UnfoldOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<2>, kernel_size);
  TANDEM_ARG(ExpandingArray<2>, dilation) = 1;
  TANDEM_ARG(ExpandingArray<2>, padding) = 0;
  TANDEM_ARG(ExpandingArray<2>, stride) = 1;
};

namespace functional {
using FoldFuncOptions = FoldOptions;
using UnfoldFuncOptions = UnfoldOptions;
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
