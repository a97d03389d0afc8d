#pragma once
#include "kernels/cpu/simd/random.h"
#include "kernels/cpu/tile.h"
#include "tandem/backend.h"

namespace tandem::cpu {

/// The Philox lanes of a tile's elements, which are counted in row-major order (Order::logical).
class TileLanes {
 public:
  TileLanes(PhiloxState state, uint32_t block) : state_(state), block_(block) {}

  /// Returns lanes from the first lane of the counter in which the tile begins: the tile's own lanes start at
  /// skip(tile).
  const uint32_t* read(const Tile& tile) {
    const uint64_t counter = state_.offset + static_cast<uint64_t>(tile.begin / 4);
    random_table().lanes(lanes_, state_.seed, counter, block_, padded(tile) / 4);
    return lanes_;
  }
  static int64_t skip(const Tile& tile) { return tile.begin % 4; }
  /// The number of lanes read, a multiple of a counter's four.
  static int64_t padded(const Tile& tile) { return (skip(tile) + tile.size() + 3) / 4 * 4; }

 private:
  PhiloxState state_;
  uint32_t block_;
  alignas(64) uint32_t lanes_[kTile + 8];
};

}  // namespace tandem::cpu
