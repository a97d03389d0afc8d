#pragma once
// Options of the pooling layers and functions.
#include <optional>

#include "tandem/base/arg.h"
#include "tandem/nn/expanding_array.h"
#include "tandem/tensor/tensor.h"

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

/// `MaxPool1dOptions(3).stride(2)`; the stride is the kernel's size unless given.
struct MaxPool1dOptions {
  MaxPool1dOptions(ExpandingArray<1> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<1>, kernel_size);
  TANDEM_ARG(ExpandingArray<1>, stride);
  TANDEM_ARG(ExpandingArray<1>, padding) = 0;
  TANDEM_ARG(ExpandingArray<1>, dilation) = 1;
  TANDEM_ARG(bool, ceil_mode) = false;
};

/// `AvgPool1dOptions(3).stride(2)`; the stride is the kernel's size unless given.
struct AvgPool1dOptions {
  AvgPool1dOptions(ExpandingArray<1> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<1>, kernel_size);
  TANDEM_ARG(ExpandingArray<1>, stride);
  TANDEM_ARG(ExpandingArray<1>, padding) = 0;
  TANDEM_ARG(bool, ceil_mode) = false;
  TANDEM_ARG(bool, count_include_pad) = true;
};

/// `MaxPool3dOptions(3).stride(2)`; the stride is the kernel's size unless given.
struct MaxPool3dOptions {
  MaxPool3dOptions(ExpandingArray<3> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<3>, kernel_size);
  TANDEM_ARG(ExpandingArray<3>, stride);
  TANDEM_ARG(ExpandingArray<3>, padding) = 0;
  TANDEM_ARG(ExpandingArray<3>, dilation) = 1;
  TANDEM_ARG(bool, ceil_mode) = false;
};

/// `AvgPool3dOptions(3).stride(2)`; the stride is the kernel's size unless given.
struct AvgPool3dOptions {
  AvgPool3dOptions(ExpandingArray<3> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<3>, kernel_size);
  TANDEM_ARG(ExpandingArray<3>, stride);
  TANDEM_ARG(ExpandingArray<3>, padding) = 0;
  TANDEM_ARG(bool, ceil_mode) = false;
  TANDEM_ARG(bool, count_include_pad) = true;
  TANDEM_ARG(std::optional<int64_t>, divisor_override) = std::nullopt;
};

/// `AdaptiveAvgPool1dOptions(7)`.
struct AdaptiveAvgPool1dOptions {
  AdaptiveAvgPool1dOptions(ExpandingArray<1> output_size) : output_size_(output_size) {}
  TANDEM_ARG(ExpandingArray<1>, output_size);
};

/// `AdaptiveAvgPool3dOptions({7, 7, nullopt})`; nullopt keeps the input's size.
struct AdaptiveAvgPool3dOptions {
  AdaptiveAvgPool3dOptions(ExpandingArrayWithOptionalElem<3> output_size) : output_size_(output_size) {}
  TANDEM_ARG(ExpandingArrayWithOptionalElem<3>, output_size);
};

/// `AdaptiveMaxPool1dOptions(7)`.
struct AdaptiveMaxPool1dOptions {
  AdaptiveMaxPool1dOptions(ExpandingArray<1> output_size) : output_size_(output_size) {}
  TANDEM_ARG(ExpandingArray<1>, output_size);
};

/// `AdaptiveMaxPool2dOptions({7, nullopt})`; nullopt keeps the input's size.
struct AdaptiveMaxPool2dOptions {
  AdaptiveMaxPool2dOptions(ExpandingArrayWithOptionalElem<2> output_size) : output_size_(output_size) {}
  TANDEM_ARG(ExpandingArrayWithOptionalElem<2>, output_size);
};

/// `AdaptiveMaxPool3dOptions({7, 7, nullopt})`; nullopt keeps the input's size.
struct AdaptiveMaxPool3dOptions {
  AdaptiveMaxPool3dOptions(ExpandingArrayWithOptionalElem<3> output_size) : output_size_(output_size) {}
  TANDEM_ARG(ExpandingArrayWithOptionalElem<3>, output_size);
};

