#pragma once
// Memory from the operating system, for the CPU allocator.
#include <cstddef>

namespace tandem::cpu {

/// `bytes` (a multiple of 4096) of zeroed memory whose address is a multiple of `alignment` (a power of two, at least
/// 4096); null when the system refuses.
void* map_memory(size_t bytes, size_t alignment, bool huge_pages) noexcept;
/// The same at `address`, with huge pages; null when the system refuses or something else is there.
void* map_memory_at(void* address, size_t bytes) noexcept;
/// False when the system refuses, which has a limit on the number of mappings: the memory then stays as it was.
bool unmap_memory(void* block, size_t bytes) noexcept;

/// Under AddressSanitizer, reports every access to the range until unpoison; otherwise nothing.
void poison(void* block, size_t bytes) noexcept;
void unpoison(void* block, size_t bytes) noexcept;

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kPoisoning = true;
#else
inline constexpr bool kPoisoning = false;
#endif

}  // namespace tandem::cpu
