#pragma once
// Options of padding.
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/nn/enum.h"
#include "tandem/nn/expanding_array.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Numbers of entries to add around D dimensions: left, right, top, bottom, front, back; negative ones remove entries.
template <size_t D>
struct PadOptions {
  PadOptions(ExpandingArray<D * 2> padding) : padding_(padding) {}
  TANDEM_ARG(ExpandingArray<D * 2>, padding);
};
using ReflectionPad1dOptions = PadOptions<1>;
using ReflectionPad2dOptions = PadOptions<2>;
using ReflectionPad3dOptions = PadOptions<3>;
using ReplicationPad1dOptions = PadOptions<1>;
using ReplicationPad2dOptions = PadOptions<2>;
using ReplicationPad3dOptions = PadOptions<3>;
using CircularPad1dOptions = PadOptions<1>;
using CircularPad2dOptions = PadOptions<2>;
using CircularPad3dOptions = PadOptions<3>;
using ZeroPad1dOptions = PadOptions<1>;
using ZeroPad2dOptions = PadOptions<2>;
using ZeroPad3dOptions = PadOptions<3>;

/// `ConstantPad2dOptions({3, 0, 2, 1}, 3.5)`
template <size_t D>
struct ConstantPadOptions {
  ConstantPadOptions(ExpandingArray<D * 2> padding, double value) : padding_(padding), value_(value) {}
  TANDEM_ARG(ExpandingArray<D * 2>, padding);
  TANDEM_ARG(double, value);
};
using ConstantPad1dOptions = ConstantPadOptions<1>;
using ConstantPad2dOptions = ConstantPadOptions<2>;
using ConstantPad3dOptions = ConstantPadOptions<3>;

namespace functional {

/// `PadFuncOptions({1, 2, 2, 1}).mode(kReflect)`: left, right, top, bottom, from the last dimension on.
struct PadFuncOptions {
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  TANDEM_ARG(std::vector<int64_t>, pad);
  /// kConstant, kReflect, kReplicate or kCircular.
  TANDEM_ARG(PadMode, mode) = kConstant;
  /// Only for kConstant.
  TANDEM_ARG(double, value) = 0;
};

}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
