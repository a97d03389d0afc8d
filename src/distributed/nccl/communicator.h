#pragma once
// Communicator: NCCL's connection of the ranks, and the stream on which its work runs. Internal.
#include <nccl.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tandem/distributed/process_group.h"
#include "tandem/tensor/stream.h"

namespace tandem::distributed {

class Communicator {
 public:
  /// Waits until all ranks have called it, with one id. No two ranks may use one device. Throws StateError after the
  /// time limit, and what `hosts` has failed with.
  Communicator(const ncclUniqueId& id, int rank, int size, Device device, std::shared_ptr<ProcessGroup> hosts,
               std::chrono::milliseconds timeout);
  /// Calls abort().
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  Device device() const { return stream_.device(); }
  /// Submits the call to the communicator's stream, behind the work of the current stream, and returns the point where
  /// it ends. The host does not wait. The memory of the tensors may be freed, but not written, before that point.
  std::shared_ptr<Event> start(const Collective& call);

  /// Waits for all work, and disconnects the ranks. Later calls throw.
  void close();
  /// Ends the work under way, also if other ranks never join it; what it should have written is undefined. Later calls
  /// throw. From any thread.
  void abort() noexcept;
  /// The message of an error since the last call, such as a lost connection. Empty while another thread waits for NCCL:
  /// that thread reports the error. From any thread.
  std::optional<std::string> error();

 private:
  void launch(const Collective& call);
  /// Waits until NCCL has carried out a call on the host, which returned `code`; the first calls of each kind connect
  /// the ranks.
  void finish(ncclResult_t code, const char* call);

  const int rank_, size_;
  const std::shared_ptr<ProcessGroup> hosts_;
  const std::chrono::milliseconds timeout_;
  const Stream stream_;
  std::mutex mutex_;  // of comm_ between this rank and the thread that watches it
  ncclComm_t comm_ = nullptr;
};

}  // namespace tandem::distributed
