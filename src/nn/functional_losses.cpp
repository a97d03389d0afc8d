// nn::functional: the losses of regression, of distributions, with margins, and ctc_loss.
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/ops.h"

namespace tandem::nn::functional {

Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& o) {
  return tandem::l1_loss(input, target, o.reduction());
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& o) {
  return tandem::smooth_l1_loss(input, target, o.reduction(), o.beta().value_or(1));
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& o, double beta) {
  const OpScope op("smooth_l1_loss");
  TANDEM_CHECK(!o.beta(), StateError, "beta is given twice: {} in the options, and {} as an argument; give it once",
               *o.beta(), beta);
  return tandem::smooth_l1_loss(input, target, o.reduction(), beta);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& o) {
  return tandem::huber_loss(input, target, o.reduction(), o.delta());
}

Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& o) {
  const OpScope op("kl_div");
  const Tensor y = tandem::kl_div(input, target, o.reduction().each, o.log_target());
  return o.reduction().batch_mean && input.dim() > 0 ? div(y, input.size(0)) : y;
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNLLLossFuncOptions& o) {
  return tandem::poisson_nll_loss(input, target, o.log_input(), o.full(), o.eps(), o.reduction());
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                         const GaussianNLLLossFuncOptions& o) {
  return tandem::gaussian_nll_loss(input, target, var, o.full(), o.eps(), o.reduction());
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, const HingeEmbeddingLossFuncOptions& o) {
  return tandem::hinge_embedding_loss(input, target, o.margin(), o.reduction());
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const SoftMarginLossFuncOptions& o) {
  return tandem::soft_margin_loss(input, target, o.reduction());
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultilabelSoftMarginLossFuncOptions& o) {
  return tandem::multilabel_soft_margin_loss(input, target, o.weight(), o.reduction());
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, const MultilabelMarginLossFuncOptions& o) {
  return tandem::multilabel_margin_loss(input, target, o.reduction());
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const MultiMarginLossFuncOptions& o) {
  return tandem::multi_margin_loss(input, target, o.p(), o.margin(), o.weight(), o.reduction());
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingLossFuncOptions& o) {
  return tandem::margin_ranking_loss(input1, input2, target, o.margin(), o.reduction());
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& o) {
  return tandem::cosine_embedding_loss(input1, input2, target, o.margin(), o.reduction());
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginLossFuncOptions& o) {
  return tandem::triplet_margin_loss(anchor, positive, negative, o.margin(), o.p(), o.eps(), o.swap(), o.reduction());
}

Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& o) {
  return tandem::triplet_margin_with_distance_loss(anchor, positive, negative,
                                                   o.distance_function().value_or(DistanceFunction()), o.margin(),
                                                   o.swap(), o.reduction());
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossFuncOptions& o) {
  return tandem::ctc_loss(log_probs, targets, input_lengths, target_lengths, o.blank(), o.reduction(),
                          o.zero_infinity());
}

}  // namespace tandem::nn::functional
