#include "kernels/cuda/timing.h"

#include <algorithm>
#include <array>

#include "tandem/base/error.h"
#include "tandem/cuda/event.h"

namespace tandem::cuda {
namespace {

constexpr size_t kRuns = 5;

}  // namespace

std::optional<float> time_on_device(const std::function<void()>& run) {
  try {
    run();
    // All runs are enqueued before the wait, so that the host's time overlaps with the device's.
    std::array<Event, kRuns> start, stop;
    for (size_t i = 0; i < kRuns; ++i) {
      start[i] = Event(true);
      stop[i] = Event(true);
      start[i].record();
      run();
      stop[i].record();
    }
    stop.back().synchronize();
    std::array<float, kRuns> times;
    for (size_t i = 0; i < kRuns; ++i) times[i] = start[i].elapsed_time(stop[i]);
    std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
    return times[kRuns / 2];
  } catch (const BackendError&) {
    return std::nullopt;
  } catch (const OutOfMemoryError&) {
    return std::nullopt;
  }
}

std::optional<size_t> fastest_of(size_t count, const std::function<void(size_t)>& run) {
  std::optional<size_t> best;
  float least = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<float> time = time_on_device([&] { run(i); });
    if (!time || (best && *time >= least)) continue;
    best = i;
    least = *time;
  }
  return best;
}

}  // namespace tandem::cuda
