#pragma once
// Collectives as messages between pairs of ranks. Internal.
#include <mpi.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tandem/distributed/process_group.h"

namespace tandem::distributed {

/// Runs collectives on a communicator. `finish` waits until the requests have completed; if it throws, the collective
/// is given up, and its tensors must stay alive.
class Transfers {
 public:
  using Finish = std::function<void(std::vector<MPI_Request>& requests)>;
  Transfers(MPI_Comm comm, Finish finish);

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Return the words and the texts of all ranks, in the order of the ranks.
  std::vector<uint64_t> gather_words(uint64_t word);
  std::vector<std::string> gather_texts(const std::string& text);
  /// Runs any collective except send and recv.
  void run(const Collective& call);

 private:
  /// Memory that is sent to, or received from, a rank.
  struct Part {
    int rank;
    void* data;
    size_t bytes;
  };
  void exchange(const std::vector<Part>& sends, const std::vector<Part>& receives);
  std::vector<Part> parts_of(const std::vector<Tensor>& tensors) const;
  void broadcast(const Tensor& tensor, int root);
  /// Combines chunk r of the tensors of all ranks in chunk r of `result` on rank r.
  void combine_chunks(const Tensor& result, const Tensor& input, ReduceOp op);
  /// Throws ShapeError if the tensors of an all_to_all do not fit to each other.
  void check_sizes(const Collective& call);
  Tensor chunk(const Tensor& flat, int rank) const;
  /// Returns uninitialised memory that stays allocated until the collective has succeeded: after a failure MPI may
  /// still write to it.
  Tensor scratch(IntArrayRef sizes, const Tensor& like);

  MPI_Comm comm_;
  Finish finish_;
  int rank_, size_;
  std::vector<std::shared_ptr<const void>> held_;
};

/// Adds the requests that send or receive this memory, in pieces that MPI's counts can express.
void start_send(std::vector<MPI_Request>& requests, const void* data, size_t bytes, int rank, int tag, MPI_Comm comm);
void start_receive(std::vector<MPI_Request>& requests, void* data, size_t bytes, int rank, int tag, MPI_Comm comm);

}  // namespace tandem::distributed
