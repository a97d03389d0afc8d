#pragma once
// Options of AdaptiveLogSoftmaxWithLoss.
#include <cstdint>
#include <utility>
#include <vector>

#include "tandem/base/arg.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `AdaptiveLogSoftmaxWithLossOptions(64, 20000, {2000, 10000}).div_value(2)`
struct AdaptiveLogSoftmaxWithLossOptions {
  AdaptiveLogSoftmaxWithLossOptions(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs)
      : in_features_(in_features), n_classes_(n_classes), cutoffs_(std::move(cutoffs)) {}
  TANDEM_ARG(int64_t, in_features);
  TANDEM_ARG(int64_t, n_classes);
  /// The first class of each cluster of rarer classes, in ascending order.
  TANDEM_ARG(std::vector<int64_t>, cutoffs);
  /// Cluster i works with in_features / div_value^(i + 1) features.
  TANDEM_ARG(double, div_value) = 4;
  TANDEM_ARG(bool, head_bias) = false;
};

}  // namespace tandem::nn
#pragma GCC visibility pop
