#pragma once
// What the executor finds wrong with a kernel.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "ptx/special_registers.h"

namespace tandem::ptx {

enum class Fault : uint8_t {
  shared_race,        ///< two threads, one of which writes, without a barrier between them
  global_race,        ///< two blocks, one of which writes, not both by atomic operations
  misaligned,         ///< the address is not a multiple of the access's size
  out_of_bounds,      ///< outside of all memory that the kernel may access
  missing_lane,       ///< a lane that a mask names does not arrive
  divergent_barrier,  ///< threads of a block wait at different barriers
  uninitialized,      ///< an undefined value is stored to global memory, or decides an address or a branch
  async_copy,         ///< an access to what cp.async is still writing
  trap
};
const char* name(Fault fault);

struct Report {
  Fault fault;
  std::string kernel, file, text;  ///< text: the instruction
  int line = 0;
  Dim block{}, thread{};
  uint64_t address = 0;
  std::string what;  ///< more about it
};
/// "shared_race at softmax.ptx:812: st.shared.f32 ...; kernel ..., block 0 0 0, thread 33 0 0, address 0x84: ..."
std::string text(const Report& report);

/// Ends a launch after a fault that leaves nothing to execute. The last report says which.
struct Stopped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace tandem::ptx
