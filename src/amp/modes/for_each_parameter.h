#pragma once
#include "tandem/optim/optimizer.h"

namespace tandem::amp {

/// Calls visit(parameter) for the parameters of all groups, in order. Unlike parameters(), does not copy the list.
template <class Visit>
void for_each_parameter(const optim::Optimizer& optimizer, const Visit& visit) {
  for (const auto& group : optimizer.param_groups()) {
    for (const Tensor& p : group.params()) visit(p);
  }
}

}  // namespace tandem::amp
