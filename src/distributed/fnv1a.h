#pragma once
// fnv1a: a hash that is the same on all machines, unlike std::hash. Internal.
#include <cstdint>
#include <string_view>

namespace tandem::distributed {

/// Source: Fowler, Noll and Vo, FNV-1a.
inline uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace tandem::distributed
