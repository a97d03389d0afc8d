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
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#endif

namespace tandem::cpu {
namespace {

constexpr double kInterval = 0.1;      // seconds between samples
constexpr double kEnoughCpu = 0.03;    // seconds of CPU time that a sample needs
constexpr double kTooLong = 2;         // seconds after which a sample with too little CPU time is dropped
constexpr double kBusyPerSecond = 40;  // preemptions per second of CPU time; a time slice is 3 to 10 ms
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
  const bool busy = static_cast<double>(sample.preemptions - last_.preemptions) > kBusyPerSecond * cpu;
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
  const bool busy = m.detector.update({now, seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_nivcsw});
  if (!busy) {
    m.sleepers.reset();
  } else if (!m.sleepers) {
    try {
      m.sleepers = std::make_unique<Sleepers>();
    } catch (...) {  // no thread could be created: idle threads keep spinning
    }
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
