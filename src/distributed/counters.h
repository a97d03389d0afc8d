#pragma once
// Counters of a process group. Internal.
#include <atomic>
#include <chrono>
#include <cstdint>

#include "tandem/distributed/process_group.h"

namespace tandem::distributed {

/// See ProcessGroup::Statistics. Several threads may add to them.
struct ProcessGroup::Counters {
  std::atomic<int64_t> calls = 0, bytes = 0;
  std::atomic<double> wait_seconds = 0, run_seconds = 0;
};

/// Adds the time until the end of the scope to a counter.
class Stopwatch {
 public:
  explicit Stopwatch(std::atomic<double>& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<double>& seconds_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace tandem::distributed
