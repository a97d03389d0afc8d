#pragma once
// Worker: the thread that makes all calls of MPI. Internal.
#include <mpi.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "src/distributed/host_work.h"
#include "src/distributed/mpi/control.h"
#include "src/distributed/mpi/transfers.h"

namespace tandem::distributed {

/// Runs collectives one after another, in a thread of its own, so that they make progress while the program computes.
/// Sends and receives run beside them.
class Worker {
 public:
  /// Adds the time of collectives to `run_seconds`.
  Worker(MPI_Comm comm, const ProcessGroupOptions& options, std::atomic<double>& run_seconds);
  ~Worker();

  /// Tells the other ranks that this one leaves, waits until they leave too, and ends the thread.
  void stop();

  std::shared_ptr<HostWork> push(Collective call);
  void abort(const std::string& reason);
  /// The error that ended the group, or null. After that, messages may be under way forever, and MPI cannot be
  /// finalized.
  std::exception_ptr failure() const;

 private:
  struct Job {
    Collective call;
    std::shared_ptr<HostWork> work;
  };
  /// A send or a receive that is under way: first a description of the tensor, then its data.
  struct PointToPoint {
    Job job;
    std::array<uint64_t, 2> own = {}, theirs = {};  // dtype and bytes; hash of the sizes
    std::vector<MPI_Request> requests = {};
    bool waits_for_description = false;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  };

  void run();
  void run_collective(Job job);
  /// Throws StateError if the ranks make different calls.
  void compare(const Collective& call);
  /// Waits for the requests of the running collective.
  void finish(std::vector<MPI_Request>& requests);
  /// Handles everything except collectives. Throws if the group has failed.
  void poll();
  /// Starts the sends and receives among the jobs, also those behind collectives.
  void start_messages();
  void start_message(PointToPoint& message);
  /// Returns whether the message has arrived or has been sent.
  bool advance(PointToPoint& message);
  void check_left(const Collective& call);
  [[noreturn]] void time_out(const Collective& call);
  void fail(std::exception_ptr error);
  void leave();

  const ProcessGroupOptions options_;
  std::atomic<double>& run_seconds_;
  MPI_Comm messages_comm_;
  std::shared_ptr<Control> control_;
  std::shared_ptr<Transfers> transfers_;
  const Collective* current_ = nullptr;
  std::list<PointToPoint> messages_;

  const std::shared_ptr<std::atomic<int>> waiting_ = std::make_shared<std::atomic<int>>(0);  // threads in Work::wait()
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::optional<std::string> abort_reason_;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace tandem::distributed
