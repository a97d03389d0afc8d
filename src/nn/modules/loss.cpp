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
  check_class_weight("CrossEntropyLoss", options.weight());
  check_reduction("CrossEntropyLoss", options.reduction());
  check_probability("CrossEntropyLoss", "label_smoothing", options.label_smoothing());
  buffers_.clear();
  weight = register_buffer("weight", options.weight());
}

Tensor CrossEntropyLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::cross_entropy(input, target, with_weight(options, weight));
}

void CrossEntropyLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::CrossEntropyLoss()"; }

NLLLossImpl::NLLLossImpl(NLLLossOptions o) : options(std::move(o)) { reset(); }

void NLLLossImpl::reset() {
  check_class_weight("NLLLoss", options.weight());
  check_reduction("NLLLoss", options.reduction());
  buffers_.clear();
  weight = register_buffer("weight", options.weight());
}

Tensor NLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::nll_loss(input, target, with_weight(options, weight));
}

void NLLLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::NLLLoss()"; }

MSELossImpl::MSELossImpl(MSELossOptions o) : options(o) { reset(); }

void MSELossImpl::reset() { check_reduction("MSELoss", options.reduction()); }

Tensor MSELossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::mse_loss(input, target, options);
}

void MSELossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::MSELoss()"; }

BCELossImpl::BCELossImpl(BCELossOptions o) : options(std::move(o)) { reset(); }

void BCELossImpl::reset() {
  check_weight("BCELoss", "weight", options.weight());
  check_reduction("BCELoss", options.reduction());
  buffers_.clear();
  weight = register_buffer("weight", options.weight());
}

Tensor BCELossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::binary_cross_entropy(input, target, with_weight(options, weight));
}

void BCELossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::BCELoss()"; }

BCEWithLogitsLossImpl::BCEWithLogitsLossImpl(BCEWithLogitsLossOptions o) : options(std::move(o)) { reset(); }

void BCEWithLogitsLossImpl::reset() {
  check_weight("BCEWithLogitsLoss", "weight", options.weight());
  check_weight("BCEWithLogitsLoss", "pos_weight", options.pos_weight());
  check_reduction("BCEWithLogitsLoss", options.reduction());
  buffers_.clear();
  weight = register_buffer("weight", options.weight());
  pos_weight = register_buffer("pos_weight", options.pos_weight());
}

Tensor BCEWithLogitsLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::binary_cross_entropy_with_logits(input, target,
                                                      with_weight(options, weight).pos_weight(pos_weight));
}

void BCEWithLogitsLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::BCEWithLogitsLoss()"; }

}  // namespace tandem::nn
