#pragma once
// Memory from the operating system, for the CPU allocator.
#include <cstddef>

namespace tandem::cpu {

/// Maps `bytes` (a multiple of 4096) of zeroed memory at a multiple of `alignment` (a power of two, at least 4096).
/// Null if the system refuses.
void* map_memory(size_t bytes, size_t alignment, bool huge_pages) noexcept;
/// The same at `address`, with huge pages. Null if the system refuses or the addresses are in use.
void* map_memory_at(void* address, size_t bytes) noexcept;
/// False if the system refuses, as it limits the number of mappings; the memory then stays mapped.
bool unmap_memory(void* block, size_t bytes) noexcept;

/// Under AddressSanitizer, makes every access to the range an error until unpoison(); otherwise does nothing.
void poison(void* block, size_t bytes) noexcept;
void unpoison(void* block, size_t bytes) noexcept;

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kPoisoning = true;
#else
inline constexpr bool kPoisoning = false;
#endif

}  // namespace tandem::cpu
