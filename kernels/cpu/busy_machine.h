#pragma once
// Idle threads on a busy machine.
//
// GNU OpenMP's idle threads spin for milliseconds before they sleep. That makes the next parallel loop start fast while
// nothing else wants the processors. On a busy machine they take the processors from the threads that they wait for,
// and a step of microseconds takes milliseconds. So tandem looks at how often the system takes a processor from the
// process, and has idle threads sleep at once while that is often.
#include <cstdint>

namespace tandem::cpu {

/// Decides from samples of the process's clocks whether other work wants its processors.
class BusyDetector {
 public:
  struct Sample {
    double wall = 0;          ///< seconds, of any clock that never goes back
    double cpu = 0;           ///< seconds that the process has computed, all threads together
    int64_t preemptions = 0;  ///< times that the system gave a processor of the process to others
  };
  /// True while the machine is busy: at once when a sample shows it, and until no sample has for a while. The while
  /// grows when the machine turns out to be busy soon after it seemed quiet.
  bool update(const Sample& sample);

 private:
  Sample last_{};
  bool started_ = false, busy_ = false;
  double last_busy_ = 0, quiet_since_ = -1e9, hold_ = 1;
};

/// Looks at the machine every 100 ms, at the cost of reading the clock in between. Does nothing when OMP_WAIT_POLICY or
/// GOMP_SPINCOUNT is set: the user has chosen.
void watch_machine() noexcept;

/// To be called before threads work together: parallel_for and oneDNN's primitives do.
void note_parallel_work() noexcept;

/// For tests: whether idle threads sleep at once.
bool idle_threads_sleep() noexcept;

}  // namespace tandem::cpu
