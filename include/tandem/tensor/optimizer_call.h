#pragma once
// OptimizerCall: the argument of the slot `optimizer_step`.
#include <array>
#include <variant>
#include <vector>

#include "tandem/backend.h"
#include "tandem/math/optim_rules.h"

#pragma GCC visibility push(default)
namespace tandem {

/// A step by one rule for all elements.
struct OptimizerCall : OptimizerTensors {
  std::variant<math::RmsProp, math::Adagrad, math::Adadelta, math::Adamax, math::NAdam, math::RAdam, math::Lion,
               math::Lamb>
      rule;
  /// The states of the rule, numbered as in its comment; lists of absent ones are empty. Lamb's third one is temporary:
  /// the kernel makes it.
  std::array<std::vector<Tensor>, 3> states;
  std::vector<Tensor> steps;    ///< one f32 element each, incremented by the step; empty for Lion
  std::vector<Tensor> scalars;  ///< one f32 element each, updated by the step: NAdam's product of momenta
  double lr = 0;
  const double* captured_lr = nullptr;  ///< in a CUDA graph: device address of lr; null elsewhere
  bool maximize = false;
};

}  // namespace tandem
#pragma GCC visibility pop
