#include "tandem/amp/modes/booster.h"

#include "tandem/base/check.h"

namespace tandem::amp {

Booster::Booster(std::string_view mixed_precision) {
  const OpScope op("Booster");
  mode_ = MixedPrecision::by_name(mixed_precision);
}

Booster::Booster(std::shared_ptr<MixedPrecision> mixed_precision) : mode_(std::move(mixed_precision)) {
  const OpScope op("Booster");
  TANDEM_CHECK(mode_, StateError, "the mode is null; pass a mode, or use the default constructor for f32");
}

void Booster::configure(nn::Module& model, optim::Optimizer& optimizer) {
  if (mode_) mode_->configure(model, optimizer);
}

void Booster::backward(const Tensor& loss, optim::Optimizer& optimizer, std::optional<bool> retain_graph) {
  if (mode_) {
    mode_->backward(loss, optimizer, retain_graph);
  } else {
    loss.backward({}, retain_graph);
  }
}

void Booster::unscale_(optim::Optimizer& optimizer) {
  if (mode_) mode_->unscale_(optimizer);
}

}  // namespace tandem::amp
