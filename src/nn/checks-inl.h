#pragma once
// Option checks shared by modules. `module` is the prefix of the message.
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/loss.h"

namespace tandem::nn {

inline void check_probability(const char* module, const char* option, double value) {
  TANDEM_CHECK(value >= 0 && value <= 1, StateError, "{}: {} = {}; it must be in [0, 1]", module, option, value);
}

inline void check_reduction(const char* module, LossReduction reduction) {
  TANDEM_CHECK(reduction <= LossReduction::Sum, StateError, "{}: reduction = {}; it must be kNone, kMean or kSum",
               module, static_cast<int>(reduction));
}

/// The weight of a loss is optional.
inline void check_weight(const char* module, const char* option, const Tensor& weight) {
  if (weight.defined()) checks::floating(module, option, weight);
}

/// One weight per class.
inline void check_class_weight(const char* module, const Tensor& weight) {
  check_weight(module, "weight", weight);
  TANDEM_CHECK(!weight.defined() || weight.dim() == 1, ShapeError, "{}: weight is {}, but must be [classes]", module,
               checks::show(weight));
}

}  // namespace tandem::nn
