// mmap with alignment and huge pages, and AddressSanitizer's poisoning.
#include "src/tensor/system_memory.h"

#include <sys/mman.h>

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace tandem::cpu {

void* map_memory(size_t bytes, size_t alignment, bool huge_pages) noexcept {
  constexpr size_t kPage = 4096;
  const size_t slack = alignment - kPage;  // mmap aligns to pages: map more and unmap the ends
  void* raw = ::mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const uintptr_t start = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t block = (start + alignment - 1) & ~(alignment - 1);
  if (block > start) ::munmap(raw, block - start);
  if (const uintptr_t end = start + bytes + slack; end > block + bytes) {
    ::munmap(reinterpret_cast<void*>(block + bytes), end - block - bytes);
  }
  void* result = reinterpret_cast<void*>(block);
  if (huge_pages) ::madvise(result, bytes, MADV_HUGEPAGE);  // only advice: a kernel without huge pages may refuse
  return result;
}

void* map_memory_at(void* address, size_t bytes) noexcept {
  void* block = ::mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return nullptr;
  if (block != address) {  // without MAP_FIXED the address is only a hint
    ::munmap(block, bytes);
    return nullptr;
  }
  ::madvise(block, bytes, MADV_HUGEPAGE);
  return block;
}

bool unmap_memory(void* block, size_t bytes) noexcept {
  unpoison(block, bytes);  // a later mmap may get these addresses
  if (::munmap(block, bytes) == 0) return true;
  poison(block, bytes);
  return false;
}

void poison([[maybe_unused]] void* block, [[maybe_unused]] size_t bytes) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_POISON_MEMORY_REGION(block, bytes);
#endif
}

void unpoison([[maybe_unused]] void* block, [[maybe_unused]] size_t bytes) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
#endif
}

}  // namespace tandem::cpu
