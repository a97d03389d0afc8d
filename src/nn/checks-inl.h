#pragma once
// Option checks shared by modules.
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/loss.h"

namespace tandem::nn {

inline void check_probability(const char* option, double value) {
  TANDEM_CHECK(value >= 0 && value <= 1, StateError, "{} = {}; it must be in [0, 1]", option, value);
}

/// The weight of a loss is optional.
inline void check_weight(const char* option, const Tensor& weight) {
  if (weight.defined()) checks::floating(option, weight);
}

/// One weight per class.
inline void check_class_weight(const Tensor& weight) {
  check_weight("weight", weight);
  TANDEM_CHECK(!weight.defined() || weight.dim() == 1, ShapeError, "weight is {}, but must be [classes]",
               checks::show(weight));
}

}  // namespace tandem::nn
