// Makes idle threads sleep. libgomp spins 300,000 times before it sleeps, but only 100 times while it manages more
// threads than there are processors (libgomp manual, GOMP_SPINCOUNT). A separate thread with its own team of sleeping
// OpenMP threads creates that condition, and ends it when it exits. oneDNN uses the same libgomp.
#include "kernels/cpu/busy_machine.h"

#include <algorithm>
#if defined(_OPENMP)
#include <omp.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#endif

namespace tandem::cpu {
namespace {

constexpr double kInterval = 0.1;    // seconds between samples
constexpr double kEnoughCpu = 0.03;  // seconds of CPU time that a sample needs
constexpr double kTooLong = 2;       // seconds after which a sample with too little CPU time is dropped
constexpr double kBusyShare = 0.1;   // waiting per CPU time: 0.01 on a quiet machine, 0.6 beside one busy thread
constexpr double kShortestHold = 1, kLongestHold = 60, kSoon = 10;  // seconds

}  // namespace

bool BusyDetector::update(const Sample& sample) {
  const double wall = sample.wall - last_.wall, cpu = sample.cpu - last_.cpu;
  if (!started_ || wall > kTooLong) {
    started_ = true;
    last_ = sample;
    return busy_;
  }
  if (wall < kInterval || cpu < kEnoughCpu) return busy_;
  const bool waited = sample.waited - last_.waited > kBusyShare * cpu;
  const bool busy = waited && last_waited_;  // in two samples: new threads may wait for each other once
  last_waited_ = waited;
  last_ = sample;
  if (busy) {
    if (!busy_) hold_ = sample.wall - quiet_since_ < kSoon ? std::min(2 * hold_, kLongestHold) : kShortestHold;
    busy_ = true;
    last_busy_ = sample.wall;
  } else if (busy_ && sample.wall - last_busy_ > hold_) {
    busy_ = false;
    quiet_since_ = sample.wall;
  }
  return busy_;
}

#if defined(_OPENMP)
namespace {

/// While an object exists, idle OpenMP threads sleep immediately.
class Sleepers {
 public:
  Sleepers() : state_(std::make_shared<State>()) {
    const int threads = std::max(2, omp_get_num_procs() + 2 - omp_get_max_threads());
    std::thread([state = state_, threads] {
      std::atomic<int> started{0};
#pragma omp parallel num_threads(threads)
      started.fetch_add(1);  // the team exists until this thread ends
      std::unique_lock lock(state->mutex);
      state->changed.wait(lock, [&] { return state->ended; });
    }).detach();  // detached: it may outlive main
  }
  ~Sleepers() {
    const std::lock_guard lock(state_->mutex);
    state_->ended = true;
    state_->changed.notify_all();
  }
  Sleepers(const Sleepers&) = delete;
  Sleepers& operator=(const Sleepers&) = delete;

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
  };
  std::shared_ptr<State> state_;
};

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); }

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds in which this process's threads waited for a processor. Preemptions alone do not tell: a daemon that runs
/// for microseconds, a hundred times per second, preempts as often as a program that takes half of the time.
double waited_seconds(int64_t preemptions) {
  double nanoseconds = 0;
  bool found = false;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(thread.path() / "schedstat");  // on a processor, waiting for one, time slices
    double ran = 0, waited = 0;
    if (file >> ran >> waited) {
      nanoseconds += waited;
      found = true;
    }
  }
  // A kernel without these statistics: the shortest time slice per preemption.
  return found ? 1e-9 * nanoseconds : 3e-3 * static_cast<double>(preemptions);
}

struct Machine {
  const bool user_decides = std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT");
  std::atomic<double> next_look{0};
  std::mutex mutex;
  BusyDetector detector;
  std::unique_ptr<Sleepers> sleepers;
};

Machine& machine() {
  static Machine& machine = *new Machine;  // never destroyed: other threads may still run after main
  return machine;
}

}  // namespace

void watch_machine() noexcept {
  Machine& m = machine();
  if (m.user_decides) return;
  const double now = wall_seconds();
  if (now < m.next_look.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(m.mutex, std::try_to_lock);
  if (!lock) return;
  m.next_look.store(now + kInterval, std::memory_order_relaxed);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  try {
    const bool busy =
        m.detector.update({now, seconds(usage.ru_utime) + seconds(usage.ru_stime), waited_seconds(usage.ru_nivcsw)});
    if (!busy) {
      m.sleepers.reset();
    } else if (!m.sleepers) {
      m.sleepers = std::make_unique<Sleepers>();
    }
  } catch (...) {  // out of memory or of threads: idle threads keep spinning
  }
}

bool idle_threads_sleep() noexcept {
  Machine& m = machine();
  const std::lock_guard lock(m.mutex);
  return m.sleepers != nullptr;
}
#else
void watch_machine() noexcept {}
bool idle_threads_sleep() noexcept { return false; }
#endif

}  // namespace tandem::cpu
