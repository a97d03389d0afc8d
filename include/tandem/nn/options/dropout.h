#pragma once
// Options of Dropout.
#include "tandem/base/arg.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `DropoutOptions(0.2)`: the probability with which an element is zeroed.
struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  TANDEM_ARG(double, p);
  TANDEM_ARG(bool, inplace) = false;
};
using Dropout1dOptions = DropoutOptions;
using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
using FeatureAlphaDropoutOptions = DropoutOptions;

namespace functional {
/// `DropoutFuncOptions().p(0.2).training(is_training())`
struct DropoutFuncOptions {
  TANDEM_ARG(double, p) = 0.5;
  TANDEM_ARG(bool, training) = true;
  TANDEM_ARG(bool, inplace) = false;
};
using Dropout1dFuncOptions = DropoutFuncOptions;
using Dropout2dFuncOptions = DropoutFuncOptions;
using Dropout3dFuncOptions = DropoutFuncOptions;
/// `AlphaDropoutFuncOptions().training(is_training())`
struct AlphaDropoutFuncOptions {
  TANDEM_ARG(double, p) = 0.5;
  TANDEM_ARG(bool, training) = false;
  TANDEM_ARG(bool, inplace) = false;
};
using FeatureAlphaDropoutFuncOptions = AlphaDropoutFuncOptions;
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
