#pragma once
// For tests of behaviour when memory runs out.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "support/sanitizers.h"

namespace tandem::testing {

/// Limits the process to about `bytes` more memory during its lifetime.
class MemoryLimit {
 public:
  /// False under sanitizers, which do not work with such a limit, and in emulators that ignore it, such as qemu.
  static bool is_possible() {
    if (kSanitized) return false;
    const MemoryLimit limit(0);
    constexpr size_t kBytes = size_t{64} << 20;
    void* const memory = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return true;
    munmap(memory, kBytes);
    return false;
  }

  explicit MemoryLimit(rlim_t bytes) {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    EXPECT_EQ(getrlimit(RLIMIT_AS, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes;
    EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~MemoryLimit() { EXPECT_EQ(setrlimit(RLIMIT_AS, &before_), 0); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace tandem::testing
