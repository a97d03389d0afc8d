#pragma once
// What a warp's access of memory costs on a GPU: sectors of global memory, and passes over the banks of shared memory.
// Source: NVIDIA, CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory" and "Shared Memory".
#include <span>

#include "ptx/machine.h"
#include "ptx/module.h"

namespace tandem::ptx {

/// The bytes that one lane accesses with one instruction.
struct LaneAccess {
  Space space;
  int lane;
  uint64_t address;
  unsigned bytes;
};

/// Adds the cost of one execution of an instruction, all of whose accesses are given, to its count.
void add_cost(std::span<const LaneAccess> accesses, Count& count);

}  // namespace tandem::ptx
