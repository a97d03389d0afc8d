#pragma once
// Options of Linear and Flatten.
#include <cstdint>

#include "tandem/base/arg.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `LinearOptions(784, 10).bias(false)`
struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features) : in_features_(in_features), out_features_(out_features) {}
  TANDEM_ARG(int64_t, in_features);
  TANDEM_ARG(int64_t, out_features);
  TANDEM_ARG(bool, bias) = true;
};

/// `FlattenOptions().start_dim(1)`
struct FlattenOptions {
  TANDEM_ARG(int64_t, start_dim) = 1;
  TANDEM_ARG(int64_t, end_dim) = -1;
};

}  // namespace tandem::nn
#pragma GCC visibility pop
