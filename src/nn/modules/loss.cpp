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
  check_reduction(options.reduction());
  check_probability("label_smoothing", options.label_smoothing());
  buffers_.clear();
  weight = register_buffer("weight", options.weight());
}

Tensor CrossEntropyLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::cross_entropy(input, target, with_weight(options, weight));
}

void CrossEntropyLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::CrossEntropyLoss()"; }

NLLLossImpl::NLLLossImpl(NLLLossOptions o) : options(std::move(o)) { reset(); }

void NLLLossImpl::reset() {
  const OpScope op("NLLLoss");
  check_class_weight(options.weight());
  check_reduction(options.reduction());
  buffers_.clear();
  weight = register_buffer("weight", options.weight());
}

Tensor NLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::nll_loss(input, target, with_weight(options, weight));
}

void NLLLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::NLLLoss()"; }

MSELossImpl::MSELossImpl(MSELossOptions o) : options(o) { reset(); }

void MSELossImpl::reset() {
  const OpScope op("MSELoss");
  check_reduction(options.reduction());
}

Tensor MSELossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::mse_loss(input, target, options);
}

void MSELossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::MSELoss()"; }

BCELossImpl::BCELossImpl(BCELossOptions o) : options(std::move(o)) { reset(); }

void BCELossImpl::reset() {
  const OpScope op("BCELoss");
  check_weight("weight", options.weight());
  check_reduction(options.reduction());
  buffers_.clear();
  weight = register_buffer("weight", options.weight());
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
  check_reduction(options.reduction());
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
