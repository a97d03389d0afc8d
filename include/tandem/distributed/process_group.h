#pragma once
// ProcessGroup: collectives between the ranks (processes or threads) that train together.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/distributed/reduce_op.h"
#include "tandem/distributed/work.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::distributed {

/// One call of a collective, as a backend gets it: arguments are checked, and tensors are contiguous.
struct Collective {
  enum class Kind : uint8_t {
    all_reduce,      ///< outputs[0] is combined in place
    broadcast,       ///< outputs[0] of `peer` is copied to outputs[0] of the others
    reduce,          ///< inputs[0] are combined into outputs[0] of rank `peer`; the others have no output
    all_gather,      ///< inputs[0] of rank r is copied to outputs[r] of all
    reduce_scatter,  ///< inputs[r] of all are combined into outputs[0] of rank r
    all_to_all,      ///< inputs[r] of rank q is copied to outputs[q] of rank r
    gather,          ///< inputs[0] of rank r is copied to outputs[r] of rank `peer`; the others have no output
    scatter,         ///< inputs[r] of rank `peer` is copied to outputs[0] of rank r; the others have no input
    send,            ///< inputs[0] is sent to rank `peer`
    recv,            ///< outputs[0] is received from rank `peer`
    barrier,         ///< no tensors
  };
  Kind kind;
  ReduceOp op = ReduceOp::SUM;
  int peer = 0;  ///< the root, or the other side of send and recv
  int tag = 0;   ///< matches sends with receives
  std::vector<Tensor> inputs = {}, outputs = {};
  std::string label = {};  ///< what the call is for, such as "bucket 3"; for messages, and empty in most calls
};

/// Returns what must be equal on all ranks, for messages: "all_reduce SUM [4, 2] f32". Sizes of tensors that may differ
/// between ranks (all_to_all) are left out.
std::string describe(const Collective& call);

/// Collectives between `size()` ranks. All ranks must make the same calls in the same order, with tensors of equal
/// sizes and dtypes on one type of device. Backends compare the calls: if they differ, each rank's call throws
/// StateError, which names the ranks and their calls.
///
/// Each call has two forms: `all_reduce(t)` returns when the call has completed, `all_reduce_async(t)` returns a Work.
/// Calls of one group complete in the order in which they were started, except send and recv.
///
/// Tensors must be contiguous. Their values are sent and written as with detach(): nothing is recorded, and autocast
/// does not apply. Bad arguments throw StateError, ShapeError, DTypeError or DeviceError before anything is sent.
///
/// A failed call (a rank that left, differing calls, a time limit) ends the group: it and all later calls throw
/// StateError or BackendError. A group may be used by one thread at a time.
class ProcessGroup {
 public:
  /// What a group has done since it was made.
  struct Statistics {
    int64_t calls = 0;        ///< started calls
    int64_t bytes = 0;        ///< size of the tensors that this rank contributed to them; backends may send more
    double wait_seconds = 0;  ///< time that this rank spent in Work::wait() and in calls without `_async`
    /// Time in which calls were under way, beside the program or while it waited, including the time in which they
    /// waited for other ranks. What exceeds wait_seconds was hidden behind computation. Counted by the MPI backend.
    double run_seconds = 0;
  };

  virtual ~ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// "mpi", "threads", ...
  virtual const char* name() const = 0;

  // ---- all ranks
  /// Combines the tensors of all ranks, in place. The result is the same on all ranks, bit for bit.
  void all_reduce(const Tensor& tensor, ReduceOp op = ReduceOp::SUM);
  /// `label` says what the call is for, in messages; it must be the same on all ranks.
  Work all_reduce_async(const Tensor& tensor, ReduceOp op = ReduceOp::SUM, std::string label = {});
  /// Copies the tensor of rank `root` to all other ranks.
  void broadcast(const Tensor& tensor, int root = 0);
  Work broadcast_async(const Tensor& tensor, int root = 0);
  /// Combines the tensors of all ranks in that of rank `root`. The others' tensors do not change.
  void reduce(const Tensor& tensor, int root = 0, ReduceOp op = ReduceOp::SUM);
  Work reduce_async(const Tensor& tensor, int root = 0, ReduceOp op = ReduceOp::SUM);
  /// Copies the input of rank r to outputs[r] on all ranks.
  void all_gather(const std::vector<Tensor>& outputs, const Tensor& input);
  Work all_gather_async(const std::vector<Tensor>& outputs, const Tensor& input);
  /// Combines inputs[r] of all ranks in the output of rank r.
  void reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op = ReduceOp::SUM);
  Work reduce_scatter_async(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op = ReduceOp::SUM);
  /// Copies inputs[r] of rank q to outputs[q] of rank r, whose sizes must be equal; other sizes may differ.
  void all_to_all(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs);
  Work all_to_all_async(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs);
  /// Copies the input of rank r to outputs[r] on rank `root`. The others pass no outputs.
  void gather(const std::vector<Tensor>& outputs, const Tensor& input, int root = 0);
  Work gather_async(const std::vector<Tensor>& outputs, const Tensor& input, int root = 0);
  /// Copies inputs[r] of rank `root` to the output of rank r. The others pass no inputs.
  void scatter(const Tensor& output, const std::vector<Tensor>& inputs, int root = 0);
  Work scatter_async(const Tensor& output, const std::vector<Tensor>& inputs, int root = 0);
  /// Returns when all ranks have called it.
  void barrier();
  Work barrier_async();

  // ---- two ranks. A receive gets the sends with its tag, 0 to 32766, in the order in which they were sent. Its tensor
  // must have the sizes and the dtype of the sent one.
  /// Sends a tensor to the rank `destination`; receives one from the rank `source` into `tensor`.
  void send(const Tensor& tensor, int destination, int tag = 0);
  Work send_async(const Tensor& tensor, int destination, int tag = 0);
  void recv(const Tensor& tensor, int source, int tag = 0);
  Work recv_async(const Tensor& tensor, int source, int tag = 0);

  /// Checks and starts any call. The functions above are short forms.
  Work start(Collective call);

  /// Ends the group: the running and later calls of all ranks throw StateError with this rank's number and `reason`.
  /// For a rank that cannot go on, such as one that catches an exception in main(). Does not throw.
  virtual void abort(const std::string& reason) noexcept = 0;
  /// The error that ended the group, or null.
  virtual std::exception_ptr failure() const { return nullptr; }

  /// Returns what the calls so far have cost this rank.
  virtual Statistics statistics() const;

 protected:
  ProcessGroup(int rank, int size);
  /// The counters behind statistics(). Calls share them, and may outlive the group.
  struct Counters;
  const std::shared_ptr<Counters>& counters() const { return counters_; }
  /// Starts a checked call.
  virtual std::shared_ptr<Work::State> run(Collective call) = 0;

 private:
  class TimedState;
  void check(const Collective& call) const;

  int rank_, size_;
  std::shared_ptr<Counters> counters_;
};

/// Options of process groups.
struct ProcessGroupOptions {
  /// A call that another rank has not joined after this time throws StateError, which names the missing ranks.
  /// Positive, at most ten years.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
};

}  // namespace tandem::distributed
#pragma GCC visibility pop