/// `LPPool1dOptions(2, 3)`: the norm and the kernel's size, which is the stride unless given.
struct LPPool1dOptions {
  LPPool1dOptions(double norm_type, ExpandingArray<1> kernel_size)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(double, norm_type);
  TANDEM_ARG(ExpandingArray<1>, kernel_size);
  TANDEM_ARG(ExpandingArray<1>, stride);
  TANDEM_ARG(bool, ceil_mode) = false;
};

/// `LPPool2dOptions(2, 3)`: the norm and the kernel's size, which is the stride unless given.
struct LPPool2dOptions {
  LPPool2dOptions(double norm_type, ExpandingArray<2> kernel_size)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(double, norm_type);
  TANDEM_ARG(ExpandingArray<2>, kernel_size);
  TANDEM_ARG(ExpandingArray<2>, stride);
  TANDEM_ARG(bool, ceil_mode) = false;
};

/// `LPPool3dOptions(2, 3)`: the norm and the kernel's size, which is the stride unless given.
struct LPPool3dOptions {
  LPPool3dOptions(double norm_type, ExpandingArray<3> kernel_size)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(double, norm_type);
  TANDEM_ARG(ExpandingArray<3>, kernel_size);
  TANDEM_ARG(ExpandingArray<3>, stride);
  TANDEM_ARG(bool, ceil_mode) = false;
};

/// `MaxUnpool2dOptions(3).stride(2)`; the stride is the kernel's size unless given.
template <size_t D>
struct MaxUnpoolOptions {
  MaxUnpoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride);
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
};
using MaxUnpool1dOptions = MaxUnpoolOptions<1>;
using MaxUnpool2dOptions = MaxUnpoolOptions<2>;
using MaxUnpool3dOptions = MaxUnpoolOptions<3>;

/// `FractionalMaxPool2dOptions(3).output_size(5)`: give output_size, or output_ratio, the quotients of the sizes.
template <size_t D>
struct FractionalMaxPoolOptions {
  FractionalMaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size) {}
  using ExpandingArrayDouble = ExpandingArray<D, double>;
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(std::optional<ExpandingArray<D>>, output_size) = std::nullopt;
  TANDEM_ARG(std::optional<ExpandingArrayDouble>, output_ratio) = std::nullopt;
  /// [N, C, D] in [0, 1), of the input's dtype; drawn in each call if undefined.
  TANDEM_ARG(Tensor, _random_samples);
};
using FractionalMaxPool2dOptions = FractionalMaxPoolOptions<2>;
using FractionalMaxPool3dOptions = FractionalMaxPoolOptions<3>;

namespace functional {
/// `MaxUnpool2dFuncOptions(3).stride(2).output_size(sizes)`
template <size_t D>
struct MaxUnpoolFuncOptions {
  MaxUnpoolFuncOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride);
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
  /// The sizes of the result, or its last D; by default the smallest that pooling gives the input's sizes for.
  TANDEM_ARG(std::optional<std::vector<int64_t>>, output_size) = std::nullopt;
};
using MaxUnpool1dFuncOptions = MaxUnpoolFuncOptions<1>;
using MaxUnpool2dFuncOptions = MaxUnpoolFuncOptions<2>;
using MaxUnpool3dFuncOptions = MaxUnpoolFuncOptions<3>;
using FractionalMaxPool2dFuncOptions = FractionalMaxPool2dOptions;
using FractionalMaxPool3dFuncOptions = FractionalMaxPool3dOptions;

using MaxPool2dFuncOptions = MaxPool2dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptiveAvgPool2dOptions;
using MaxPool1dFuncOptions = MaxPool1dOptions;
using AvgPool1dFuncOptions = AvgPool1dOptions;
using MaxPool3dFuncOptions = MaxPool3dOptions;
using AvgPool3dFuncOptions = AvgPool3dOptions;
using AdaptiveAvgPool1dFuncOptions = AdaptiveAvgPool1dOptions;
using AdaptiveAvgPool3dFuncOptions = AdaptiveAvgPool3dOptions;
using AdaptiveMaxPool1dFuncOptions = AdaptiveMaxPool1dOptions;
using AdaptiveMaxPool2dFuncOptions = AdaptiveMaxPool2dOptions;
using AdaptiveMaxPool3dFuncOptions = AdaptiveMaxPool3dOptions;
using LPPool1dFuncOptions = LPPool1dOptions;
using LPPool2dFuncOptions = LPPool2dOptions;
using LPPool3dFuncOptions = LPPool3dOptions;
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
