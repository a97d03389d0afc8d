#pragma once
// WorkerPool: threads that prepare a data loader's batches ahead of its loop.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/tensor/threads.h"

namespace tandem::data::detail {

/// Requests in, batches out. All methods are for one thread, the loop's.
template <class Request, class Batch>
class WorkerPool {
 public:
  explicit WorkerPool(bool ordered) : ordered_(ordered) {}
  ~WorkerPool() {
    for (std::jthread& t : threads_) t.request_stop();  // all of them, before the first is waited for
  }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Adds a thread that answers requests with `dataset`, its own.
  template <class Dataset>
  void add_worker(Dataset dataset) {
    threads_.emplace_back([this, dataset = std::move(dataset)](std::stop_token stop) mutable {
      set_num_threads(1);  // kernels in a worker share the processors with the loop and the other workers
      run(stop, dataset);
    });
  }

  /// Forgets all requests; what workers still have in hand will be dropped.
  void reset() {
    const std::lock_guard lock(mutex_);
    ++epoch_;
    jobs_.clear();
    results_.clear();
    pushed_ = popped_ = 0;
  }

  void push(Request request) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back({epoch_, pushed_++, std::move(request)});
    }
    job_ready_.notify_one();
  }

  /// Requests pushed whose batches have not been popped.
  uint64_t outstanding() const { return pushed_ - popped_; }

  /// Waits for the next batch, in the order of the requests if `ordered`. Throws what the worker threw, and StateError
  /// when the wait is over.
  Batch pop(std::optional<std::chrono::milliseconds> timeout) {
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return !results_.empty() && (!ordered_ || results_.begin()->first == popped_); };
    if (!timeout) {
      result_ready_.wait(lock, ready);
    } else if (!result_ready_.wait_for(lock, *timeout, ready)) {
      throw StateError("data loader: no worker delivered a batch within the timeout of " +
                       std::to_string(timeout->count()) + " ms; raise timeout() or look at the dataset");
    }
    Result result = std::move(results_.begin()->second);
    results_.erase(results_.begin());
    ++popped_;
    lock.unlock();
    if (result.error) std::rethrow_exception(std::move(result.error));
    return std::move(*result.batch);
  }

 private:
  struct Job {
    uint64_t epoch, number;
    Request request;
  };
  struct Result {
    std::optional<Batch> batch;
    std::exception_ptr error;
  };

  template <class Dataset>
  void run(const std::stop_token& stop, Dataset& dataset) {
    while (true) {
      std::unique_lock lock(mutex_);
      if (!job_ready_.wait(lock, stop, [&] { return !jobs_.empty(); }) || stop.stop_requested()) return;
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      Result result;
      try {
        result.batch = dataset.get_batch(std::move(job.request));
      } catch (...) {
        result.error = std::current_exception();
      }
      lock.lock();
      if (job.epoch != epoch_) continue;
      results_.emplace(job.number, std::move(result));
      lock.unlock();
      result_ready_.notify_one();
    }
  }

  const bool ordered_;
  uint64_t epoch_ = 0, pushed_ = 0, popped_ = 0;
  std::mutex mutex_;
  std::condition_variable_any job_ready_;
  std::condition_variable result_ready_;
  std::deque<Job> jobs_;
  std::map<uint64_t, Result> results_;
  std::vector<std::jthread> threads_;  // last: joined before the rest goes
};

}  // namespace tandem::data::detail
