#pragma once
// Options of the pooling layers and functions.
#include <optional>

#include "tandem/base/arg.h"
#include "tandem/nn/expanding_array.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `MaxPool2dOptions(3).stride(2)`; the stride is the kernel's size unless given.
struct MaxPool2dOptions {
  MaxPool2dOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<2>, kernel_size);
  TANDEM_ARG(ExpandingArray<2>, stride);
  TANDEM_ARG(ExpandingArray<2>, padding) = 0;
  TANDEM_ARG(ExpandingArray<2>, dilation) = 1;
  TANDEM_ARG(bool, ceil_mode) = false;
};

/// `AvgPool2dOptions(3).padding(1).count_include_pad(false)`; the stride is the kernel's size unless given.
struct AvgPool2dOptions {
  AvgPool2dOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<2>, kernel_size);
  TANDEM_ARG(ExpandingArray<2>, stride);
  TANDEM_ARG(ExpandingArray<2>, padding) = 0;
  TANDEM_ARG(bool, ceil_mode) = false;
  TANDEM_ARG(bool, count_include_pad) = true;
  TANDEM_ARG(std::optional<int64_t>, divisor_override) = std::nullopt;
};

/// `AdaptiveAvgPool2dOptions({7, nullopt})`; nullopt keeps the input's size.
struct AdaptiveAvgPool2dOptions {
  AdaptiveAvgPool2dOptions(ExpandingArrayWithOptionalElem<2> output_size) : output_size_(output_size) {}
  TANDEM_ARG(ExpandingArrayWithOptionalElem<2>, output_size);
};

namespace functional {
using MaxPool2dFuncOptions = MaxPool2dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptiveAvgPool2dOptions;
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
