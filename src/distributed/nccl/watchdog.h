#pragma once
// Watchdog: a thread that finds out when calls on GPUs fail, because the host does not wait for them. Internal.
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "src/distributed/nccl/communicator.h"
#include "src/distributed/nccl/device_call.h"

namespace tandem::distributed {

class Watchdog {
 public:
  /// A call that was started.
  struct Watched {
    std::string description;
    std::shared_ptr<DeviceCall> call;
    std::shared_ptr<Communicator> communicator;
    Work agreement;               ///< messages between the hosts, with which the ranks compare the call
    std::function<void()> check;  ///< called when they have arrived; throws if the ranks' calls differ. May be empty
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  };

  /// `hosts` carries the messages between the hosts; if it fails, so do the calls. `on_failure` is called once, on the
  /// thread that noticed the failure.
  Watchdog(std::shared_ptr<ProcessGroup> hosts, std::chrono::milliseconds timeout,
           std::function<void(const std::exception_ptr&)> on_failure);
  ~Watchdog();

  void watch(Watched call);
  /// Fails all calls that have not ended, and all later ones.
  void fail(std::exception_ptr error);
  /// The error that was passed to fail(), or null.
  std::exception_ptr failure() const;
  /// Waits until all calls have ended or failed.
  void drain();

 private:
  void run();
  /// Returns true if the call has ended. Throws if it has failed.
  bool has_ended(Watched& watched) const;

  const std::shared_ptr<ProcessGroup> hosts_;
  const std::chrono::milliseconds timeout_;
  const std::function<void(const std::exception_ptr&)> on_failure_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Watched> calls_;
  std::exception_ptr failure_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace tandem::distributed
