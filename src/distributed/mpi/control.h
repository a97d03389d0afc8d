#pragma once
// Control: short messages between the workers of all ranks, beside the collectives: a rank fails, leaves, or asks where
// the others are. Internal; used by the worker's thread only.
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tandem::distributed {

class Control {
 public:
  explicit Control(MPI_Comm comm);

  /// How far a rank is.
  struct Position {
    int64_t calls = 0;      ///< collectives that it has begun, including one that is running
    std::string last = {};  ///< description of the last of them
    std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();  ///< when this rank learned it
  };
  Position position;  ///< of this rank; kept by the worker

  /// Handles the messages that have arrived.
  void poll();

  /// Tells all ranks that this rank has failed.
  void announce_failure(const std::string& reason);
  /// Tells all ranks that this rank makes no further calls.
  void announce_leaving();
  /// Asks all ranks where they are, and waits for some seconds. Returns the answers by rank.
  std::map<int, Position> ask_positions();
  /// Whether the messages that this rank has sent are on their way.
  bool sent();

  /// Why another rank has failed, if one has: "rank 1 left the group: ...".
  const std::optional<std::string>& failure() const { return failure_; }
  /// The ranks that have left, and the number of collectives that they made.
  const std::map<int, Position>& left() const { return left_; }

 private:
  enum class Kind : int64_t { failure, leaving, question, answer };
  struct Outgoing {
    std::string bytes;
    MPI_Request request;
  };

  void send(int rank, Kind kind, const std::string& text, int64_t calls);
  void send_all(Kind kind, const std::string& text, int64_t calls);
  void handle(int rank, const std::string& bytes);

  MPI_Comm comm_;
  int rank_, size_;
  std::list<Outgoing> outgoing_;
  std::optional<std::string> failure_;
  std::map<int, Position> left_, answers_;
};

}  // namespace tandem::distributed
