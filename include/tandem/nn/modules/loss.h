#pragma once
// Losses as modules. A weight in the options becomes a buffer, so that it moves with the module. The constructors throw
// StateError for invalid options, DTypeError for a weight that is not floating, and ShapeError for class weights of a
// rank other than 1.
#include "tandem/nn/module.h"
#include "tandem/nn/options/loss.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Base class of losses, including custom ones. Losses are modules but not layers: a process-wide dtype policy
/// (amp::set_global_dtype_policy) makes them compute in f32.
template <class Derived>
class LossModule : public Cloneable<Derived> {
 public:
  LossModule() { this->set_call_hook(default_loss_call_hook()); }
};

/// functional::cross_entropy
class CrossEntropyLossImpl : public LossModule<CrossEntropyLossImpl> {
 public:
  explicit CrossEntropyLossImpl(CrossEntropyLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  CrossEntropyLossOptions options;
  Tensor weight;
};
TANDEM_MODULE(CrossEntropyLoss);

/// functional::nll_loss
class NLLLossImpl : public LossModule<NLLLossImpl> {
 public:
  explicit NLLLossImpl(NLLLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  NLLLossOptions options;
  Tensor weight;
};
TANDEM_MODULE(NLLLoss);

/// functional::mse_loss
class MSELossImpl : public LossModule<MSELossImpl> {
 public:
  explicit MSELossImpl(MSELossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  MSELossOptions options;
};
TANDEM_MODULE(MSELoss);

/// functional::binary_cross_entropy
class BCELossImpl : public LossModule<BCELossImpl> {
 public:
  explicit BCELossImpl(BCELossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  BCELossOptions options;
  Tensor weight;
};
TANDEM_MODULE(BCELoss);

/// functional::binary_cross_entropy_with_logits
class BCEWithLogitsLossImpl : public LossModule<BCEWithLogitsLossImpl> {
 public:
  explicit BCEWithLogitsLossImpl(BCEWithLogitsLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  BCEWithLogitsLossOptions options;
  Tensor weight, pos_weight;
};
TANDEM_MODULE(BCEWithLogitsLoss);

/// functional::l1_loss
class L1LossImpl : public LossModule<L1LossImpl> {
 public:
  explicit L1LossImpl(L1LossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  L1LossOptions options;
};
TANDEM_MODULE(L1Loss);

/// functional::smooth_l1_loss
class SmoothL1LossImpl : public LossModule<SmoothL1LossImpl> {
 public:
  explicit SmoothL1LossImpl(SmoothL1LossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  SmoothL1LossOptions options;
};
TANDEM_MODULE(SmoothL1Loss);

/// functional::huber_loss
class HuberLossImpl : public LossModule<HuberLossImpl> {
 public:
  explicit HuberLossImpl(HuberLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  HuberLossOptions options;
};
TANDEM_MODULE(HuberLoss);

/// functional::kl_div
class KLDivLossImpl : public LossModule<KLDivLossImpl> {
 public:
  explicit KLDivLossImpl(KLDivLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  KLDivLossOptions options;
};
TANDEM_MODULE(KLDivLoss);

/// functional::poisson_nll_loss
class PoissonNLLLossImpl : public LossModule<PoissonNLLLossImpl> {
 public:
  explicit PoissonNLLLossImpl(PoissonNLLLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  PoissonNLLLossOptions options;
};
TANDEM_MODULE(PoissonNLLLoss);

/// functional::gaussian_nll_loss
class GaussianNLLLossImpl : public LossModule<GaussianNLLLossImpl> {
 public:
  explicit GaussianNLLLossImpl(GaussianNLLLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target, const Tensor& var);
  void pretty_print(std::ostream& stream) const override;

  GaussianNLLLossOptions options;
};
TANDEM_MODULE(GaussianNLLLoss);

/// functional::hinge_embedding_loss
class HingeEmbeddingLossImpl : public LossModule<HingeEmbeddingLossImpl> {
 public:
  explicit HingeEmbeddingLossImpl(HingeEmbeddingLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  HingeEmbeddingLossOptions options;
};
TANDEM_MODULE(HingeEmbeddingLoss);

/// functional::soft_margin_loss
class SoftMarginLossImpl : public LossModule<SoftMarginLossImpl> {
 public:
  explicit SoftMarginLossImpl(SoftMarginLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  SoftMarginLossOptions options;
};
TANDEM_MODULE(SoftMarginLoss);

/// functional::multilabel_soft_margin_loss
class MultiLabelSoftMarginLossImpl : public LossModule<MultiLabelSoftMarginLossImpl> {
 public:
  explicit MultiLabelSoftMarginLossImpl(MultiLabelSoftMarginLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  MultiLabelSoftMarginLossOptions options;
  Tensor weight;
};
TANDEM_MODULE(MultiLabelSoftMarginLoss);

/// functional::multilabel_margin_loss
class MultiLabelMarginLossImpl : public LossModule<MultiLabelMarginLossImpl> {
 public:
  explicit MultiLabelMarginLossImpl(MultiLabelMarginLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  MultiLabelMarginLossOptions options;
};
TANDEM_MODULE(MultiLabelMarginLoss);

/// functional::multi_margin_loss
class MultiMarginLossImpl : public LossModule<MultiMarginLossImpl> {
 public:
  explicit MultiMarginLossImpl(MultiMarginLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  MultiMarginLossOptions options;
  Tensor weight;
};
TANDEM_MODULE(MultiMarginLoss);

/// functional::margin_ranking_loss
class MarginRankingLossImpl : public LossModule<MarginRankingLossImpl> {
 public:
  explicit MarginRankingLossImpl(MarginRankingLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  MarginRankingLossOptions options;
};
TANDEM_MODULE(MarginRankingLoss);

/// functional::cosine_embedding_loss
class CosineEmbeddingLossImpl : public LossModule<CosineEmbeddingLossImpl> {
 public:
  explicit CosineEmbeddingLossImpl(CosineEmbeddingLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  CosineEmbeddingLossOptions options;
};
TANDEM_MODULE(CosineEmbeddingLoss);

/// functional::triplet_margin_loss
class TripletMarginLossImpl : public LossModule<TripletMarginLossImpl> {
 public:
  explicit TripletMarginLossImpl(TripletMarginLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative);
  void pretty_print(std::ostream& stream) const override;

  TripletMarginLossOptions options;
};
TANDEM_MODULE(TripletMarginLoss);

/// functional::triplet_margin_with_distance_loss
class TripletMarginWithDistanceLossImpl : public LossModule<TripletMarginWithDistanceLossImpl> {
 public:
  explicit TripletMarginWithDistanceLossImpl(TripletMarginWithDistanceLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative);
  void pretty_print(std::ostream& stream) const override;

  TripletMarginWithDistanceLossOptions options;
};
TANDEM_MODULE(TripletMarginWithDistanceLoss);

/// functional::ctc_loss
class CTCLossImpl : public LossModule<CTCLossImpl> {
 public:
  explicit CTCLossImpl(CTCLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                 const Tensor& target_lengths);
  void pretty_print(std::ostream& stream) const override;

  CTCLossOptions options;
};
TANDEM_MODULE(CTCLoss);

}  // namespace tandem::nn
#pragma GCC visibility pop
