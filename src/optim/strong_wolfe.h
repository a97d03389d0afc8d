#pragma once
// A line search that ends at a point with the strong Wolfe conditions.
#include <cstdint>
#include <functional>

#include "tandem/tensor/tensor.h"

namespace tandem::optim {

/// A point of the line x + t d.
struct LinePoint {
  double t = 0;
  double loss = 0;
  Tensor gradient;   ///< of the loss at this point
  double slope = 0;  ///< product of gradient and direction
};

struct LineSearchResult {
  LinePoint point;
  int64_t evaluations = 0;
};

/// Searches from `start` (t = 0), with `first` as the first length. `size` is the largest element of the direction.
/// evaluate(t) returns the point at t; it is called at most max_evaluations + 1 times. Source: Nocedal and Wright,
/// "Numerical Optimization" (2006), algorithms 3.5 and 3.6, with the constants and bracketing of torch.optim.LBFGS.
LineSearchResult strong_wolfe(const LinePoint& start, double first, double size, double tolerance_change,
                              int64_t max_evaluations, const std::function<LinePoint(double t)>& evaluate);

}  // namespace tandem::optim
