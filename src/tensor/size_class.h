#pragma once
// Block sizes of the CPU allocator. Small blocks have size classes: multiples of 64 bytes up to 512, then 8 steps per
// power of two, so that a block is at most an eighth larger than requested. Larger blocks are whole pages.
#include <bit>
#include <cstddef>

namespace tandem::cpu {

inline constexpr size_t kAlignment = 64;
inline constexpr size_t kPage = 4096;
inline constexpr size_t kSmallBytes = size_t{32} << 10;    ///< blocks up to here have size classes
inline constexpr size_t kLargeBytes = size_t{2} << 20;     ///< blocks from here on have their own pages, coloured
inline constexpr size_t kMaxBlockBytes = size_t{1} << 46;  ///< more than a process can address
inline constexpr int kNumSizeClasses = 8 + (15 - 9) * 8;

struct SizeClass {
  int index;
  size_t bytes;
};

/// The smallest class that holds `bytes` <= kSmallBytes.
constexpr SizeClass size_class(size_t bytes) {
  if (bytes <= 512) {
    const int index = bytes == 0 ? 0 : static_cast<int>((bytes - 1) / kAlignment);
    return {index, (static_cast<size_t>(index) + 1) * kAlignment};
  }
  const int exponent = std::bit_width(bytes - 1) - 1;  // 2^exponent < bytes <= 2^(exponent + 1)
  const size_t base = size_t{1} << exponent, step = base / 8;
  const size_t steps = (bytes - 1 - base) / step;
  return {8 + (exponent - 9) * 8 + static_cast<int>(steps), base + (steps + 1) * step};
}

/// The size of class `index`.
constexpr size_t class_bytes(int index) {
  if (index < 8) return (static_cast<size_t>(index) + 1) * kAlignment;
  const size_t base = size_t{1} << ((index - 8) / 8 + 9);
  return base + static_cast<size_t>((index - 8) % 8 + 1) * (base / 8);
}

/// The size of the block that holds `bytes` <= kMaxBlockBytes.
constexpr size_t block_bytes(size_t bytes) {
  return bytes <= kSmallBytes ? size_class(bytes).bytes : (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace tandem::cpu
