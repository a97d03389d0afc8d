#pragma once
// WorkerPool: threads that prepare a data loader's batches ahead of its loop. Requests and batches travel as
// shared_ptr<void>, so that the threads and their locks stay in the .cpp file: <thread> and <chrono> are costly
// headers.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace tandem::data::detail {

/// Requests in, batches out. All methods are for one thread, the loop's.
class WorkerPool {
 public:
  /// What a worker does with a request. Each worker has a function, and so a dataset, of its own.
  using Work = std::function<std::shared_ptr<void>(void* request)>;

  explicit WorkerPool(bool ordered);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Throws StateError when the system starts no further thread.
  void add_worker(Work work);
  /// Forgets all requests; what workers still have in hand will be dropped.
  void reset();
  void push(std::shared_ptr<void> request);
  /// Requests pushed whose batches have not been popped.
  uint64_t outstanding() const;
  /// True when pop() would not wait.
  bool ready() const;
  /// Waits for the next batch, in the order of the requests if `ordered`. Throws what the worker threw, and StateError
  /// when `timeout_ms` have passed.
  std::shared_ptr<void> pop(std::optional<int64_t> timeout_ms);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::data::detail
