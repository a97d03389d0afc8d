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
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
