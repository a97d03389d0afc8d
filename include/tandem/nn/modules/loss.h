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

}  // namespace tandem::nn
#pragma GCC visibility pop
