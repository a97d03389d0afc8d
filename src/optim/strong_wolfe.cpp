#include "src/optim/strong_wolfe.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tandem::optim {
namespace {

constexpr double kSufficientDecrease = 1e-4, kCurvature = 0.9;

/// The minimum, within [low, high], of the cubic with the losses and slopes of two points; the middle if it has none.
double cubic_minimum(const LinePoint& p, const LinePoint& q, double low, double high) {
  const LinePoint &a = p.t <= q.t ? p : q, &b = p.t <= q.t ? q : p;
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t);
  const double square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double minimum = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2));
  return std::min(std::max(minimum, low), high);
}

}  // namespace

LineSearchResult strong_wolfe(const LinePoint& start, double first, double size, double tolerance_change,
                              int64_t max_evaluations, const std::function<LinePoint(double t)>& evaluate) {
  const auto too_high = [&](const LinePoint& p) {
    return p.loss > start.loss + kSufficientDecrease * p.t * start.slope;
  };
  const auto flat = [&](const LinePoint& p) { return std::abs(p.slope) <= -kCurvature * start.slope; };

  // Lengthen the step until a bracket contains a point with both conditions.
  LinePoint previous = start, point = evaluate(first);
  int64_t evaluations = 1, rounds = 0;
  std::pair<LinePoint, LinePoint> bracket;
  bool done = false;
  for (; rounds < max_evaluations; ++rounds) {
    const bool rises = too_high(point) || (rounds > 1 && point.loss >= previous.loss);
    if (!rises && flat(point)) return {point, evaluations};
    if (rises || point.slope >= 0) {
      bracket = {previous, point};
      break;
    }
    const double t = point.t;
    const double next = cubic_minimum(previous, point, t + 0.01 * (t - previous.t), t * 10);
    previous = std::exchange(point, evaluate(next));
    ++evaluations;
  }
  if (rounds == max_evaluations) bracket = {start, point};

  // Shrink the bracket, keeping its lower end as the best point.
  bool slow = false;  // whether the last point was near an end
  auto *low = &bracket.first, *high = &bracket.second;
  if (!(low->loss <= high->loss)) std::swap(low, high);
  while (!done && rounds < max_evaluations) {
    const double left = std::min(low->t, high->t), right = std::max(low->t, high->t);
    if ((right - left) * size < tolerance_change) break;
    double t = cubic_minimum(bracket.first, bracket.second, left, right);
    // Move a second point in a row that is close to an end, and any point at an end, away from it.
    const double margin = 0.1 * (right - left);
    if (std::min(right - t, t - left) < margin) {
      if (slow || t >= right || t <= left) {
        t = std::abs(t - right) < std::abs(t - left) ? right - margin : left + margin;
        slow = false;
      } else {
        slow = true;
      }
    } else {
      slow = false;
    }
    point = evaluate(t);
    ++evaluations;
    ++rounds;
    if (too_high(point) || point.loss >= low->loss) {
      *high = point;
      low = &bracket.first;
      high = &bracket.second;
      if (!(low->loss <= high->loss)) std::swap(low, high);
    } else {
      if (flat(point)) {
        done = true;
      } else if (point.slope * (high->t - low->t) >= 0) {
        *high = *low;
      }
      *low = point;
    }
  }
  return {*low, evaluations};
}

}  // namespace tandem::optim
