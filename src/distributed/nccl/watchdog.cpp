#include "src/distributed/nccl/watchdog.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "tandem/base/check.h"
#include "tandem/tensor/accelerator.h"

namespace tandem::distributed {
namespace {

constexpr auto kLookPause = std::chrono::milliseconds(10);  // between looks at the running calls

/// True if all ranks have made the call and it has run.
bool has_succeeded(const Watchdog::Watched& w) {
  try {
    return w.agreement.is_completed() && !w.agreement.exception() && !w.check && w.call->has_run();
  } catch (...) {  // the device has failed
    return false;
  }
}

}  // namespace

Watchdog::Watchdog(std::shared_ptr<ProcessGroup> hosts, std::chrono::milliseconds timeout,
                   std::function<void(const std::exception_ptr&)> on_failure)
    : hosts_(std::move(hosts)), timeout_(timeout), on_failure_(std::move(on_failure)), thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::watch(Watched call) {
  const std::lock_guard lock(mutex_);
  if (failure_) {
    call.call->fail(failure_);
    return;
  }
  calls_.push_back(std::move(call));
  changed_.notify_all();
}

void Watchdog::fail(std::exception_ptr error) {
  std::list<Watched> failed;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = error;
    failed.swap(calls_);
  }
  std::erase_if(failed, has_succeeded);
  for (const Watched& w : failed) w.call->fail(error);
  // What these calls should have written, and all that follows from it, is undefined once they are aborted.
  if (!failed.empty()) accelerator().fail(error);
  on_failure_(error);
  changed_.notify_all();
}

std::exception_ptr Watchdog::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Watchdog::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return calls_.empty(); });
}

bool Watchdog::has_ended(Watched& w) const {
  if (w.agreement.is_completed() && !w.agreement.exception() && w.check) std::exchange(w.check, nullptr)();
  if (has_succeeded(w)) return true;
  const bool is_late = std::chrono::steady_clock::now() - w.start > timeout_;
  if (is_late) w.agreement.wait();  // throws an error that names the ranks that are missing
  if (const std::exception_ptr error = w.agreement.exception()) std::rethrow_exception(error);
  if (const std::exception_ptr error = hosts_->failure()) std::rethrow_exception(error);
  if (const auto error = w.communicator->error()) {
    TANDEM_THROW(BackendError, "{} failed: NCCL reports {}", w.description, *error);
  }
  TANDEM_CHECK(!is_late, StateError,
               "{} has not completed within {} ms; see whether a rank or the network hangs, or set a longer timeout",
               w.description, timeout_.count());
  return false;
}

void Watchdog::run() {
  // Other threads may capture graphs, which forbid queries of events, except for threads in this mode.
  cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&relaxed);
  std::unique_lock lock(mutex_);
  while (true) {
    if (calls_.empty()) changed_.wait(lock, [this] { return stop_ || !calls_.empty(); });
    if (stop_) return;
    std::exception_ptr error;
    try {
      std::erase_if(calls_, [this](Watched& w) { return has_ended(w); });
    } catch (...) {
      error = std::current_exception();
    }
    if (error) {
      lock.unlock();
      fail(error);
      lock.lock();
    }
    if (calls_.empty()) changed_.notify_all();
    changed_.wait_for(lock, kLookPause, [this] { return stop_; });
  }
}

}  // namespace tandem::distributed
