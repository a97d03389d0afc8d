#include "tandem/data/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/base/check.h"
#include "tandem/tensor/threads.h"

namespace tandem::data::detail {
namespace {

/// A century, in milliseconds: the clock counts nanoseconds in 64 bits, which longer waits would overflow.
constexpr int64_t kLongestWait = int64_t{100} * 365 * 24 * 3600 * 1000;

}  // namespace

struct WorkerPool::State {
  struct Outcome {
    std::shared_ptr<void> batch;
    std::exception_ptr error;
  };
  using Outcomes = std::map<uint64_t, Outcome>;  // by request number
  struct Job {
    uint64_t epoch;
    std::shared_ptr<void> request;
    Outcomes::node_type outcome;  // preallocated, so that a worker cannot run out of memory outside `work`
  };

  explicit State(bool ordered) : ordered(ordered) {}
  ~State() {
    for (std::jthread& t : threads) t.request_stop();  // all of them, before the first is joined
  }

  void run(const std::stop_token& stop, const Work& work) {
    while (true) {
      std::unique_lock lock(mutex);
      if (!job_ready.wait(lock, stop, [&] { return !jobs.empty(); }) || stop.stop_requested()) return;
      Job job = std::move(jobs.front());
      jobs.pop_front();
      lock.unlock();
      try {
        job.outcome.mapped().batch = work(job.request.get());
      } catch (...) {
        job.outcome.mapped().error = std::current_exception();
      }
      lock.lock();
      if (job.epoch != epoch) continue;
      outcomes.insert(std::move(job.outcome));
      lock.unlock();
      batch_ready.notify_one();
    }
  }

  /// The mutex must be held.
  bool ready() const { return !outcomes.empty() && (!ordered || outcomes.begin()->first == popped); }

  const bool ordered;
  uint64_t epoch = 0, pushed = 0, popped = 0;
  std::mutex mutex;
  std::condition_variable_any job_ready;
  std::condition_variable batch_ready;
  std::deque<Job> jobs;
  Outcomes outcomes;
  std::vector<std::jthread> threads;  // last, so that they are joined before other members are destroyed
};

WorkerPool::WorkerPool(bool ordered) : state_(std::make_unique<State>(ordered)) {}
WorkerPool::~WorkerPool() = default;

void WorkerPool::add_worker(Work work) {
  const OpScope op("DataLoader");
  try {
    state_->threads.emplace_back([state = state_.get(), work = std::move(work)](const std::stop_token& stop) {
      set_num_threads(1);  // the workers and the training loop share the processors
      state->run(stop, work);
    });
  } catch (const std::system_error& e) {
    TANDEM_THROW(StateError, "the system could start only {} of the workers: {}; use fewer", state_->threads.size(),
                 e.code().message());
  }
}

void WorkerPool::reset() {
  const std::lock_guard lock(state_->mutex);
  ++state_->epoch;
  state_->jobs.clear();
  state_->outcomes.clear();
  state_->pushed = state_->popped = 0;
}

void WorkerPool::push(std::shared_ptr<void> request) {
  {
    const std::lock_guard lock(state_->mutex);
    State::Outcomes one;
    one.emplace(state_->pushed, State::Outcome());
    state_->jobs.push_back({state_->epoch, std::move(request), one.extract(one.begin())});
    ++state_->pushed;
  }
  state_->job_ready.notify_one();
}

uint64_t WorkerPool::outstanding() const { return state_->pushed - state_->popped; }

bool WorkerPool::ready() const {
  const std::lock_guard lock(state_->mutex);
  return state_->ready();
}

std::shared_ptr<void> WorkerPool::pop(std::optional<int64_t> timeout_ms) {
  const OpScope op("DataLoader");
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  const auto ready = [&] { return s.ready(); };
  if (!timeout_ms) {
    s.batch_ready.wait(lock, ready);
  } else if (!s.batch_ready.wait_for(lock, std::chrono::milliseconds(std::min(*timeout_ms, kLongestWait)), ready)) {
    TANDEM_THROW(StateError,
                 "no worker delivered a batch within the timeout of {} ms; increase timeout() or check the dataset",
                 *timeout_ms);
  }
  State::Outcome outcome = std::move(s.outcomes.begin()->second);
  s.outcomes.erase(s.outcomes.begin());
  ++s.popped;
  lock.unlock();
  if (outcome.error) std::rethrow_exception(std::move(outcome.error));
  return std::move(outcome.batch);
}

}  // namespace tandem::data::detail
