#pragma once
// Options of Linear, Bilinear, Flatten and Unflatten.
#include <cstdint>
#include <vector>

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

/// `UnflattenOptions(1, {2, 3})`: the dimension, and the sizes that it is divided into.
struct UnflattenOptions {
  UnflattenOptions(int64_t dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  TANDEM_ARG(int64_t, dim);
  TANDEM_ARG(std::vector<int64_t>, sizes);
};

/// `BilinearOptions(3, 2, 4).bias(false)`
struct BilinearOptions {
  BilinearOptions(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : in1_features_(in1_features), in2_features_(in2_features), out_features_(out_features) {}
  TANDEM_ARG(int64_t, in1_features);
  TANDEM_ARG(int64_t, in2_features);
  TANDEM_ARG(int64_t, out_features);
  TANDEM_ARG(bool, bias) = true;
};

}  // namespace tandem::nn
#pragma GCC visibility pop
