#pragma once
// Options of CosineSimilarity and PairwiseDistance.
#include <cstdint>

#include "tandem/base/arg.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `CosineSimilarityOptions().dim(0)`
struct CosineSimilarityOptions {
  TANDEM_ARG(int64_t, dim) = 1;
  TANDEM_ARG(double, eps) = 1e-8;
};
/// `PairwiseDistanceOptions().p(1).keepdim(true)`
struct PairwiseDistanceOptions {
  TANDEM_ARG(double, p) = 2.0;
  TANDEM_ARG(double, eps) = 1e-6;
  TANDEM_ARG(bool, keepdim) = false;
};

namespace functional {
using CosineSimilarityFuncOptions = CosineSimilarityOptions;
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
