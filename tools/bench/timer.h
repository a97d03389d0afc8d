#pragma once
// Times on a device.
#include <tandem/cuda/device.h>

#include <algorithm>
#include <vector>

#include "benchmarks/statistics.h"

namespace tools {

/// Returns the seconds of one call, until the device has finished.
template <class F>
double seconds_of(const tandem::Device& device, F&& f) {
  if (device.is_cuda()) tandem::cuda::synchronize();
  const double start = bench::now();
  f();
  if (device.is_cuda()) tandem::cuda::synchronize();
  return bench::now() - start;
}

/// Returns the shortest of several calls after a first one: at least three, or as many as `budget` seconds have room
/// for.
template <class F>
double shortest(const tandem::Device& device, double budget, F&& f) {
  seconds_of(device, f);
  double best = 1e9, sum = 0;
  for (int i = 0; i < 3 || sum < budget; ++i) {
    const double t = seconds_of(device, f);
    best = std::min(best, t);
    sum += t;
  }
  return best;
}

}  // namespace tools
