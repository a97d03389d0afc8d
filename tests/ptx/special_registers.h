#pragma once
// The registers that the hardware sets: where a thread is in its block and in the grid.
#include <array>
#include <string_view>

#include "ptx/module.h"

namespace tandem::ptx {

using Dim = std::array<unsigned, 3>;

struct Position {
  Dim block, blocks, block_size;
  unsigned first_thread;  ///< of the block, in lane 0
};

bool is_special_register(std::string_view name);
Row special_register(std::string_view name, const Position& at);

/// The coordinates of a thread, or of a block, from its number.
Dim coordinates(uint64_t number, const Dim& size);

}  // namespace tandem::ptx
