#pragma once
// Options of the losses. reduction: kMean, kSum or kNone.
#include <optional>

#include "tandem/base/arg.h"
#include "tandem/nn/enum.h"
#include "tandem/ops/margin_loss.h"
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

/// `L1LossOptions(kSum)`
struct L1LossOptions {
  L1LossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}
  TANDEM_ARG(LossReduction, reduction);
};

/// `SmoothL1LossOptions().beta(0.5)`
struct SmoothL1LossOptions {
  SmoothL1LossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}
  TANDEM_ARG(LossReduction, reduction);
  /// The difference at which the loss becomes linear; 1 unless given.
  TANDEM_ARG(std::optional<double>, beta);
};

/// `HuberLossOptions().delta(0.5)`
struct HuberLossOptions {
  HuberLossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}
  TANDEM_ARG(LossReduction, reduction);
  /// The difference at which the loss becomes linear.
  TANDEM_ARG(double, delta) = 1;
};

/// The reduction of kl_div: also kBatchMean.
struct KLDivReduction {
  KLDivReduction(LossReduction reduction) : each(reduction) {}
  KLDivReduction(BatchMean) : each(kSum), batch_mean(true) {}
  LossReduction each;       ///< of the elements
  bool batch_mean = false;  ///< then divided by the first size
};

/// `KLDivLossOptions(kBatchMean).log_target(true)`
struct KLDivLossOptions {
  KLDivLossOptions(KLDivReduction reduction = kMean) : reduction_(reduction) {}
  KLDivLossOptions(LossReduction reduction) : reduction_(reduction) {}
  KLDivLossOptions(BatchMean reduction) : reduction_(reduction) {}
  TANDEM_ARG(KLDivReduction, reduction);
  /// Whether the target holds log-probabilities.
  TANDEM_ARG(bool, log_target) = false;
};

/// `PoissonNLLLossOptions().log_input(false)`
struct PoissonNLLLossOptions {
  /// Whether the input is the logarithm of the rate.
  TANDEM_ARG(bool, log_input) = true;
  /// Whether to add Stirling's term.
  TANDEM_ARG(bool, full) = false;
  /// Added to the rate before its logarithm.
  TANDEM_ARG(double, eps) = 1e-8;
  TANDEM_ARG(LossReduction, reduction) = kMean;
};

/// `GaussianNLLLossOptions().full(true)`. Not in libtorch; as torch.nn.GaussianNLLLoss.
struct GaussianNLLLossOptions {
  /// Whether to add the constant term.
  TANDEM_ARG(bool, full) = false;
  /// The smallest variance.
  TANDEM_ARG(double, eps) = 1e-6;
  TANDEM_ARG(LossReduction, reduction) = kMean;
};

/// `HingeEmbeddingLossOptions().margin(4)`
struct HingeEmbeddingLossOptions {
  TANDEM_ARG(double, margin) = 1;
  TANDEM_ARG(LossReduction, reduction) = kMean;
};

/// `SoftMarginLossOptions(kNone)`
struct SoftMarginLossOptions {
  SoftMarginLossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}
  TANDEM_ARG(LossReduction, reduction);
};

/// `MultiLabelSoftMarginLossOptions().reduction(kSum)`
struct MultiLabelSoftMarginLossOptions {
  /// A factor for each class.
  TANDEM_ARG(Tensor, weight);
  TANDEM_ARG(LossReduction, reduction) = kMean;
};

/// `MultiLabelMarginLossOptions(kNone)`
struct MultiLabelMarginLossOptions {
  MultiLabelMarginLossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}
  TANDEM_ARG(LossReduction, reduction);
};

/// `MultiMarginLossOptions().p(2)`
struct MultiMarginLossOptions {
  /// 1 or 2.
  TANDEM_ARG(int64_t, p) = 1;
  TANDEM_ARG(double, margin) = 1;
  /// [C]: a factor for each class.
  TANDEM_ARG(Tensor, weight);
  TANDEM_ARG(LossReduction, reduction) = kMean;
};

/// `MarginRankingLossOptions().margin(0.5)`
struct MarginRankingLossOptions {
  TANDEM_ARG(double, margin) = 0;
  TANDEM_ARG(LossReduction, reduction) = kMean;
};

/// `CosineEmbeddingLossOptions().margin(0.5)`
struct CosineEmbeddingLossOptions {
  TANDEM_ARG(double, margin) = 0;
  TANDEM_ARG(LossReduction, reduction) = kMean;
};

/// `TripletMarginLossOptions().margin(3).p(1)`
struct TripletMarginLossOptions {
  TANDEM_ARG(double, margin) = 1;
  /// The norm of the distance.
  TANDEM_ARG(double, p) = 2;
  /// Added to the differences.
  TANDEM_ARG(double, eps) = 1e-6;
  /// Whether to use the distance between positive and negative if it is smaller.
  TANDEM_ARG(bool, swap) = false;
  TANDEM_ARG(LossReduction, reduction) = kMean;
};

/// `TripletMarginWithDistanceLossOptions().distance_function(f)`
struct TripletMarginWithDistanceLossOptions {
  using distance_function_t = DistanceFunction;
  /// The Euclidean distance unless given.
  TANDEM_ARG(std::optional<distance_function_t>, distance_function);
  TANDEM_ARG(double, margin) = 1;
  TANDEM_ARG(bool, swap) = false;
  TANDEM_ARG(LossReduction, reduction) = kMean;
};

/// `CTCLossOptions().blank(42).zero_infinity(true)`
struct CTCLossOptions {
  TANDEM_ARG(int64_t, blank) = 0;
  TANDEM_ARG(LossReduction, reduction) = kMean;
  /// Whether infinite losses and their gradients become 0.
  TANDEM_ARG(bool, zero_infinity) = false;
};

namespace functional {
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using MSELossFuncOptions = MSELossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
using L1LossFuncOptions = L1LossOptions;
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
using HuberLossFuncOptions = HuberLossOptions;
using KLDivFuncOptions = KLDivLossOptions;
using PoissonNLLLossFuncOptions = PoissonNLLLossOptions;
using GaussianNLLLossFuncOptions = GaussianNLLLossOptions;
using HingeEmbeddingLossFuncOptions = HingeEmbeddingLossOptions;
using SoftMarginLossFuncOptions = SoftMarginLossOptions;
using MultilabelSoftMarginLossFuncOptions = MultiLabelSoftMarginLossOptions;
using MultilabelMarginLossFuncOptions = MultiLabelMarginLossOptions;
using MultiMarginLossFuncOptions = MultiMarginLossOptions;
using MarginRankingLossFuncOptions = MarginRankingLossOptions;
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
using TripletMarginLossFuncOptions = TripletMarginLossOptions;
using TripletMarginWithDistanceLossFuncOptions = TripletMarginWithDistanceLossOptions;
using CTCLossFuncOptions = CTCLossOptions;
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
