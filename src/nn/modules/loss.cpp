#include "tandem/nn/modules/loss.h"

#include "src/nn/checks-inl.h"
#include "src/nn/text-inl.h"
#include "tandem/nn/functional.h"

namespace tandem::nn {
namespace {

/// The options with the module's current weights, which may have been moved.
template <class Options>
Options with_weight(Options options, const Tensor& weight) {
  options.weight(weight);
  return options;
}

}  // namespace

CrossEntropyLossImpl::CrossEntropyLossImpl(CrossEntropyLossOptions o) : options(std::move(o)) { reset(); }

void CrossEntropyLossImpl::reset() {
  const OpScope op("CrossEntropyLoss");
  check_class_weight(options.weight());
  checks::reduction(options.reduction());
  check_probability("label_smoothing", options.label_smoothing());
  buffers_.clear();
  register_buffer(weight, "weight", options.weight());
}

Tensor CrossEntropyLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::cross_entropy(input, target, with_weight(options, weight));
}

void CrossEntropyLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::CrossEntropyLoss()"; }

NLLLossImpl::NLLLossImpl(NLLLossOptions o) : options(std::move(o)) { reset(); }

void NLLLossImpl::reset() {
  const OpScope op("NLLLoss");
  check_class_weight(options.weight());
  checks::reduction(options.reduction());
  buffers_.clear();
  register_buffer(weight, "weight", options.weight());
}

Tensor NLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::nll_loss(input, target, with_weight(options, weight));
}

void NLLLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::NLLLoss()"; }

MSELossImpl::MSELossImpl(MSELossOptions o) : options(o) { reset(); }

void MSELossImpl::reset() {
  const OpScope op("MSELoss");
  checks::reduction(options.reduction());
}

Tensor MSELossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::mse_loss(input, target, options);
}

void MSELossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::MSELoss()"; }

BCELossImpl::BCELossImpl(BCELossOptions o) : options(std::move(o)) { reset(); }

void BCELossImpl::reset() {
  const OpScope op("BCELoss");
  check_weight("weight", options.weight());
  checks::reduction(options.reduction());
  buffers_.clear();
  register_buffer(weight, "weight", options.weight());
}

Tensor BCELossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::binary_cross_entropy(input, target, with_weight(options, weight));
}

void BCELossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::BCELoss()"; }

BCEWithLogitsLossImpl::BCEWithLogitsLossImpl(BCEWithLogitsLossOptions o) : options(std::move(o)) { reset(); }

void BCEWithLogitsLossImpl::reset() {
  const OpScope op("BCEWithLogitsLoss");
  check_weight("weight", options.weight());
  check_weight("pos_weight", options.pos_weight());
  checks::reduction(options.reduction());
  buffers_.clear();
  register_buffer(weight, "weight", options.weight());
  register_buffer(pos_weight, "pos_weight", options.pos_weight());
}

Tensor BCEWithLogitsLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::binary_cross_entropy_with_logits(input, target,
                                                      with_weight(options, weight).pos_weight(pos_weight));
}

void BCEWithLogitsLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::BCEWithLogitsLoss()"; }

L1LossImpl::L1LossImpl(L1LossOptions o) : options(std::move(o)) { reset(); }

void L1LossImpl::reset() {
  const OpScope op("L1Loss");
  checks::reduction(options.reduction());
}

Tensor L1LossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::l1_loss(input, target, options);
}

void L1LossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::L1Loss()"; }

SmoothL1LossImpl::SmoothL1LossImpl(SmoothL1LossOptions o) : options(std::move(o)) { reset(); }

void SmoothL1LossImpl::reset() {
  const OpScope op("SmoothL1Loss");
  checks::reduction(options.reduction());
  checks::not_negative("beta", options.beta().value_or(1));
}

Tensor SmoothL1LossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::smooth_l1_loss(input, target, options);
}

void SmoothL1LossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::SmoothL1Loss()"; }

HuberLossImpl::HuberLossImpl(HuberLossOptions o) : options(std::move(o)) { reset(); }

void HuberLossImpl::reset() {
  const OpScope op("HuberLoss");
  checks::reduction(options.reduction());
  TANDEM_CHECK(options.delta() > 0, StateError, "delta = {}, but must be positive", options.delta());
}

Tensor HuberLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::huber_loss(input, target, options);
}

void HuberLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::HuberLoss()"; }

KLDivLossImpl::KLDivLossImpl(KLDivLossOptions o) : options(std::move(o)) { reset(); }

void KLDivLossImpl::reset() {
  const OpScope op("KLDivLoss");
  checks::reduction(options.reduction().each);
}

Tensor KLDivLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::kl_div(input, target, options);
}

void KLDivLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::KLDivLoss()"; }

PoissonNLLLossImpl::PoissonNLLLossImpl(PoissonNLLLossOptions o) : options(std::move(o)) { reset(); }

void PoissonNLLLossImpl::reset() {
  const OpScope op("PoissonNLLLoss");
  checks::reduction(options.reduction());
  checks::not_negative("eps", options.eps());
}

Tensor PoissonNLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::poisson_nll_loss(input, target, options);
}

void PoissonNLLLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::PoissonNLLLoss()"; }

GaussianNLLLossImpl::GaussianNLLLossImpl(GaussianNLLLossOptions o) : options(std::move(o)) { reset(); }

void GaussianNLLLossImpl::reset() {
  const OpScope op("GaussianNLLLoss");
  checks::reduction(options.reduction());
  TANDEM_CHECK(options.eps() > 0, StateError, "eps = {}, but must be positive", options.eps());
}

Tensor GaussianNLLLossImpl::forward(const Tensor& input, const Tensor& target, const Tensor& var) {
  return functional::gaussian_nll_loss(input, target, var, options);
}

void GaussianNLLLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::GaussianNLLLoss()"; }

HingeEmbeddingLossImpl::HingeEmbeddingLossImpl(HingeEmbeddingLossOptions o) : options(std::move(o)) { reset(); }

void HingeEmbeddingLossImpl::reset() {
  const OpScope op("HingeEmbeddingLoss");
  checks::reduction(options.reduction());
}

Tensor HingeEmbeddingLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::hinge_embedding_loss(input, target, options);
}

void HingeEmbeddingLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::HingeEmbeddingLoss()"; }

SoftMarginLossImpl::SoftMarginLossImpl(SoftMarginLossOptions o) : options(std::move(o)) { reset(); }

void SoftMarginLossImpl::reset() {
  const OpScope op("SoftMarginLoss");
  checks::reduction(options.reduction());
}

Tensor SoftMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::soft_margin_loss(input, target, options);
}

void SoftMarginLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::SoftMarginLoss()"; }

MultiLabelSoftMarginLossImpl::MultiLabelSoftMarginLossImpl(MultiLabelSoftMarginLossOptions o) : options(std::move(o)) {
  reset();
}

void MultiLabelSoftMarginLossImpl::reset() {
  const OpScope op("MultiLabelSoftMarginLoss");
  check_weight("weight", options.weight());
  checks::reduction(options.reduction());
  buffers_.clear();
  register_buffer(weight, "weight", options.weight());
}

Tensor MultiLabelSoftMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::multilabel_soft_margin_loss(input, target, with_weight(options, weight));
}

void MultiLabelSoftMarginLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::MultiLabelSoftMarginLoss()";
}

MultiLabelMarginLossImpl::MultiLabelMarginLossImpl(MultiLabelMarginLossOptions o) : options(std::move(o)) { reset(); }

void MultiLabelMarginLossImpl::reset() {
  const OpScope op("MultiLabelMarginLoss");
  checks::reduction(options.reduction());
}

Tensor MultiLabelMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::multilabel_margin_loss(input, target, options);
}

void MultiLabelMarginLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::MultiLabelMarginLoss()";
}

MultiMarginLossImpl::MultiMarginLossImpl(MultiMarginLossOptions o) : options(std::move(o)) { reset(); }

void MultiMarginLossImpl::reset() {
  const OpScope op("MultiMarginLoss");
  check_class_weight(options.weight());
  checks::reduction(options.reduction());
  TANDEM_CHECK(options.p() == 1 || options.p() == 2, StateError, "p = {}, but must be 1 or 2", options.p());
  buffers_.clear();
  register_buffer(weight, "weight", options.weight());
}

Tensor MultiMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::multi_margin_loss(input, target, with_weight(options, weight));
}

void MultiMarginLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::MultiMarginLoss()"; }

MarginRankingLossImpl::MarginRankingLossImpl(MarginRankingLossOptions o) : options(std::move(o)) { reset(); }

void MarginRankingLossImpl::reset() {
  const OpScope op("MarginRankingLoss");
  checks::reduction(options.reduction());
}

Tensor MarginRankingLossImpl::forward(const Tensor& input1, const Tensor& input2, const Tensor& target) {
  return functional::margin_ranking_loss(input1, input2, target, options);
}

void MarginRankingLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::MarginRankingLoss()"; }

CosineEmbeddingLossImpl::CosineEmbeddingLossImpl(CosineEmbeddingLossOptions o) : options(std::move(o)) { reset(); }

void CosineEmbeddingLossImpl::reset() {
  const OpScope op("CosineEmbeddingLoss");
  checks::reduction(options.reduction());
}

Tensor CosineEmbeddingLossImpl::forward(const Tensor& input1, const Tensor& input2, const Tensor& target) {
  return functional::cosine_embedding_loss(input1, input2, target, options);
}

void CosineEmbeddingLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::CosineEmbeddingLoss()";
}

TripletMarginLossImpl::TripletMarginLossImpl(TripletMarginLossOptions o) : options(std::move(o)) { reset(); }

void TripletMarginLossImpl::reset() {
  const OpScope op("TripletMarginLoss");
  checks::reduction(options.reduction());
  TANDEM_CHECK(options.p() > 0, StateError, "p = {}, but must be positive", options.p());
}

Tensor TripletMarginLossImpl::forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative) {
  return functional::triplet_margin_loss(anchor, positive, negative, options);
}

void TripletMarginLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::TripletMarginLoss()"; }

TripletMarginWithDistanceLossImpl::TripletMarginWithDistanceLossImpl(TripletMarginWithDistanceLossOptions o)
    : options(std::move(o)) {
  reset();
}

void TripletMarginWithDistanceLossImpl::reset() {
  const OpScope op("TripletMarginWithDistanceLoss");
  checks::reduction(options.reduction());
}

Tensor TripletMarginWithDistanceLossImpl::forward(const Tensor& anchor, const Tensor& positive,
                                                  const Tensor& negative) {
  return functional::triplet_margin_with_distance_loss(anchor, positive, negative, options);
}

void TripletMarginWithDistanceLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::TripletMarginWithDistanceLoss()";
}

CTCLossImpl::CTCLossImpl(CTCLossOptions o) : options(std::move(o)) { reset(); }

void CTCLossImpl::reset() {
  const OpScope op("CTCLoss");
  checks::reduction(options.reduction());
  TANDEM_CHECK(options.blank() >= 0, StateError, "blank = {}, but must be at least 0", options.blank());
}

Tensor CTCLossImpl::forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                            const Tensor& target_lengths) {
  return functional::ctc_loss(log_probs, targets, input_lengths, target_lengths, options);
}

void CTCLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::CTCLoss()"; }

}  // namespace tandem::nn
