#pragma once
// Block: the warps of one block, its memories, and the order in which its instructions run.
//
// Lanes of a warp that are at the same instruction run together. Of several groups, the one at the lowest instruction
// runs first: nvcc places the end of a branch behind its bodies, so groups meet there again, as on hardware.
#include <set>
#include <utility>
#include <vector>

#include "ptx/access_cost.h"
#include "ptx/machine.h"
#include "ptx/warp.h"

namespace tandem::ptx {

/// What the blocks of a launch share.
struct Grid {
  const Kernel& kernel;
  const Launch& launch;
  GlobalMemory& memory;
  std::vector<Report>& reports;
  std::vector<Count>* counts;
  std::vector<std::vector<Row>>& registers;  ///< of each warp; blocks use them in turn
  std::set<std::pair<Fault, const Instruction*>> reported;
  GlobalTrace trace;
  Range range = {0, 0, ""};  ///< the allocation of the last access
};

class Block {
 public:
  Block(Grid& grid, uint64_t number);
  /// Runs all threads to their end.
  void run();

  /// The address [register + offset] of a lane.
  uint64_t address(const Warp& w, const Instruction& i, int lane, const Operand& base);
  /// Reads `bytes` at an address of the instruction's space. Returns which of them have a defined value.
  Bytes load(const Warp& w, const Instruction& i, int lane, uint64_t address, void* to, unsigned bytes);
  void store(const Warp& w, const Instruction& i, int lane, uint64_t address, const void* from, unsigned bytes,
             Bytes defined);
  /// Returns the bytes for an operation that no other thread's access can interrupt.
  std::byte* atomic(const Warp& w, const Instruction& i, int lane, uint64_t address, unsigned bytes);

  /// cp.async: begins a copy to shared memory of `bytes`, the first `read` of them from global memory, zeros behind.
  void copy_async(const Warp& w, const Instruction& i, int lane, uint64_t to, uint64_t from, unsigned bytes,
                  unsigned read);
  void commit_copies(unsigned thread);
  /// Waits until at most `left` groups of the thread's copies are under way.
  void wait_for_copies(const Warp& w, const Instruction& i, int lane, size_t left);

  void report(Fault fault, const Instruction& i, unsigned thread, uint64_t address, const std::string& what);

 private:
  struct Place {
    std::byte* data;
    Space space;
    uint64_t offset;  ///< in shared memory, or in the block's local memory
  };
  struct Copy {
    Place to;
    std::vector<std::byte> data;
  };
  struct Copies {
    std::vector<Copy> open;
    std::vector<std::vector<Copy>> groups;
  };
  enum class State : uint8_t { ready, waits_for_lanes, at_barrier };
  struct Group {
    uint32_t at;
    Lanes lanes;
    State state = State::ready;
  };

  [[noreturn]] void stop(Fault fault, const Instruction& i, unsigned thread, uint64_t address, const std::string& what);
  Place place(const Warp& w, const Instruction& i, int lane, Space space, uint64_t address, unsigned bytes);
  void note_shared(const Instruction& i, unsigned thread, const Place& at, unsigned bytes, Access access);
  void note_global(const Instruction& i, unsigned thread, const Place& at, unsigned bytes, Access access);
  Place note(const Warp& w, const Instruction& i, int lane, uint64_t address, unsigned bytes, Access access);

  /// Runs the warp until all of its threads have returned or wait at a barrier.
  void run_warp(size_t index);
  void run_group(Warp& w, std::vector<Group>& groups, size_t index, uint32_t limit);
  void count(const Instruction& i, Lanes lanes);
  Lanes guarded(const Warp& w, const Instruction& i, Lanes lanes);
  bool all_meet(const Warp& w, const Instruction& i, const std::vector<Group>& groups, Lanes lanes);
  void release_barrier();

  Grid& grid_;
  const uint32_t number_;
  const Dim id_;
  std::vector<std::byte> shared_, local_;  ///< local: of all threads
  std::vector<SharedByte> shared_bytes_;
  std::vector<bool> local_is_initialized_;
  std::vector<Warp> warps_;
  std::vector<std::vector<Group>> groups_;  ///< of each warp
  std::vector<Copies> copies_;              ///< of each thread
  std::vector<LaneAccess> accesses_;        ///< of the instruction that is running, if they are counted
  uint32_t barriers_ = 0;
};

}  // namespace tandem::ptx
