#pragma once
// WorkerPool: threads that prepare a data loader's batches ahead of its loop. Requests and batches are passed as
// shared_ptr<void>, which keeps the threads and locks in the .cpp file: <thread> and <chrono> are slow to compile.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#pragma GCC visibility push(default)
namespace tandem::data::detail {

/// Threads that turn requests into batches. All methods must be called from one thread, the loop's.
class WorkerPool {
 public:
  /// Turns a request into a batch. Each worker has its own function, and with it its own dataset.
  using Work = std::function<std::shared_ptr<void>(void* request)>;

  explicit WorkerPool(bool ordered);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Starts a thread. Throws StateError if the system cannot start another one.
  void add_worker(Work work);
  /// Drops all requests and batches, including those that workers are still preparing.
  void reset();
  void push(std::shared_ptr<void> request);
  /// Returns the number of requests pushed whose batches have not been popped.
  uint64_t outstanding() const;
  /// Returns true if pop() would not wait.
  bool ready() const;
  /// Waits for the next batch, in the order of the requests if `ordered`. Rethrows the exception of the worker; throws
  /// StateError when `timeout_ms` have passed.
  std::shared_ptr<void> pop(std::optional<int64_t> timeout_ms);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::data::detail
#pragma GCC visibility pop
