#pragma once
// Padding of the last one, two or three dimensions: functional::pad. Inputs have one or two dimensions more.
#include "tandem/nn/modules/options_module.h"
#include "tandem/nn/options/padding.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Mirror images at the borders.
TANDEM_OPTIONS_MODULE(ReflectionPad1d);
TANDEM_OPTIONS_MODULE(ReflectionPad2d);
TANDEM_OPTIONS_MODULE(ReflectionPad3d);
/// Repetitions of the border.
TANDEM_OPTIONS_MODULE(ReplicationPad1d);
TANDEM_OPTIONS_MODULE(ReplicationPad2d);
TANDEM_OPTIONS_MODULE(ReplicationPad3d);
/// Repetitions of the input.
TANDEM_OPTIONS_MODULE(CircularPad1d);
TANDEM_OPTIONS_MODULE(CircularPad2d);
TANDEM_OPTIONS_MODULE(CircularPad3d);
/// Zeros; also removes entries, for negative numbers.
TANDEM_OPTIONS_MODULE(ZeroPad1d);
TANDEM_OPTIONS_MODULE(ZeroPad2d);
TANDEM_OPTIONS_MODULE(ZeroPad3d);
/// A given value.
TANDEM_OPTIONS_MODULE(ConstantPad1d);
TANDEM_OPTIONS_MODULE(ConstantPad2d);
TANDEM_OPTIONS_MODULE(ConstantPad3d);

}  // namespace tandem::nn
#pragma GCC visibility pop
