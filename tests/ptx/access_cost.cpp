#include "ptx/access_cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace tandem::ptx {
namespace {

constexpr uint64_t kSector = 32;  ///< bytes
constexpr uint64_t kWord = 4, kBanks = 32;

/// Global memory.
void add_sectors(std::span<const LaneAccess> accesses, Count& count) {
  struct Sector {
    uint64_t number;
    uint32_t bytes;  ///< a set: bit n is byte n
  };
  std::vector<Sector> sectors;
  for (const LaneAccess& a : accesses) {
    if (a.space != Space::global) continue;
    for (uint64_t at = a.address; at < a.address + a.bytes; ++at) {
      if (sectors.empty() || sectors.back().number != at / kSector) sectors.push_back({at / kSector, 0});
      sectors.back().bytes |= uint32_t{1} << at % kSector;
    }
  }
  std::ranges::sort(sectors, {}, &Sector::number);
  uint64_t distinct = 0, bytes = 0;
  for (size_t n = 0; n < sectors.size(); ++n) {
    const bool is_last = n + 1 == sectors.size() || sectors[n + 1].number != sectors[n].number;
    if (!is_last) {
      sectors[n + 1].bytes |= sectors[n].bytes;
      continue;
    }
    ++distinct;
    bytes += static_cast<uint64_t>(std::popcount(sectors[n].bytes));
  }
  count.sectors += distinct;
  count.least_sectors += (bytes + kSector - 1) / kSector;
}

/// Shared memory: a pass serves one word of each bank, to all lanes that access it.
void add_passes(std::span<const LaneAccess> accesses, Count& count) {
  unsigned widest = 0;
  for (const LaneAccess& a : accesses) {
    if (a.space == Space::shared) widest = std::max(widest, a.bytes);
  }
  if (widest == 0) return;
  // As many lanes at a time as access one word of each bank: 32 lanes, 16 with 8 bytes each, 8 with 16.
  const int lanes = static_cast<int>(kBanks * kWord / std::max<uint64_t>(widest, kWord));
  for (int first = 0; first < kLanes; first += lanes) {
    std::vector<uint64_t> words;
    for (const LaneAccess& a : accesses) {
      if (a.space != Space::shared || a.lane < first || a.lane >= first + lanes) continue;
      for (uint64_t word = a.address / kWord; word * kWord < a.address + a.bytes; ++word) words.push_back(word);
    }
    if (words.empty()) continue;
    std::ranges::sort(words);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::array<uint64_t, kBanks> in_bank{};
    for (const uint64_t word : words) ++in_bank[word % kBanks];
    count.wavefronts += std::ranges::max(in_bank);
    ++count.least_wavefronts;
  }
}

}  // namespace

void add_cost(std::span<const LaneAccess> accesses, Count& count) {
  if (accesses.empty()) return;
  add_sectors(accesses, count);
  add_passes(accesses, count);
}

}  // namespace tandem::ptx
