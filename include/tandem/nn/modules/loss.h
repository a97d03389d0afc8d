#pragma once
// Losses as modules. A weight in the options becomes a buffer, so that it moves with the module. Options outside their
// domains throw StateError at construction; a weight that is not floating DTypeError, and class weights of a rank other
// than 1 ShapeError.
#include "tandem/nn/module.h"
#include "tandem/nn/options/loss.h"

namespace tandem::nn {

/// functional::cross_entropy
class CrossEntropyLossImpl : public Cloneable<CrossEntropyLossImpl> {
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
class NLLLossImpl : public Cloneable<NLLLossImpl> {
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
class MSELossImpl : public Cloneable<MSELossImpl> {
 public:
  explicit MSELossImpl(MSELossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  MSELossOptions options;
};
TANDEM_MODULE(MSELoss);

/// functional::binary_cross_entropy
class BCELossImpl : public Cloneable<BCELossImpl> {
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
class BCEWithLogitsLossImpl : public Cloneable<BCEWithLogitsLossImpl> {
 public:
  explicit BCEWithLogitsLossImpl(BCEWithLogitsLossOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;

  BCEWithLogitsLossOptions options;
  Tensor weight, pos_weight;
};
TANDEM_MODULE(BCEWithLogitsLoss);

}  // namespace tandem::nn
