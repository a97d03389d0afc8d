#pragma once
// Medians and quartiles of measured times.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace bench {

/// Returns the seconds of a monotonic clock.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the value below which a share `q` of the samples is, interpolated between neighbours.
inline double quantile(std::vector<double> samples, double q) {
  if (samples.empty()) return std::nan("");
  std::sort(samples.begin(), samples.end());
  const double at = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (at - static_cast<double>(below)) * (samples[above] - samples[below]);
}

inline double median(std::vector<double> samples) { return quantile(std::move(samples), 0.5); }

/// Rounds `x` to four significant digits, the precision of a measurement.
inline double rounded(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double unit = std::pow(10.0, 3 - std::floor(std::log10(std::abs(x))));
  return std::round(x * unit) / unit;
}

}  // namespace bench
