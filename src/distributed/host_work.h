#pragma once
// HostWork: a call whose completion is signalled on the host. Internal.
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "tandem/distributed/work.h"

namespace tandem::distributed {

class HostWork final : public Work::State {
 public:
  /// `waiting` counts the threads that are in wait().
  explicit HostWork(std::shared_ptr<std::atomic<int>> waiting) : waiting_(std::move(waiting)) {}

  void complete() { end(nullptr); }
  /// Does nothing if the call has ended.
  void fail(std::exception_ptr error) { end(std::move(error)); }

  void wait() override {
    std::unique_lock lock(mutex_);
    ++*waiting_;
    ended_.wait(lock, [this] { return done_; });
    --*waiting_;
    if (error_) std::rethrow_exception(error_);
  }
  bool is_completed() const override {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  std::exception_ptr exception() const override {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  void end(std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      if (done_) return;
      done_ = true;
      error_ = std::move(error);
    }
    ended_.notify_all();
  }

  const std::shared_ptr<std::atomic<int>> waiting_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::exception_ptr error_;
};

}  // namespace tandem::distributed
