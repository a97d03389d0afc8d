#pragma once
// Options of the losses. reduction: kMean, kSum or kNone.
#include "tandem/base/arg.h"
#include "tandem/nn/enum.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `CrossEntropyLossOptions().label_smoothing(0.1)`
struct CrossEntropyLossOptions {
  /// [C]: a factor for each class.
  TANDEM_ARG(Tensor, weight);
  /// The target value whose entries are ignored.
  TANDEM_ARG(int64_t, ignore_index) = -100;
  TANDEM_ARG(LossReduction, reduction) = kMean;
  /// The share of the target that is distributed evenly over all classes, in [0, 1].
  TANDEM_ARG(double, label_smoothing) = 0;
};

/// `NLLLossOptions().ignore_index(-1)`
struct NLLLossOptions {
  TANDEM_ARG(Tensor, weight);
  TANDEM_ARG(int64_t, ignore_index) = -100;
  TANDEM_ARG(LossReduction, reduction) = kMean;
};

/// `MSELossOptions(kSum)`
struct MSELossOptions {
  MSELossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}
  TANDEM_ARG(LossReduction, reduction);
};

/// `BCELossOptions().reduction(kSum)`
struct BCELossOptions {
  /// A factor for each element, broadcast.
  TANDEM_ARG(Tensor, weight);
  TANDEM_ARG(LossReduction, reduction) = kMean;
};

/// `BCEWithLogitsLossOptions().pos_weight(w)`
struct BCEWithLogitsLossOptions {
  /// A factor for each element, broadcast.
  TANDEM_ARG(Tensor, weight);
  TANDEM_ARG(LossReduction, reduction) = kMean;
  /// A factor for positive targets, broadcast.
  TANDEM_ARG(Tensor, pos_weight);
};

namespace functional {
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using MSELossFuncOptions = MSELossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
