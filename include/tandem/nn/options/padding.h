#pragma once
// Options of padding.
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/nn/enum.h"

#pragma GCC visibility push(default)
namespace tandem::nn::functional {

/// `PadFuncOptions({1, 2, 2, 1}).mode(kReflect)`: left, right, top, bottom, from the last dimension on.
struct PadFuncOptions {
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  TANDEM_ARG(std::vector<int64_t>, pad);
  /// kConstant, kReflect, kReplicate or kCircular.
  TANDEM_ARG(PadMode, mode) = kConstant;
  /// Only for kConstant.
  TANDEM_ARG(double, value) = 0;
};

}  // namespace tandem::nn::functional
#pragma GCC visibility pop
