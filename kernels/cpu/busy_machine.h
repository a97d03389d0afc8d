#pragma once
// Detects a busy machine and makes idle threads sleep on it.
//
// GNU OpenMP's idle threads spin for milliseconds before they sleep. The next parallel loop then starts quickly if no
// other work needs the processors. On a busy machine, spinning threads take processors from the threads that they wait
// for, and a step of microseconds takes milliseconds. So tandem measures how long the process's threads wait for a
// processor, and makes idle threads sleep immediately while that is long.

namespace tandem::cpu {

/// Decides from samples of the process's clocks whether other work competes for its processors.
class BusyDetector {
 public:
  struct Sample {
    double wall = 0;    ///< seconds, from any monotonic clock
    double cpu = 0;     ///< CPU seconds of the process, summed over threads
    double waited = 0;  ///< seconds in which threads were ready to run but had no processor, summed over threads
  };
  /// Returns true while the machine is busy: from the second of two samples that show it, until no sample has shown it
  /// for some time. That time doubles if the machine is busy again soon after it seemed quiet.
  bool update(const Sample& sample);

 private:
  Sample last_{};
  bool started_ = false, busy_ = false, last_waited_ = false;
  double last_busy_ = 0, quiet_since_ = -1e9, hold_ = 1;
};

/// Samples the machine every 100 ms; other calls only read the clock. Does nothing if OMP_WAIT_POLICY or GOMP_SPINCOUNT
/// is set, since the user has chosen.
void watch_machine() noexcept;

/// Must be called before threads work together; parallel_for and oneDNN's primitives call it.
void note_parallel_work() noexcept;

/// For tests: whether idle threads sleep immediately.
bool idle_threads_sleep() noexcept;

}  // namespace tandem::cpu
