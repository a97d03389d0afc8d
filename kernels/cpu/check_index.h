#pragma once
// The range check of indices in kernels.
#include <cstdint>

namespace tandem::cpu {

[[noreturn]] void throw_index(int64_t k, int64_t size, int64_t dim);

/// Throws IndexError unless k, an index into dimension `dim`, is in [0, size).
inline void check_index(int64_t k, int64_t size, int64_t dim) {
  if (static_cast<uint64_t>(k) >= static_cast<uint64_t>(size)) [[unlikely]]  // negative ones become large
    throw_index(k, size, dim);
}

}  // namespace tandem::cpu
