#pragma once
// Options of the activations.
#include <optional>
#include <string>

#include "tandem/base/arg.h"
#include "tandem/base/dtype.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `ReLUOptions().inplace(true)`
struct ReLUOptions {
  ReLUOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);
};

/// `GELUOptions().approximate("tanh")`
struct GELUOptions {
  TANDEM_ARG(std::string, approximate) = "none";
};

/// `SoftmaxOptions(1)`: the dimension along which the results sum to 1.
struct SoftmaxOptions {
  SoftmaxOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);
};
using LogSoftmaxOptions = SoftmaxOptions;
using SoftminOptions = SoftmaxOptions;

/// `LeakyReLUOptions().negative_slope(0.2)`
struct LeakyReLUOptions {
  TANDEM_ARG(double, negative_slope) = 1e-2;
  TANDEM_ARG(bool, inplace) = false;
};
/// `ELUOptions().alpha(0.5)`
struct ELUOptions {
  TANDEM_ARG(double, alpha) = 1.0;
  TANDEM_ARG(bool, inplace) = false;
};
using CELUOptions = ELUOptions;
/// `SELUOptions().inplace(true)`
struct SELUOptions {
  SELUOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);
};
using SiLUOptions = SELUOptions;
using MishOptions = SELUOptions;
using ReLU6Options = SELUOptions;
using HardswishOptions = SELUOptions;
using HardsigmoidOptions = SELUOptions;
/// `PReLUOptions().num_parameters(64)`: one slope for all channels, or one for each.
struct PReLUOptions {
  TANDEM_ARG(int64_t, num_parameters) = 1;
  TANDEM_ARG(double, init) = 0.25;  ///< the initial slopes
};
/// `RReLUOptions().lower(0.1).upper(0.3)`
struct RReLUOptions {
  TANDEM_ARG(double, lower) = 1.0 / 8.0;
  TANDEM_ARG(double, upper) = 1.0 / 3.0;
  TANDEM_ARG(bool, inplace) = false;
};
/// `HardtanhOptions().min_val(-2).max_val(2)`
struct HardtanhOptions {
  TANDEM_ARG(double, min_val) = -1.0;
  TANDEM_ARG(double, max_val) = 1.0;
  TANDEM_ARG(bool, inplace) = false;
};
/// `HardshrinkOptions(0.25)`
struct HardshrinkOptions {
  HardshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  TANDEM_ARG(double, lambda);
};
using SoftshrinkOptions = HardshrinkOptions;
/// `SoftplusOptions().beta(0.5).threshold(3)`
struct SoftplusOptions {
  TANDEM_ARG(double, beta) = 1.0;
  TANDEM_ARG(double, threshold) = 20.0;
};
/// `ThresholdOptions(0.1, 20).inplace(true)`
struct ThresholdOptions {
  ThresholdOptions(double threshold, double value) : threshold_(threshold), value_(value) {}
  TANDEM_ARG(double, threshold);
  TANDEM_ARG(double, value);
  TANDEM_ARG(bool, inplace) = false;
};
/// `GLUOptions(1)`: the dimension that is halved.
struct GLUOptions {
  GLUOptions(int64_t dim = -1) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);
};

namespace functional {
using ReLUFuncOptions = ReLUOptions;
using GELUFuncOptions = GELUOptions;

/// `SoftmaxFuncOptions(1).dtype(kFloat)`
struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);
  /// The dtype of the computation and the result; by default the input's.
  TANDEM_ARG(std::optional<DType>, dtype) = std::nullopt;
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;

using LeakyReLUFuncOptions = LeakyReLUOptions;
using ELUFuncOptions = ELUOptions;
using CELUFuncOptions = CELUOptions;
using SELUFuncOptions = SELUOptions;
using SiLUFuncOptions = SiLUOptions;
using MishFuncOptions = MishOptions;
using ReLU6FuncOptions = ReLU6Options;
using HardswishFuncOptions = HardswishOptions;
using HardsigmoidFuncOptions = HardsigmoidOptions;
using HardtanhFuncOptions = HardtanhOptions;
using HardshrinkFuncOptions = HardshrinkOptions;
using SoftshrinkFuncOptions = SoftshrinkOptions;
using SoftplusFuncOptions = SoftplusOptions;
using ThresholdFuncOptions = ThresholdOptions;
using GLUFuncOptions = GLUOptions;
using SoftminFuncOptions = SoftmaxFuncOptions;

/// `RReLUFuncOptions().training(true)`
struct RReLUFuncOptions {
  TANDEM_ARG(double, lower) = 1.0 / 8.0;
  TANDEM_ARG(double, upper) = 1.0 / 3.0;
  TANDEM_ARG(bool, training) = false;
  TANDEM_ARG(bool, inplace) = false;
};
/// `GumbelSoftmaxFuncOptions().hard(true).dim(-1)`
struct GumbelSoftmaxFuncOptions {
  TANDEM_ARG(double, tau) = 1.0;
  TANDEM_ARG(bool, hard) = false;
  TANDEM_ARG(int64_t, dim) = -1;
};
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
